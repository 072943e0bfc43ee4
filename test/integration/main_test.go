// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// on is the cluster of all tests that need nothing but the gate.
var on *cluster.Cluster

// auditLog is where its audit events go.
var auditLog string

// theStage is shared by all tests that need callers made up on the spot, and
// started by the first of them.
var (
	theStage    *harness.Server
	theStageErr error
	raiseStage  sync.Once
)

func onStage(t *testing.T) *harness.Server {
	t.Helper()
	raiseStage.Do(func() { theStage, theStageErr = harness.NewServer() })
	if theStageErr != nil {
		t.Fatal(theStageErr)
	}
	return theStage
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kube-granular-audit-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	auditLog = filepath.Join(dir, "audit.log")
	if on, err = cluster.Start("--audit-log", auditLog); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if theStage != nil {
		if err := theStage.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := on.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
