// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
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
	harness.Main(m, func(dir string) (stop func() error, err error) {
		flags, log, err := harness.LogChanges(dir)
		if err != nil {
			return nil, err
		}
		auditLog = log
		on, err = cluster.Start(append([]string{"--"}, flags...)...)
		return stopAll, err
	})
}

func stopAll() error {
	var err error
	if theStage != nil {
		err = theStage.Stop()
	}
	return errors.Join(err, on.Stop())
}
