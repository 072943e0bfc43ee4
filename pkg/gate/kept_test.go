// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/granular/change"
	ours "kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/rbacindex"
)

// TestReadOnly checks that only the attributes with the verb "get" report to be read-only. An
// authorizer may allow every read-only request, so attributes with another verb must not report
// that.
func TestReadOnly(t *testing.T) {
	a := attributes("patch")
	for verb, want := range map[string]bool{"get": true, "granular": false, "granular:get": false, "granular:size": false} {
		asked := withVerb(withVerb(&a, "granular:other"), verb)
		if asked.IsReadOnly() != want || asked.GetVerb() != verb || asked.GetName() != "t" {
			t.Errorf("%s: read only %t", asked.GetVerb(), asked.IsReadOnly())
		}
	}
}

// TestPatchesThatPass checks that Patch accepts patches that copy no value, and patches of
// callers that hold the ordinary verb, without an authorization check.
func TestPatchesThatPass(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	const carrying = `[{"op":"copy","from":"/data","path":"/a"}]`
	for name, tc := range map[string]struct {
		marked bool
		kind   types.PatchType
		patch  string
	}{
		"by an ordinary caller": {false, types.JSONPatchType, carrying},
		"of another kind":       {true, types.MergePatchType, carrying},
		"that does not decode":  {true, types.JSONPatchType, `{`},
		"that carries nothing":  {true, types.JSONPatchType, `[{"op":"add","path":"/a","value":1}]`},
	} {
		ctx := requestContext("patch")
		if tc.marked {
			ctx, _ = granular.WithMarker(ctx)
		}
		g := &grants{}
		if err := New(g).Begin(ctx, of).Patch(ctx, tc.kind, []byte(tc.patch)); err != nil || len(g.asked) > 0 {
			t.Errorf("a patch %s: %v, asked %q", name, err, g.asked)
		}
	}
}

// TestMissingOfAnEarlierAttempt checks that the audit log does not name verbs that an earlier
// attempt lacked if the last attempt fails for another reason.
func TestMissingOfAnEarlierAttempt(t *testing.T) {
	ctx := audited(t, "update")
	g := &grants{}
	w := New(g).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
	attempt := func(final string) error {
		if err := w.Observe(ctx, object(t, final), object(t, plain)); err != nil {
			t.Fatal(err)
		}
		return w.Verify(ctx, object(t, final), object(t, plain))
	}
	if err := attempt(larger); !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	g.fail = []string{"granular:trigger"}
	err := attempt(trigger)
	if !apierrors.IsInternalError(err) {
		t.Fatal(err)
	}
	_ = w.RespondError(ctx, err)
	if got, said := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(ours.MissingAnnotation); said {
		t.Errorf("missing %q", got)
	}
}

