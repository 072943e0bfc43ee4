// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"fmt"
	"os"
	"testing"

	"kube-granular.dev/hack/permissions/served"
	"kube-granular.dev/test/integration/cluster"
)

var (
	server *cluster.Cluster
	kinds  []served.Kind
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	var err error
	if server, err = cluster.Start(served.Flags...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	config, err := server.Config("admin")
	if err == nil {
		kinds, err = served.Read(context.Background(), config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
