// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAddressOf(t *testing.T) {
	for _, tc := range []struct{ url, network, address, wrong string }{
		{"http://127.0.0.1:2379", "tcp", "127.0.0.1:2379", ""},
		{"https://etcd.example:1", "tcp", "etcd.example:1", ""},
		{"http://etcd.example", "tcp", "etcd.example:2379", ""},
		{"http://[::1]", "tcp", "[::1]:2379", ""},
		{"unix:///run/etcd.sock", "unix", "/run/etcd.sock", ""},
		{"unix://run/etcd.sock", "unix", "run/etcd.sock", ""},
		{"http://", "", "", "names no host"},
		{"http://%zz", "", "", "--etcd-servers"},
	} {
		network, address, err := addressOf(tc.url)
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: got error %v", tc.url, err)
			}
			continue
		}
		if err != nil || network != tc.network || address != tc.address {
			t.Errorf("%s: got %s %s, error %v", tc.url, network, address, err)
		}
	}
}

func TestWaitFor(t *testing.T) {
	var said strings.Builder
	c := &cluster{Options: Options{Progress: &said}}
	path := filepath.Join(t.TempDir(), "socket")
	if err := c.waitFor(t.Context(), "unix://"+path, time.Millisecond); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got error %v", err)
	}
	if !strings.Contains(said.String(), "waiting for etcd at unix://"+path) {
		t.Errorf("said %q", said.String())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.waitFor(ended, "unix://"+path, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := c.waitFor(t.Context(), "unix://"+path, time.Minute); err != nil {
		t.Error(err)
	}
}

func TestFailing(t *testing.T) {
	answer := "[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n[+]log ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n"
	if got, want := failingChecks(answer), ", which waits for poststarthook/rbac/bootstrap-roles, informer-sync"; got != want {
		t.Errorf("got %q", got)
	}
	if got := failingChecks("ok"); got != "" {
		t.Errorf("got %q", got)
	}
}
