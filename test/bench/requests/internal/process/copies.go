// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Copies reads the value of a key in etcd, and writes n-1 copies of it. For each number from 1 to
// n-1, make returns the key and the value of a copy. While Copies runs, no server may use these
// keys: it would neither validate the copies nor have them in its caches.
func (s *Stage) Copies(ctx context.Context, key string, n int, make func(value []byte, i int) (string, []byte)) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + s.socket}, DialTimeout: patience})
	if err != nil {
		return err
	}
	defer client.Close()
	object, err := client.Get(ctx, key)
	if err != nil {
		return err
	}
	if len(object.Kvs) != 1 {
		return fmt.Errorf("etcd has no %s", key)
	}
	for i := 1; i < n; i++ {
		name, value := make(object.Kvs[0].Value, i)
		if _, err := client.Put(ctx, name, string(value)); err != nil {
			return err
		}
	}
	return nil
}
