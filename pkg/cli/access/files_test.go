// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/granular/permission"
)

// named returns the metadata of an object.
func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// verbsRule returns a rule for pods.
func verbsRule(verbs ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}}
}

// TestRolesOfFiles checks for whom and where roles count that are known from files alone: a binding needs its role, and
// a role without a binding is unbound.
func TestRolesOfFiles(t *testing.T) {
	user := rbacv1.Subject{Kind: rbacv1.UserKind, Name: "jane"}
	group := rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "team"}
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "robot"}
	got, lost := NewRBAC([]runtime.Object{
		&rbacv1.Role{ObjectMeta: named("shop", "bound"), Rules: verbsRule("get")},
		&rbacv1.Role{ObjectMeta: named("shop", "free"), Rules: verbsRule("list")},
		&rbacv1.ClusterRole{ObjectMeta: named("", "free"), Rules: verbsRule("watch")},
		&rbacv1.ClusterRole{ObjectMeta: named("", "bound"), Rules: verbsRule("patch")},
		&rbacv1.RoleBinding{ObjectMeta: named("shop", "one"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "bound"},
			Subjects: []rbacv1.Subject{user, account}},
		// The Role free of another namespace, which is not there.
		&rbacv1.RoleBinding{ObjectMeta: named("other", "two"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "free"},
			Subjects: []rbacv1.Subject{user}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("", "three"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "bound"},
			Subjects: []rbacv1.Subject{group}},
	})
	if want := []string{"RoleBinding two in namespace other"}; len(lost) != 1 || !strings.Contains(lost[0], "two") {
		t.Errorf("lost %q, wanted %q", lost, want)
	}
	if !got.HasRoles() || !got.HasBindings() || !got.BindsGroups() {
		t.Errorf("roles %t, bindings %t, groups %t", got.HasRoles(), got.HasBindings(), got.BindsGroups())
	}
	none, _ := NewRBAC(nil)
	if none.HasRoles() || none.HasBindings() || none.BindsGroups() || none.Names("jane", []string{"team"}) {
		t.Error("nothing has something")
	}
	// A binding whose role is not in the files binds nobody.
	none, _ = NewRBAC([]runtime.Object{&rbacv1.RoleBinding{ObjectMeta: named("shop", "one"), RoleRef: rbacv1.RoleRef{Kind: "Role",
		Name: "bound"}, Subjects: []rbacv1.Subject{user}}})
	if none.HasBindings() || none.Names("jane", nil) {
		t.Error("a binding without its role counts")
	}
	var unbound []string
	for _, h := range got.Unbound() {
		unbound = append(unbound, h.Namespace+" "+h.Rule.Verbs[0])
	}
	if diff := cmp.Diff([]string{" watch", "shop list"}, unbound); diff != "" {
		t.Errorf("unbound (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		groups []string
		want   string
	}{
		"jane": {nil, "shop get"}, "system:serviceaccount:shop:robot": {nil, "shop get"}, "system:serviceaccount:other:robot": {nil, ""},
		"joe": {[]string{"team"}, " patch"}, "team": {nil, ""}, "robot": {nil, ""},
	} {
		var held []string
		for _, h := range got.HeldBy(name, tc.groups) {
			held = append(held, h.Namespace+" "+h.Rule.Verbs[0])
		}
		if have := strings.Join(held, ", "); have != tc.want || got.Names(name, tc.groups) != (tc.want != "") {
			t.Errorf("%s %q holds %q, wanted %q", name, tc.groups, have, tc.want)
		}
	}
	if granted := got.Granted(); len(granted) != 2 || granted[0].Namespace != "shop" || granted[1].Subjects[0] != group {
		t.Errorf("granted %+v", granted)
	}
}

