// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"errors"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestUnreachableEtcd checks that the command soon reports an etcd that it can't reach, with
// its address.
func TestUnreachableEtcd(t *testing.T) {
	nobody, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + nobody.Addr().String()
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	said := refuse(t, "--dir", filepath.Join(t.TempDir(), "cluster"), "--port", "0", "--etcd-servers", url)
	if !strings.Contains(said, "waiting for etcd at "+url) || !strings.Contains(said, "no connection to "+url) || strings.Contains(said, "starting kube-apiserver") {
		t.Errorf("said %q", said)
	}
}

// TestDamagedData checks that etcd data that can't be read ends the command without a panic,
// with a message that names the directory and says what to do.
func TestDamagedData(t *testing.T) {
	intact := filepath.Join(t.TempDir(), "cluster")
	p := launch(t, intact, "--port", "0", "--demo=false")
	p.stop(syscall.SIGTERM)
	random := make([]byte, 1<<15)
	rand.New(rand.NewSource(1)).Read(random)
	for _, tc := range []struct {
		name, file string
		damage     func(file string) error
	}{
		{"a database that was cut off", "snap/db", func(file string) error { return os.Truncate(file, 5000) }},
		{"a database that was written over", "snap/db", func(file string) error { return over(file, 0, random) }},
		{"a log that was written over", "wal/*.wal", func(file string) error { return over(file, 840, random) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cluster")
			if err := os.CopyFS(dir, os.DirFS(intact)); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "etcd", "member", tc.file))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %v, error %v", files, err)
			}
			if err := tc.damage(files[0]); err != nil {
				t.Fatal(err)
			}
			said := refuse(t, "--dir", dir, "--port", "0", "--demo=false")
			if strings.Contains(said, "goroutine") || !strings.Contains(said, "keep a copy of "+filepath.Join(dir, "etcd")) {
				t.Errorf("said %q", said)
			}
		})
	}
}

// over overwrites a part of a file.
func over(file string, at int64, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	return errors.Join(err, f.Close())
}

// TestVersion checks that every command prints its version with --version, and starts nothing.
func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"up", "--version"}, {"protected", "report", "--version"}} {
		out, err := exec.Command(binary(t, "kube-granular"), args...).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "kube-granular v1.") {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
	if out, err := exec.Command(binary(t, "kube-granular")).CombinedOutput(); err != nil || !strings.Contains(string(out), "Usage:") {
		t.Errorf("without arguments: %v: %s", err, out)
	}
}

// TestBannerWithoutTheGate checks that, with the gate off, the printed examples do not promise
// granular changes.
func TestBannerWithoutTheGate(t *testing.T) {
	p := launch(t, filepath.Join(t.TempDir(), "cluster"), "--port", "0", "--feature-gates", "GranularAuthorization=false")
	if said := strings.Join(p.stdout, "\n"); strings.Contains(said, "It may change") || !strings.Contains(said, "GranularAuthorization is off") {
		t.Errorf("said %q", said)
	}
	p.stop(syscall.SIGTERM)
}
