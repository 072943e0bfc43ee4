// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// stored returns the keys in the storage of a server, without those that are there because a gate is on.
func (s *server) stored(t *testing.T) map[string]bool {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.storage}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, kv := range all.Kvs {
		if key := string(kv.Key); !strings.Contains(key, "kube-granular") {
			out[normaliseText(key)] = true
		}
	}
	return out
}

// compareStorage checks that all servers have objects of the same kinds and names in their storages.
func compareStorage(t *testing.T, servers []*server) {
	t.Helper()
	leader := servers[0].stored(t)
	for _, s := range servers[1:] {
		if diff := cmp.Diff(leader, s.stored(t)); diff != "" {
			t.Errorf("%s has other keys in its storage:\n%s", s.name, diff)
		}
	}
	t.Logf("%d keys in storages are compared", len(leader))
}
