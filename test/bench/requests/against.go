// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/bench/requests/internal/process"
)

// The sides of the command against. The rule is that only callers with a certain permission may
// change guarded keys, such as labels with a certain prefix. On the first side no rule is in
// force. Each other side enforces the rule in another way.
const (
	byNothing  = "plain"
	byPolicy   = "policy"
	byWebhook  = "webhook"
	byGrant    = "grant"
	byExcluded = "excluded"
)

func newAgainst(o *options) *cobra.Command {
	bindings := []int{1, 1000}
	servers := []string{gateOn, unpatched}
	cmd := o.command("against",
		"Compare the cost of one rule as an admission policy, as a webhook, as a granular grant and as an excluded permission",
		func(ctx context.Context, s *session, run *Run) error {
			return s.against(ctx, servers, bindings, run)
		},
		reportAdded)
	cmd.Flags().IntSliceVar(&bindings, "bindings", bindings, "numbers of role bindings in a namespace to measure")
	cmd.Flags().StringSliceVar(&servers, "servers", servers, "servers to measure; grants and excluded permissions are measured only on gate-on")
	return cmd
}

// against makes one run of the command against.
func (s *session) against(ctx context.Context, sides []string, bindings []int, run *Run) (err error) {
	servers, stop, err := s.start(ctx, sides...)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, stop) }()
	var cases [][]*lane
	for _, server := range servers {
		webhook, url, err := s.startWebhook(server)
		if err != nil {
			return err
		}
		defer func() { err = joined(err, webhook.Stop) }()
		measured, err := s.againstCases(ctx, server, webhook, url, bindings)
		if err != nil {
			return fmt.Errorf("server %q: %w", server.Name, err)
		}
		cases = append(cases, measured...)
	}
	return s.sample(ctx, servers, cases, run)
}

// againstCases prepares a server so that each way to enforce the rule is in force in namespaces of
// its own. It returns the cases. Each lane has its own namespace.
func (s *session) againstCases(ctx context.Context, server *process.Server, webhook *process.Child, url string, bindings []int) ([][]*lane, error) {
	a := administrator{server.Client(process.Administrator)}
	ca, err := s.stage.CA()
	if err != nil {
		return nil, err
	}
	granular := server.Name == gateOn
	prepared := []error{
		a.sheets(ctx, granular),
		a.enforcePolicy(ctx, subjects["pods"]),
		a.enforcePolicy(ctx, subjects["notes"]),
		a.enforceWebhook(ctx, url, ca),
		a.delegate(ctx),
	}
	if err := errors.Join(prepared...); err != nil {
		return nil, err
	}
	ways := map[string][]string{"pods": {byNothing, byPolicy, byWebhook}, "notes": {byNothing, byPolicy, byWebhook}}
	if granular {
		ways["pods"] = append(ways["pods"], byGrant)
		ways["notes"] = append(ways["notes"], byGrant, byExcluded)
	}
	s.say("%s: making %v role bindings in each namespace", server.Name, bindings)
	var cases [][]*lane
	for _, resource := range slices.Sorted(maps.Keys(ways)) {
		for _, n := range bindings {
			for _, holder := range []bool{true, false} {
				var sides []*lane
				for _, way := range ways[resource] {
					l, err := a.ruled(ctx, server, resource, way, holder, n)
					if err != nil {
						return nil, fmt.Errorf("%s, by %s, holder %t, %d bindings: %w", resource, way, holder, n, err)
					}
					if way == byWebhook {
						l.other = webhook
					}
					sides = append(sides, l)
				}
				cases = append(cases, sides)
			}
		}
	}
	return cases, nil
}

// sheets defines the custom resources whose keys the rule guards: notes and, on a server that
// authorizes single fields, marks.
func (a administrator) sheets(ctx context.Context, granular bool) error {
	err := a.define(ctx, sheetDefinition("Note", "notes", granular, false), "notes")
	if err == nil && granular {
		err = a.define(ctx, sheetDefinition("Mark", "marks", true, true), "marks")
	}
	return err
}

