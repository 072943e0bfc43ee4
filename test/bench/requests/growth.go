// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

// The sides of the command growth. On each side, a caller changes the same number of labels of a
// ConfigMap.
const (
	// ordinary is a caller with the verb update.
	ordinary = "ordinary"
	// oneDomain is a caller with the permission for the labels of one domain. All changed labels are
	// in this domain.
	oneDomain = "one-domain"
	// anyLabel is a caller with the permission for all labels. Each changed label has its own domain.
	anyLabel = "any-label"
	// tooMany is a caller with the permission for the labels of a domain in which no changed label
	// is. Its requests are refused.
	tooMany = "no-domain"
)

func newGrowth(o *options) *cobra.Command {
	sizes := []int{1, 10, 100, 1000, 5000}
	cmd := o.command("growth",
		"Measure requests that change more and more labels, and count the authorization checks of a granular request",
		func(ctx context.Context, s *session, run *Run) error {
			return s.growth(ctx, sizes, run)
		},
		func(runs []Run) []Line {
			lines := reportAdded(runs)
			for i := range lines {
				for _, what := range []string{authorizerCalls, observeTime, verifyTime} {
					lines[i].Figures = append(lines[i].Figures, exact(what, "%.1f", stats.Percentile(counts(runs, lines[i].Case, lines[i].Side, what), 0.5)))
				}
			}
			return lines
		})
	cmd.Flags().IntSliceVar(&sizes, "labels", sizes, "numbers of changed labels to measure")
	return cmd
}

// growth makes one run of the command growth.
func (s *session) growth(ctx context.Context, sizes []int, run *Run) (err error) {
	servers, stop, err := s.start(ctx, gateOn)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, stop) }()
	a := administrator{servers[0].Client(process.Administrator)}
	var cases [][]*lane
	for _, n := range sizes {
		var sides []*lane
		for _, side := range []string{ordinary, oneDomain, anyLabel, tooMany} {
			l, err := a.grower(ctx, servers[0], side, n)
			if err != nil {
				return fmt.Errorf("%s, %d labels: %w", side, n, err)
			}
			sides = append(sides, l)
		}
		cases = append(cases, sides)
	}
	if err := s.sample(ctx, servers, cases, run); err != nil {
		return err
	}
	for _, sides := range cases {
		for _, l := range sides[1:] {
			if err := countDecisions(ctx, l, s.rounds.block, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// grower prepares a side, and returns a lane whose caller changes n labels.
func (a administrator) grower(ctx context.Context, server *process.Server, side string, n int) (*lane, error) {
	granted := map[string]rbacv1.PolicyRule{
		ordinary:  rule("", []string{"get", "update"}, "configmaps"),
		oneDomain: rule("", []string{"get", "granular", "granular:label(d0.example.com)"}, "configmaps"),
		anyLabel:  rule("", []string{"get", "granular", "granular:labels"}, "configmaps"),
		tooMany:   rule("", []string{"get", "granular", "granular:label(other.example.com)"}, "configmaps"),
	}
	namespace := fmt.Sprintf("%s-%d", side, n)
	if err := a.namespace(ctx, namespace, nil); err != nil {
		return nil, err
	}
	if err := a.grant(ctx, namespace, 1, granted[side]); err != nil {
		return nil, err
	}
	key := func(i int) string {
		if side == oneDomain || side == ordinary {
			return fmt.Sprintf("d0.example.com/l%d", i)
		}
		return fmt.Sprintf("d%d.example.com/l", i)
	}
	object := configMap("object")
	for i := range n {
		object.GetLabels()[key(i)] = "0"
	}
	collection := fmt.Sprintf(configMaps, namespace)
	live, err := a.Ensure(ctx, collection, "object", object)
	if err != nil {
		return nil, err
	}
	client := server.Client(caller)
	if err := may(ctx, client, collection+"/none"); err != nil {
		return nil, err
	}
	st := stream{method: http.MethodPut, path: collection + "/object", contentType: jsonBody, status: http.StatusOK, live: live}
	if side == tooMany {
		st.status = http.StatusForbidden
	}
	st.edit = func(live map[string]any, k int) any {
		for i := range n {
			set(live, fmt.Sprint(k), "metadata", "labels", key(i))
		}
		return live
	}
	return &lane{Case: fmt.Sprintf("%d labels changed", n), Side: side, server: server, client: client, stream: &st}, nil
}

// Figures of one request, from the server's metrics. They cover only granular requests, which are
// authorized by permissions for single fields.
const (
	authorizerCalls = "authorizer calls"
	observeTime     = "observe µs"
	verifyTime      = "verify µs"
)

func countDecisions(ctx context.Context, l *lane, requests int, run *Run) error {
	const prefix = "apiserver_granular_authorization_"
	before, err := l.server.Metrics(ctx)
	if err != nil {
		return err
	}
	if _, err := l.block(ctx, 0, requests); err != nil {
		return err
	}
	after, err := l.server.Metrics(ctx)
	if err != nil {
		return err
	}
	grown := func(name string) float64 { return after[prefix+name] - before[prefix+name] }
	if made := grown("authorizer_calls_count"); int(made) != requests {
		return fmt.Errorf("%s, %s: the server counted %v verified requests, want %d", l.Case, l.Side, made, requests)
	}
	each := float64(requests)
	run.count(l.Case, l.Side, authorizerCalls, grown("authorizer_calls_sum")/each)
	run.count(l.Case, l.Side, observeTime, grown("observe_duration_seconds_sum")/each*1e6)
	run.count(l.Case, l.Side, verifyTime, grown("verify_duration_seconds_sum")/each*1e6)
	return nil
}