// TestSubjectsOfBindings checks which subjects of a binding include a user. Each twin differs in one word.
func TestSubjectsOfBindings(t *testing.T) {
	for _, tc := range []struct {
		subject rbacv1.Subject
		name    string
		groups  []string
		want    bool
	}{
		{rbacv1.Subject{Kind: "User", Name: "jane"}, "jane", nil, true},
		{rbacv1.Subject{Kind: "User", Name: "jane"}, "joe", []string{"jane"}, false},
		{rbacv1.Subject{Kind: "Group", Name: "team"}, "jane", []string{"team"}, true},
		{rbacv1.Subject{Kind: "Group", Name: "team"}, "team", nil, false},
		{rbacv1.Subject{Kind: "ServiceAccount", Name: "a"}, "system:serviceaccount:n:a", nil, true},
		{rbacv1.Subject{Kind: "ServiceAccount", Name: "a", Namespace: "m"}, "system:serviceaccount:m:a", nil, true},
		{rbacv1.Subject{Kind: "ServiceAccount", Name: "a", Namespace: "m"}, "system:serviceaccount:n:a", nil, false},
		{rbacv1.Subject{Kind: "Other", Name: "jane"}, "jane", []string{"jane"}, false},
	} {
		if got := IsSubject(tc.subject, "n", tc.name, tc.groups); got != tc.want {
			t.Errorf("%+v includes %s %q: %t", tc.subject, tc.name, tc.groups, got)
		}
	}
	// The subject of a cluster role binding has no namespace to take.
	if IsSubject(rbacv1.Subject{Kind: "ServiceAccount", Name: "a"}, "", "system:serviceaccount::a", nil) {
		t.Error("an account without a namespace is somebody")
	}
}

// TestVerbsOfRules checks on which objects a rule grants its verbs.
func TestVerbsOfRules(t *testing.T) {
	rule := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "*/scale"},
		ResourceNames: []string{"web"}, Verbs: []string{"get", "granular:replicas"}}
	target := Target{Group: "apps", Resource: "deployments", Name: "web"}
	for name, tc := range map[string]struct {
		change func(*rbacv1.PolicyRule, *Target)
		want   bool
	}{
		"the object":          {func(*rbacv1.PolicyRule, *Target) {}, true},
		"another object":      {func(_ *rbacv1.PolicyRule, x *Target) { x.Name = "api" }, false},
		"any object":          {func(r *rbacv1.PolicyRule, x *Target) { r.ResourceNames, x.Name = nil, "api" }, true},
		"another group":       {func(_ *rbacv1.PolicyRule, x *Target) { x.Group = "batch" }, false},
		"every group":         {func(r *rbacv1.PolicyRule, x *Target) { r.APIGroups, x.Group = []string{"*"}, "batch" }, true},
		"another resource":    {func(_ *rbacv1.PolicyRule, x *Target) { x.Resource = "daemonsets" }, false},
		"a subresource":       {func(_ *rbacv1.PolicyRule, x *Target) { x.Subresource = "scale" }, true},
		"another subresource": {func(_ *rbacv1.PolicyRule, x *Target) { x.Subresource = "status" }, false},
	} {
		r, x := *rule.DeepCopy(), target
		tc.change(&r, &x)
		if got := VerbsOn(r, x); (got != nil) != tc.want {
			t.Errorf("%s: %q", name, got)
		}
		if got := Grants(r, "granular:replicas", x); got != tc.want {
			t.Errorf("%s: grants: %t", name, got)
		}
		if Grants(r, "granular:image", x) {
			t.Errorf("%s: grants a verb that it does not have", name)
		}
	}
}

