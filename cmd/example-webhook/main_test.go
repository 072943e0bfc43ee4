// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/pkg/examplewebhook"
	"kube-granular.dev/pkg/examplewebhook/policy"
)

func TestPrinter(t *testing.T) {
	fault := &policy.Fault{Status: 503}
	object := &authorizationv1.ResourceAttributes{Verb: "granular:replicas", Group: "apps", Resource: "deployments",
		Subresource: "scale", Namespace: "default", Name: "web"}
	for _, tc := range []struct {
		format string
		a      examplewebhook.Record
		want   string
	}{
		{"text", examplewebhook.Record{
			Review: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: object},
			Answer: policy.Answer{Decision: policy.Deny, Reason: "no"},
		}, "ann granular:replicas deployments.apps/scale default/web: deny (no)\n"},
		{"text", examplewebhook.Record{
			Review: authorizationv1.SubjectAccessReviewSpec{User: "ann",
				NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"}},
			Answer: policy.Answer{Decision: policy.NoOpinion, Fault: fault},
		}, "ann get /metrics: fault\n"},
		{"json", examplewebhook.Record{
			Review: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: object},
			Answer: policy.Answer{Decision: policy.Allow},
		}, `{"asked":{"resourceAttributes":{"namespace":"default","verb":"granular:replicas","group":"apps","resource":"deployments","subresource":"scale","name":"web"},"user":"ann"},"answer":{"decision":"allow"}}` + "\n"},
	} {
		var out bytes.Buffer
		line, err := printer(tc.format, &out)
		if err != nil {
			t.Fatal(err)
		}
		if line(tc.a); out.String() != tc.want {
			t.Errorf("printed %q, wanted %q", out.String(), tc.want)
		}
	}
}

func TestFlagsOfWebhook(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"", `required flag(s) "policy"`},
		{"--policy /no/such/file", "/no/such/file"},
		{"--policy x -o yaml", "neither text nor json"},
		{"--policy x y", "unknown command"},
	} {
		cmd := newCommand()
		cmd.SetArgs(strings.Fields(tc.args))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %q", tc.args, err, tc.want)
		}
	}
}
