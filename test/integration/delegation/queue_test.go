// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/api/selection"
)

const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1/"

// inQueue is the number of requests that wait at the priority level of the user queued.
var inQueue = regexp.MustCompile(`apiserver_flowcontrol_current_inqueue_requests\{[^}]*priority_level="queued"[^}]*\} (\d+)`)

// TestQueuedWatch lets a watch wait in the queue of its priority level. Meanwhile the delegation that it selects is created.
//
// Attack: a watch under a delegation that does not exist yet waits in a queue until somebody creates the delegation, so that
// nothing ends the watch with the delegation
// Was: got through
// Answer: 403: what the first lookup of a request refuses stays refused
// Held by: TestRefusalStays
func TestQueuedWatch(t *testing.T) {
	n, _ := stage(t, configMaps)
	// The delegations exist for the user only after its watches wait.
	apply(t,
		flowControl+"prioritylevelconfigurations", `{"metadata":{"name":"queued"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":1,
			"lendablePercent":0,"borrowingLimitPercent":0,"limitResponse":{"type":"Queue","queuing":{"queues":1,"handSize":1,"queueLengthLimit":99}}}}}`,
		flowControl+"flowschemas", `{"metadata":{"name":"queued"},"spec":{"priorityLevelConfiguration":{"name":"queued"},"matchingPrecedence":2,
			"rules":[{"subjects":[{"kind":"User","user":{"name":"queued"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],
			"namespaces":["*"],"clusterScope":true}]}]}}`)
	t.Cleanup(func() {
		for _, path := range []string{"flowschemas", "prioritylevelconfigurations"} {
			_, _ = request{as: "root", method: "DELETE", path: flowControl + path + "/queued"}.do(context.Background())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	send := func(method, path, under string, body io.Reader) (status chan int) {
		status = make(chan int, 1)
		req, err := http.NewRequestWithContext(ctx, method, on.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer queued")
		req.Header.Set("Content-Type", "application/json")
		if under != "" {
			req.Header.Set(selection.Header, named(under))
		}
		go func() {
			resp, err := client.Do(req)
			if err != nil {
				status <- 0
				return
			}
			resp.Body.Close()
			status <- resp.StatusCode
		}()
		return status
	}
	// Requests without the end of their bodies take all seats.
	var held []*io.PipeWriter
	release := func() {
		for _, w := range held {
			_ = w.Close()
		}
		held = nil
	}
	defer release()
	hold := func() {
		r, w := io.Pipe()
		held = append(held, w)
		send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", r)
	}
	waits := func(least int) func(context.Context) (bool, error) {
		return func(context.Context) (bool, error) {
			found := inQueue.FindStringSubmatch(request{as: "root", method: "GET", path: "/metrics"}.to(t).body)
			if found == nil {
				return false, nil
			}
			count, err := strconv.Atoi(found[1])
			return count >= least, err
		}
	}
	// The server applies the new priority level a moment later, so more requests are held until one waits.
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		hold()
		return waits(1)(ctx)
	}); err != nil {
		t.Fatalf("nothing waits: %v", err)
	}
	name := fmt.Sprintf("d-%d", unique.Add(1))
	before := len(held)
	watch := send("GET", maps(n)+"?watch=1", name, nil)
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 10*time.Second, true, waits(2)); err != nil {
		t.Fatalf("the watch does not wait, beside %d requests: %v", before, err)
	}
	d := delegation{to: `{"kind":"User","name":"queued"}`, scope: n, rules: configMaps}
	request{as: "alice", method: "POST", path: delegations, body: d.body(name)}.want(t, 201)
	release()
	if got := <-watch; got != http.StatusForbidden {
		t.Errorf("the watch that waited got %d", got)
	}
	// One that begins now may use the delegation.
	request{as: "queued", method: "GET", path: maps(n), under: name}.eventually(t, 200)
}
