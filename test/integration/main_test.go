// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// on is the server of all tests that need only the gate GranularAuthorization.
var on *cluster.Cluster

// auditLog is the path of the audit log of that server.
var auditLog string

// theStage is a server whose authorization chain begins with a webhook that lets a test define
// callers and their verbs. All tests that need it share it, and the first of them starts it.
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
	flags, log, err := harness.LogChanges(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	auditLog = log
	if on, err = cluster.Start(append([]string{"--"}, flags...)...); err != nil {
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
