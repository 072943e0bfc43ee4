// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/flowcontrol"
	clock "k8s.io/utils/clock/testing"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestFlood holds that a client which guesses names and UIDs of delegations causes only few
// reads from storage, and that delegations which the server knows stay usable meanwhile.
//
// Attack: flooding a server with random UIDs and names of delegations
// Answer: 403; the server does not look up unknown UIDs, and looks up at most a hundred names at the same time
func TestFlood(t *testing.T) {
	bot := &user.DefaultInfo{Name: "bot"}
	x := NewIndex()
	reads := 0
	x.Connect(Sources{Get: func(context.Context, string) (*v1alpha1.AuthorityDelegation, error) {
		reads++
		return nil, errors.New("there is none")
	}})
	x.Observe(toBot(), false)
	for i := range 10_000 {
		if _, refusal := x.Chain(t.Context(), "", types.UID(fmt.Sprint(i)), bot); refusal == nil || refusal.Reason != NotFound {
			t.Fatalf("UID %d: %v", i, refusal)
		}
	}
	if reads != 0 {
		t.Errorf("%d reads for UIDs", reads)
	}
	// The clock of this limiter stands still, so it allows only the initial burst.
	x.readLimiter = flowcontrol.NewTokenBucketRateLimiterWithClock(readsPerSecond, readsAtOnce, clock.NewFakeClock(time.Now()))
	for i := range 10_000 {
		if _, refusal := x.Chain(t.Context(), fmt.Sprint("d-", i), "", bot); refusal == nil || refusal.Reason != NotFound {
			t.Fatalf("name %d: %v", i, refusal)
		}
	}
	if reads != readsAtOnce {
		t.Errorf("%d reads for names, wanted %d", reads, readsAtOnce)
	}
	if _, refusal := x.Chain(t.Context(), "d", "", bot); refusal != nil {
		t.Errorf("one that is known: %v", refusal)
	}
}
