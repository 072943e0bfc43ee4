// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rounds runs a controller that writes statuses in rounds, on every server at once.
//
//	changes, a Lease, time ──► Loop ──► round(leads)
//
// Every server counts what it sees, and adds its own counts to the statuses. Only the server that holds
// a Lease computes the rest, so that servers with different state or of different versions do not
// overwrite each other.
//
// The invariant: of two rounds of one server, the second begins at least MinInterval after the first
// has ended, and no round begins after the context has ended.
//
// The package knows no kind and writes nothing but the Lease.
package rounds

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	// MinInterval is the minimum time between two rounds.
	MinInterval = time.Second
	// CountInterval is the time after which a round starts even if nothing has changed.
	CountInterval = 10 * time.Second
)

// Loop is the loop of one controller on one server.
type Loop struct {
	// Lease is the name of the Lease in kube-system whose holder leads.
	Lease string
	// Changes has an element if something has changed since the last read.
	Changes <-chan struct{}
	// Round writes every status that is out of date, and reports whether all writes succeeded. If leads
	// is false, it only adds counts. A round that has failed is repeated.
	Round func(ctx context.Context, leads bool) bool
}

// Run runs rounds until ctx ends: after each change, after this server got the Lease, and after each
// CountInterval.
func (l Loop) Run(ctx context.Context, leases kubernetes.Interface) error {
	terms, err := l.elect(ctx, leases)
	if err != nil {
		return err
	}
	term, ended := context.WithCancel(ctx)
	ended() // this server does not lead yet
	for {
		changed := false
		select {
		case <-ctx.Done():
			return nil
		case <-l.Changes:
			changed = true
		case term = <-terms:
			changed = true
		case <-time.After(CountInterval):
		}
		// What else waits belongs to the same round.
		select {
		case <-l.Changes:
			changed = true
		default:
		}
		select {
		case term = <-terms:
			changed = true
		default:
		}
		for !l.Round(ctx, changed && term.Err() == nil) {
			changed = true
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(MinInterval):
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(MinInterval):
		}
	}
}

// elect takes part in the election of the server that leads. Each value of the channel is a term: it ends
// when this server loses the Lease.
func (l Loop) elect(ctx context.Context, leases kubernetes.Interface) (<-chan context.Context, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("get the host name, which identifies the holder of the lease: %w", err)
	}
	terms := make(chan context.Context)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: l.Lease},
			Client:     leases.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: 30 * time.Second, RenewDeadline: 20 * time.Second, RetryPeriod: 5 * time.Second,
		ReleaseOnCancel: true, Name: l.Lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(term context.Context) {
				select {
				case terms <- term:
				case <-term.Done():
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start leader election: %w", err)
	}
	go func() {
		for ctx.Err() == nil {
			elector.Run(ctx)
		}
	}()
	return terms, nil
}
