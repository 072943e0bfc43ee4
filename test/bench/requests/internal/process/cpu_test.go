// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestCPU checks that CPU grows with work, in finer steps than the hundredths of a second of stat.
// It repeats the work, because the kernel does not update the value of a running thread at each read.
func TestCPU(t *testing.T) {
	begin := time.Now()
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after, sum := before, sha256.Sum256(nil)
	for after <= before {
		for range 10_000 {
			sum = sha256.Sum256(sum[:])
		}
		if after, err = CPU(os.Getpid()); err != nil {
			t.Fatal(err)
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s before and %s after a minute of work", before, after)
		}
	}
	if after%(10*time.Millisecond) == 0 && before%(10*time.Millisecond) == 0 {
		t.Errorf("%s before and %s after: it comes in hundredths of a second", before, after)
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