// TestParametersOfRules checks from which rules of a rules review parameters are taken.
func TestParametersOfRules(t *testing.T) {
	target := Target{Group: "apps", Resource: "deployments", Name: "web"}
	rule := authorizationv1.ResourceRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"},
		Verbs: []string{"get", "granular:label(a)", "granular:labels", "granular:label(b)", "granular:label(", "granular:image(x)"}}
	want := []permission.Verb{{Permission: "label", Parameter: "a", Parameterized: true}, {Permission: "label", Parameter: "b",
		Parameterized: true},
		{Permission: "image", Parameter: "x", Parameterized: true}}
	for name, tc := range map[string]struct {
		change func(*authorizationv1.ResourceRule, *Target)
		want   []permission.Verb
	}{
		"the resource":   {func(*authorizationv1.ResourceRule, *Target) {}, want},
		"the object":     {func(r *authorizationv1.ResourceRule, _ *Target) { r.ResourceNames = []string{"web"} }, want},
		"another object": {func(r *authorizationv1.ResourceRule, _ *Target) { r.ResourceNames = []string{"api"} }, nil},
		"every group":    {func(r *authorizationv1.ResourceRule, _ *Target) { r.APIGroups = []string{"*"} }, want},
		"another group":  {func(r *authorizationv1.ResourceRule, _ *Target) { r.APIGroups = []string{"batch"} }, nil},
		"every resource": {func(r *authorizationv1.ResourceRule, _ *Target) { r.Resources = []string{"*"} }, want},
		"a subresource": {func(r *authorizationv1.ResourceRule, x *Target) {
			r.Resources, x.Subresource = []string{"*/scale"}, "scale"
		}, want},
		"only a subresource": {func(r *authorizationv1.ResourceRule, _ *Target) { r.Resources = []string{"deployments/scale"} }, nil},
		"another subresource": {func(r *authorizationv1.ResourceRule, x *Target) {
			r.Resources, x.Subresource = []string{"*/scale"}, "status"
		}, nil},
	} {
		r, x := *rule.DeepCopy(), target
		tc.change(&r, &x)
		if diff := cmp.Diff(tc.want, parameters([]authorizationv1.ResourceRule{r}, x)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReviewsAreAskedOnce checks how access reviews answer: each question is asked once, an error of evaluation is no
// answer unless the server has decided, and an error is not remembered.
func TestReviewsAreAskedOnce(t *testing.T) {
	client := fake.NewSimpleClientset()
	asked := map[string]int{}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		verb := review.Spec.ResourceAttributes.Verb
		asked[verb]++
		switch verb {
		case "allowed":
			review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "role", EvaluationError: "another role is missing"}
		case "denied":
			review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, EvaluationError: "half"}
		case "failed":
			review.Status = authorizationv1.SubjectAccessReviewStatus{EvaluationError: "no webhook"}
		case "broken":
			return true, nil, errors.New("no connection")
		}
		return true, review, nil
	})
	reviews := NewReviews(client.AuthorizationV1())
	for range 2 {
		for verb, want := range map[string]string{
			"allowed": "{true false role} <nil>", "denied": "{false true } <nil>", "other": "{false false } <nil>",
			"failed": `{false false } review whether "failed" is allowed: no webhook`,
			"broken": `{false false } review whether "broken" is allowed: no connection`,
		} {
			answer, err := reviews.Ask(t.Context(), verb, Target{Resource: "pods"})
			if got := fmt.Sprint(answer, " ", err); got != want {
				t.Errorf("%s: %s, wanted %s", verb, got, want)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"allowed": 1, "denied": 1, "other": 1, "failed": 2, "broken": 2}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for verbs, want := range map[string]string{
		"other allowed": "1 <nil>", "allowed": "0 <nil>", "other denied": "-1 <nil>", "": "-1 <nil>",
		"failed allowed": `1 review whether "failed" is allowed: no webhook`,
		"broken other":   `-1 review whether "broken" is allowed: no connection`,
	} {
		index, err := authorizer{reviews, Target{Resource: "pods"}}.FirstAllowed(context.Background(), strings.Fields(verbs))
		if got := fmt.Sprint(index, " ", err); got != want {
			t.Errorf("%q: %s, wanted %s", verbs, got, want)
		}
	}
}

// TestListWithoutEntries checks that what update allows is not known where FieldPermissions may not be listed.
func TestListWithoutEntries(t *testing.T) {
	list := FieldList{Items: []Item{{Allowed: Yes, By: "update"}, {Allowed: Yes, By: "patch"}, {Allowed: Yes, By: "granular:replicas"},
		{Allowed: No}, {Allowed: Some, By: "granular:label(a)"}}}
	list.WithoutEntries()
	var got []string
	for _, item := range list.Items {
		got = append(got, item.Allowed)
	}
	if want := []string{Unknown, Unknown, Yes, No, Some}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestListAfterDenials checks when permissions of fields count: if no authorizer denies update and patch both.
func TestListAfterDenials(t *testing.T) {
	for denied, want := range map[string]bool{"": true, "update": true, "patch": true, "update patch": false} {
		client := fake.NewSimpleClientset()
		client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
			review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
			verb := review.Spec.ResourceAttributes.Verb
			review.Status.Denied = slices.Contains(strings.Fields(denied), verb)
			review.Status.Allowed = verb == "granular"
			return true, review, nil
		})
		l := lister{reviews: NewReviews(client.AuthorizationV1()), target: Target{Resource: "pods"}}
		if err := l.askGeneral(t.Context()); err != nil || l.general.Allowed != want || l.ordinary.Allowed {
			t.Errorf("%q denied: granular counts: %v, %v", denied, l.general.Allowed, err)
		}
	}
}
