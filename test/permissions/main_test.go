// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"errors"
	"testing"

	"kube-granular.dev/hack/permissions/served"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

var (
	server *cluster.Cluster
	kinds  []served.Kind
)

func TestMain(m *testing.M) {
	harness.Main(m, func(string) (stop func() error, err error) {
		if server, err = cluster.Start(served.Flags...); err != nil {
			return nil, err
		}
		config, err := server.Config("admin")
		if err == nil {
			kinds, err = served.Read(context.Background(), config)
		}
		if err != nil {
			return nil, errors.Join(err, server.Stop())
		}
		return server.Stop, nil
	})
}
