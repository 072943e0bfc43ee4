// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func config(t *testing.T, dir string) Config {
	return Config{
		DataDir: filepath.Join(dir, "etcd"),
		RunDir:  filepath.Join(dir, "run"),
		LogFile: filepath.Join(dir, "etcd.log"),
		Fatal:   func(message string) { t.Errorf("etcd: %s", message) },
	}
}

func start(t *testing.T, cfg Config) (*Member, *clientv3.Client) {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		m.Stop()
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Endpoint()}, DialTimeout: 10 * time.Second})
	if err != nil {
		m.Stop()
		t.Fatal(err)
	}
	return m, client
}

func TestDataSurvivesARestart(t *testing.T) {
	for _, tc := range []struct {
		name, sub string
		noSync    bool
	}{
		{"short path", "", false},
		{"without waiting for the disk", "", true},
		{"path too long for a socket", strings.Repeat("deep/", 30), false},
		{"path with a comma", "a,b", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tc.sub)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			cfg := config(t, dir)
			cfg.NoSync = tc.noSync
			m, client := start(t, cfg)
			if strings.Contains(m.Endpoint(), ",") {
				t.Errorf("the endpoint %s has a comma, so a flag takes it for two", m.Endpoint())
			}
			if _, err := client.Put(t.Context(), "key", "value"); err != nil {
				t.Fatal(err)
			}
			_ = client.Close()
			socketDir := filepath.Dir(m.socket)
			if info, err := os.Stat(socketDir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("directory of the socket: mode %v, error %v, want 0700", info.Mode().Perm(), err)
			}
			m.Stop()
			if socketDir != cfg.RunDir {
				if _, err := os.Stat(socketDir); !os.IsNotExist(err) {
					t.Errorf("the temporary directory %s was left behind", socketDir)
				}
			}

			m, client = start(t, cfg)
			defer m.Stop()
			got, err := client.Get(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			_ = client.Close()
			if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "value" {
				t.Errorf("after the restart: got %v, want the value stored before", got.Kvs)
			}
		})
	}
}

// TestNothingListensOnTCP holds the package's invariant that etcd listens only on a Unix socket,
// because etcd authenticates nobody.
func TestNothingListensOnTCP(t *testing.T) {
	m, client := start(t, config(t, t.TempDir()))
	defer m.Stop()
	defer client.Close()
	if n := len(m.etcd.Peers); n != 0 {
		t.Errorf("%d listeners for peers, want none", n)
	}
	for _, l := range m.etcd.Clients {
		if _, ok := l.Addr().(*net.UnixAddr); !ok {
			t.Errorf("clients are served on %s %s, want a unix socket", l.Addr().Network(), l.Addr())
		}
	}
}

func TestStartFails(t *testing.T) {
	t.Run("data directory is a file", func(t *testing.T) {
		dir := t.TempDir()
		cfg := config(t, dir)
		if err := os.WriteFile(cfg.DataDir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Stop()
		err = m.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), cfg.DataDir) {
			t.Errorf("got error %v, want one that names %s", err, cfg.DataDir)
		}
	})
	t.Run("stopped while starting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cfg := config(t, t.TempDir())
		// Start may succeed before it sees that the context has ended. It must not hang.
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Stop()
		_ = m.Start(ctx)
	})
}
