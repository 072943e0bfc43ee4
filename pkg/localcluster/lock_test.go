// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaimPort(t *testing.T) {
	l, err := listenOn(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().(*net.TCPAddr)
	if !addr.IP.Equal(net.IPv4(127, 0, 0, 1)) || addr.Port == 0 {
		t.Fatalf("listening on %s, want a port of 127.0.0.1", addr)
	}
	_, err = listenOn(addr.Port)
	for _, want := range []string{fmt.Sprintf("port %d on 127.0.0.1 is taken", addr.Port), "--port"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func TestClaimDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	release, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, error %v; want 0700", info.Mode().Perm(), err)
	}
	_, err = lockDir(dir)
	for _, want := range []string{dir, "in use", fmt.Sprintf("process %d", os.Getpid()), "--dir"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	release()
	release, err = lockDir(dir)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	release()

	// Somebody else could put a kubeconfig there.
	for mode, refused := range map[os.FileMode]bool{0o777: true, 0o702: true, 0o775: false} {
		open := filepath.Join(t.TempDir(), "open")
		if err := os.Mkdir(open, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		release, err := lockDir(open)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "others may write") {
			t.Errorf("mode %o: %v", mode, err)
		}
		if err == nil {
			release()
		}
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lockDir(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in place of the directory: got error %v, want one with %q", err, file)
	}
}