// delegate lets the webhook create access reviews.
func (a administrator) delegate(ctx context.Context) error {
	return a.apply(ctx, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/webhook", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "webhook"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": webhookUser}},
	})
}

// ruled creates a namespace, an object, and the caller's permissions, and returns a lane in which
// the caller changes the object. by is the way in which the rule is in force. If holder is true,
// the caller has the permission and changes a guarded key. If holder is false, the caller has no
// permission and changes another label. ruled then first waits until the server refuses a change
// of a guarded key.
func (a administrator) ruled(ctx context.Context, server *process.Server, resource, way string, holder bool, bindings int) (*lane, error) {
	chosen := subjects[resource]
	if way == byExcluded {
		chosen = subjects["marks"]
	}
	who := "bystander"
	if holder {
		who = "holder"
	}
	namespace := fmt.Sprintf("%s-%s-%d", way, who, bindings)
	if err := a.namespace(ctx, namespace, map[string]string{ruleLabel: way}); err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	for _, resource := range slices.Sorted(maps.Keys(subjects)) {
		rules = append(rules, subjects[resource].rules(way, holder))
	}
	if err := a.grant(ctx, namespace, bindings, rules...); err != nil {
		return nil, err
	}
	if way == byRole {
		if err := a.protectByRole(ctx, namespace, holder); err != nil {
			return nil, err
		}
	}
	collection := chosen.collection(namespace)
	live, err := a.Ensure(ctx, collection, "object", chosen.object("object"))
	if err != nil {
		return nil, err
	}
	client := server.Client(caller)
	path := collection + "/object"
	if err := may(ctx, client, collection+"/none"); err != nil {
		return nil, err
	}
	if way != byNothing && !holder {
		if err := refused(ctx, client, path, chosen); err != nil {
			return nil, err
		}
		if live, err = a.Ensure(ctx, collection, "object", chosen.object("object")); err != nil {
			return nil, err
		}
	}
	key := []string{"metadata", "labels", freeKey}
	if holder {
		key = append(slices.Clone(chosen.keys), guardedPrefix+"x")
	}
	st := writes(path, key)
	st.live = live
	name := fmt.Sprintf("%s: PUT %s, %s, %d role bindings", server.Name, resource, who, bindings)
	return &lane{Case: name, Side: way, server: server, client: client, stream: &st}, nil
}

// writes returns requests that update the object at path. Each request sends the object from the
// last answer, with another value for one key.
func writes(path string, key []string) stream {
	return stream{method: http.MethodPut, path: path, contentType: jsonBody, status: http.StatusOK, edit: func(live map[string]any, n int) any {
		set(live, fmt.Sprint(n), key...)
		return live
	}}
}

// refused waits until the server refuses a change of a guarded key.
func refused(ctx context.Context, client *process.Client, path string, caller subject) error {
	n := 0
	return until(ctx, "the refusal of a guarded key at "+path, func(ctx context.Context) (bool, error) {
		n++
		return attempt(ctx, client, path, append(slices.Clone(caller.keys), guardedPrefix+"x"), fmt.Sprintf("try-%d", n))
	})
}

// attempt changes a key of an object, and reports whether the server refused it.
func attempt(ctx context.Context, client *process.Client, path string, key []string, value string) (bool, error) {
	live, err := client.Object(ctx, path)
	if err != nil {
		return false, err
	}
	set(live, value, key...)
	status, answer, err := client.Put(ctx, path, live)
	if err == nil && status != http.StatusOK && status != http.StatusForbidden && status != http.StatusUnprocessableEntity {
		err = fmt.Errorf("PUT %s: %d %s", path, status, answer)
	}
	return status == http.StatusForbidden || status == http.StatusUnprocessableEntity, err
}
