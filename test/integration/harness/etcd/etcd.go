// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs an etcd for tests that start several servers on it.
package etcd

import (
	"path/filepath"
	"testing"

	"kube-granular.dev/pkg/localcluster/etcd"
)

// Start runs an etcd until the test ends, and returns its endpoint.
func Start(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	member, err := etcd.New(etcd.Config{
		DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(dir, "run"), NoSync: true, LogFile: filepath.Join(dir, "log"),
		Fatal: func(message string) { t.Error("etcd: " + message) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	if err := member.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return member.Endpoint()
}
