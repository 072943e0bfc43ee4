// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
)

// claimUntilInterrupted is the name of an environment variable with a directory. If it is set, this
// test binary locks the directory as a running cluster does, until it is interrupted.
const claimUntilInterrupted = "KUBE_GRANULAR_TEST_CLAIM"

func TestMain(m *testing.M) {
	dir := os.Getenv(claimUntilInterrupted)
	if dir == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	release, err := lockDir(dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("claimed")
	<-ctx.Done()
	release()
}

// TestDown holds that Down stops a running cluster, that it succeeds for a cluster that does not
// run, and that it deletes only a directory that had a cluster.
func TestDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	var out bytes.Buffer
	if err := Down(t.Context(), dir, true, &out); err == nil || !strings.Contains(err.Error(), "no cluster in the directory") {
		t.Errorf("nothing there: %v", err)
	}
	other := t.TempDir()
	if err := Down(t.Context(), other, true, &out); err == nil {
		t.Error("a directory without a cluster was taken for one")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a directory without a cluster: %v", err)
	}

	running := exec.CommandContext(t.Context(), os.Args[0])
	running.Env = append(os.Environ(), claimUntilInterrupted+"="+dir)
	stdout, err := running.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "claimed\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := Down(t.Context(), dir, false, &out); err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(); err != nil {
		t.Errorf("the process that was stopped: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
		t.Errorf("the data did not stay: %v", err)
	}
	if err := Down(t.Context(), dir, true, &out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data stayed: %v", err)
	}
	for _, want := range []string{fmt.Sprintf("waiting for process %d", running.Process.Pid), "the data stays in", "deleted"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("said %q, want %q in it", out.String(), want)
		}
	}
}

// TestDownTimesOut holds that, if the process of the cluster does not stop in time, the error names
// the process and nothing is deleted.
func TestDownTimesOut(t *testing.T) {
	dir := t.TempDir()
	release, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-interrupted
		cancel()
	}()
	err = Down(ctx, dir, true, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d still holds the lock", os.Getpid())) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
