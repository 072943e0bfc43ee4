// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/refusal"
)

// TestCausesOfAProtectedLabel checks what the causes of a 403 say of a label: the verbs and roles that would have admitted
// the caller, and who protects it; and nothing of these if the caller must not learn the key.
func TestCausesOfAProtectedLabel(t *testing.T) {
	const verb = "granular:protectedLabel(example.com/env)"
	labels := change.Path{{Field: "metadata"}, {Field: "labels"}}
	refused := &protect.Refusal{
		Reason: protect.NotHeld, Namespace: "n",
		Attribute: change.Attribute{Kind: schema.Label, Key: "example.com/env", Path: labels, New: change.Value{Text: "prod", Present: true}},
		References: []protect.Reference{
			{Kind: "ClusterRole", Name: "releaser"}, {Kind: "Role", Namespace: "n", Name: "deployer"}, {Kind: protect.Verb, Name: verb},
		},
	}
	for _, hide := range []bool{false, true} {
		ctx := requestContext("update")
		w := New(&grants{}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1))).(*write)
		p := &protected{requestInfo: w.requestInfo}
		o := p.refused(object(t, plain), refused, hide)
		var status apierrors.APIStatus
		if !errors.As(o.err, &status) {
			t.Fatal(o.err)
		}
		got, ok := refusal.FromCauses(status.Status().Details.Causes)
		want := &refusal.Details{
			User: "jane", Namespace: "n", Field: ".metadata.labels[example.com/env]", Needs: refused.Needs(),
			Protected: "label", ProtectedNamespace: "n",
			Verbs: []string{verb}, Roles: []string{"ClusterRole/releaser", "Role/deployer"},
		}
		if hide {
			want.Field, want.Needs = ".metadata.labels", "its key is not shown, because the request does not name it"
			want.Verbs, want.Roles, want.ProtectedNamespace = nil, nil, ""
		}
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("hidden: %t: %s", hide, diff)
		}
		if len(o.missing) != 3 {
			t.Errorf("the audit log is told of %q", o.missing)
		}
	}
}
