// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRevision checks Revision for a project that is in a folder below the root of its repository.
func TestRevision(t *testing.T) {
	root := t.TempDir()
	sub := filepath.Join(root, "sub")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=d", "-c", "user.email=d@example.com", "-c", "commit.gpgSign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(sub, "patches"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet")
	for _, data := range []string{"first\n", "second\n"} {
		if err := os.WriteFile(filepath.Join(sub, "patches", "series"), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "--quiet", "-m", data)
	}
	read, err := Revision(context.Background(), sub, "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := read("patches/series"); err != nil || string(data) != "first\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := read("patches/generators/series"); !os.IsNotExist(err) && err == nil {
		t.Errorf("got %v, want a file that does not exist", err)
	}
}

// TestLock checks that a second run waits until the first run releases the lock.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lock(path, func() { t.Error("the first run waits") })
	if err != nil {
		t.Fatal(err)
	}
	waits, through := make(chan struct{}), make(chan error)
	go func() {
		second, err := lock(path, func() { close(waits) })
		if err == nil {
			err = second.Close()
		}
		through <- err
	}()
	<-waits
	select {
	case <-through:
		t.Error("the second run did not wait")
	default:
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-through; err != nil {
		t.Error(err)
	}
}