// TestFailureIsLogged checks that an error that is hidden from the caller is logged in full.
func TestFailureIsLogged(t *testing.T) {
	var lines []string
	ctx, _ := granular.WithMarker(requestContext("patch"))
	ctx = klog.NewContext(ctx, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	w := New(&grants{}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
	if err := w.RespondError(ctx, errors.New("out of paper")); strings.Contains(err.Error(), "paper") {
		t.Errorf("told: %v", err)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "out of paper") || !strings.Contains(lines[0], `"user"="jane"`) {
		t.Errorf("logged %q", lines)
	}
}

// TestScaleOfSomethingElse checks that an object that is no Scale counts as a change of the
// replicas, and that a change at the root of the object is not taken for a change of the
// replicas.
func TestScaleOfSomethingElse(t *testing.T) {
	for name, pair := range map[string][2]*autoscalingv1.Scale{"new": {nil, {}}, "old": {{}, nil}} {
		s := &scale{}
		if pair[0] == nil {
			s.observe(&metav1.Status{}, pair[1])
		} else {
			s.observe(pair[0], &metav1.Status{})
		}
		if !s.set {
			t.Errorf("the %s object is no scale, and nothing is set", name)
		}
	}
	of := scaleTarget(t, strings.Replace(things, "EXCLUDED", "true", 1), "spec", "size")
	s := scaleOf(of, entrySet{})
	if changes := s.changes(change.Set{{Node: s.kind.walker.Tree().Root}}, nil, true); len(changes) != 0 {
		t.Errorf("charged %v", changes)
	}
	replicas := s.kind.walker.Charge("spec")
	if changes := s.changes(change.Set{replicas}, nil, true); len(changes) != 1 {
		t.Errorf("charged %v", changes)
	}
	if changes := s.changes(change.Set{replicas}, change.Set{replicas}, false); len(changes) != 0 {
		t.Errorf("of an ordinary caller: %v", changes)
	}
}

// TestVerificationLooksForItsCaller checks that RBAC reads only the bindings of the caller during
// a verification.
func TestVerificationLooksForItsCaller(t *testing.T) {
	v1 := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Rbac().V1()
	all := &listed{ClusterRoleBindingLister: &rbac.ClusterRoleBindingLister{Lister: v1.ClusterRoleBindings().Lister()}}
	gate := New(rbac.New(&roles{}, rbacindex.Listers{}.Role(v1.RoleBindings().Informer(), all),
		rbacindex.Listers{}.ClusterRoles(v1.ClusterRoles().Informer(), &rbac.ClusterRoleGetter{Lister: v1.ClusterRoles().Lister()}),
		rbacindex.Listers{}.ClusterRole(v1.ClusterRoleBindings().Informer(), all)))
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	for name, tc := range map[string]struct {
		marked, unobserved bool
		final              string
	}{
		"granular":                      {marked: true, final: larger},
		"granular, no change":           {marked: true, final: plain}, // the verb get is checked
		"granular, not observed":        {marked: true, unobserved: true, final: larger},
		"ordinary, excluded":            {final: trigger},
		"ordinary, and not observed":    {unobserved: true, final: trigger},
		"ordinary, nothing to be asked": {final: larger},
	} {
		ctx := requestContext("update")
		if tc.marked {
			ctx, _ = granular.WithMarker(ctx)
		}
		all.clusterRole, all.role = 0, 0
		w := gate.Begin(ctx, of)
		if !tc.unobserved {
			if err := w.Observe(ctx, object(t, tc.final), object(t, plain)); err != nil {
				t.Fatal(err)
			}
		}
		_ = w.Verify(ctx, object(t, tc.final), object(t, plain))
		if all.clusterRole+all.role > 0 {
			t.Errorf("%s: all cluster role bindings read %d times, all role bindings %d times", name, all.clusterRole, all.role)
		}
	}
}

// counting is an enumerating authorizer that counts how often the rules of a caller are read.
type counting struct {
	enumerating
	read int
}

func (c *counting) RulesFor(ctx context.Context, caller user.Info, namespace string) ([]upstream.ResourceRuleInfo, []upstream.NonResourceRuleInfo, bool, error) {
	c.read++
	return c.enumerating.RulesFor(ctx, caller, namespace)
}

// TestRulesAreReadOnce checks that the rules of a caller are read once for a request, and that
// reading them counts as a call. If the rules allow a verb that the authorizer does not allow, an
// error for a later verb is returned.
func TestRulesAreReadOnce(t *testing.T) {
	ask := []string{"granular:a", "granular:b", "granular:c", "granular:d"}
	for name, complete := range map[string]bool{"complete": true, "incomplete": false} {
		c := &counting{enumerating: enumerating{incomplete: !complete}}
		p := &authorizerAdapter{authorizer: c, attributes: attributes("patch")}
		for range 3 {
			if first, err := p.FirstAllowed(t.Context(), ask); first != -1 || err != nil {
				t.Fatal(first, err)
			}
		}
		want := 1
		if !complete {
			want = 1 + 3*len(ask)
		}
		if c.read != 1 || p.calls != want {
			t.Errorf("%s: read %d times, %d calls, wanted %d", name, c.read, p.calls, want)
		}
	}
	misled := &enumerating{rules: ask[:1], grants: grants{fail: ask[1:2]}}
	if first, err := (&authorizerAdapter{authorizer: misled, attributes: attributes("patch")}).FirstAllowed(t.Context(), ask); err == nil {
		t.Errorf("the authorizer failed, and %d is allowed", first)
	}
}

// TestManagedFieldsOfNothing checks that nil has no managed fields, and that absent fields differ
// from an empty set of fields.
func TestManagedFieldsOfNothing(t *testing.T) {
	if hasManagedFields(nil) {
		t.Error("nothing has managed fields")
	}
	if none, empty := (*metav1.FieldsV1)(nil), metav1.NewFieldsV1(""); sameFields(none, empty) || sameFields(empty, none) || !sameFields(none, none) {
		t.Error("no fields are an empty list of them")
	}
}
