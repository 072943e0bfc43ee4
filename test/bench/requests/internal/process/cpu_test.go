// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCPU holds that work shows in the figure, finer than a tick of a clock.
func TestCPU(t *testing.T) {
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(nil)
	for range 10_000 {
		sum = sha256.Sum256(sum[:])
	}
	after, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after <= before || sum == [32]byte{} {
		t.Errorf("%s before and %s after", before, after)
	}
}

func TestCPUOfNoProcess(t *testing.T) {
	child, err := Start(exec.Command("sleep", "60"), filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CPU(child.PID()); err != nil {
		t.Errorf("of a running process: %v", err)
	}
	if child.Ended() {
		t.Error("it has ended by itself")
	}
	if err := child.Stop(); err != nil {
		t.Fatal(err)
	}
	if !child.Ended() {
		t.Error("it has not ended")
	}
	if got, err := CPU(child.PID()); err == nil {
		t.Errorf("of a process that is no more: %s", got)
	}
}
