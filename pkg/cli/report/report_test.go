// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/granular/schema/schematest"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/learn"
)

const example = `{"type":"object","properties":{
	"metadata":{"type":"object","x-kubernetes-permission-verb":"metadata","properties":{"labels":{"type":"object","x-kubernetes-permission-verb":"labels","additionalProperties":{"type":"string"}}}},
	"spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
		"replicas":{"type":"integer","x-kubernetes-permission-verb":"replicas"},
		"guard":{"type":"string","x-kubernetes-permission-verb":"guard","x-kubernetes-permission-excluded":true}}}}}`

// served are the API groups that the server of the tests serves.
var served = []string{"", "example.com"}

type things struct{ tree *schema.Tree }

func (s things) Tree(of kubeschema.GroupVersionResource, _ string) (*schema.Tree, error) {
	if of.Resource != "things" {
		return nil, errors.New("not served")
	}
	return s.tree, nil
}

func newThings(t *testing.T) things {
	t.Helper()
	return things{schematest.Compile(t, example)}
}

// scales returns an audit event of a user who changed the replicas of an object.
func scales(user, group, resource string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"ResponseComplete","requestURI":"/x","verb":"patch","user":{"username":%q,"groups":[%q]},`+
		`"objectRef":{"resource":%q,"namespace":"shop","name":"a","apiGroup":"example.com","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-23T08:00:00Z",`+
		`"requestObject":{"spec":{"replicas":2}},"responseObject":{"spec":{"replicas":2}}}`, user, group, resource)
}

// reads is an audit event of a read by somebody who holds nothing here.
const reads = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"r","stage":"ResponseComplete","requestURI":"/x","verb":"get","user":{"username":"kim"},` +
	`"objectRef":{"resource":"nodes","name":"a","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-23T08:00:00Z"}`

// TestReportOfPoorLogs holds that logs without reads do not make reads unused, and that logs without
// bodies are told apart from logs in which nobody changed only some fields.
func TestReportOfPoorLogs(t *testing.T) {
	var objects []runtime.Object
	for _, more := range [][]runtime.Object{
		bound("all", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "jane"}, "get update patch", "things"),
		bound("reader", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "kim"}, "get list watch", "others"),
		bound("root", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "root"}, "*", "*"),
	} {
		objects = append(objects, more...)
	}
	trees := newThings(t)
	learner := learn.New(trees, learn.Options{})
	line, _, _ := strings.Cut(scales("jane", "x", "things"), `,"requestObject"`)
	if err := learner.Use(t.Context(), []byte(line+"}")); err != nil {
		t.Fatal(err)
	}
	got, err := New(t.Context(), learner, rbacOf(t, objects...), trees, Options{Groups: served})
	if err != nil {
		t.Fatal(err)
	}
	if !got.NoReads || !got.NoFields || len(got.Unused) != 1 || strings.Join(got.Unused[0].Verbs, " ") != "update" {
		t.Errorf("%+v", got)
	}
}

// TestReportOfBorrowedAuthority holds that a request under a delegation is a use of the delegator's
// bindings, by name or by group, and not of the delegate's, and that the report says what was used of *.
func TestReportOfBorrowedAuthority(t *testing.T) {
	user := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.UserKind, Name: name} }
	var objects []runtime.Object
	for _, more := range [][]runtime.Object{
		bound("delegates", user("jane"), "get update patch", "things"),
		bound("delegators", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "bosses"}, "patch", "things"),
		bound("root", user("alice"), "*", "*"),
		bound("odd", user("jane"), "bind escalate approve granular:protectedLabel(env)", "things"),
	} {
		objects = append(objects, more...)
	}
	trees := newThings(t)
	learner := learn.New(trees, learn.Options{})
	annotations := `,"annotations":{"authority.kube-granular.dev/selected":"{\"authorityReference\":{\"kind\":\"AuthorityDelegation\",\"name\":\"d\"}}","authority.kube-granular.dev/chain":"[{\"via\":\"Delegation\",\"by\":\"alice\"}]"}}`
	for _, line := range []string{strings.TrimSuffix(scales("jane", "x", "things"), "}") + annotations, reads} {
		if err := learner.Use(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := New(t.Context(), learner, rbacOf(t, objects...), trees, Options{Groups: served})
	if err != nil {
		t.Fatal(err)
	}
	var unused []string
	for _, u := range got.Unused {
		unused = append(unused, u.Binding)
	}
	if strings.Join(unused, ", ") != "ClusterRoleBinding delegates" || !got.Unused[0].Whole {
		t.Errorf("unused: %+v", got.Unused)
	}
	if len(got.Coarse) != 1 || got.Coarse[0].Subject != "user:alice" {
		t.Errorf("coarse: %+v", got.Coarse)
	}
	if len(got.Wildcards) != 1 || fmt.Sprint(got.Wildcards[0].Binding, got.Wildcards[0].Used) != "ClusterRoleBinding root[{things.example.com [patch]}]" {
		t.Errorf("wildcards: %+v", got.Wildcards)
	}
}

func rbacOf(t *testing.T, objects ...runtime.Object) *access.RBAC {
	t.Helper()
	out, err := access.ReadRBAC(t.Context(), fake.NewClientset(objects...).RbacV1(), "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bound returns a ClusterRole and a binding of that role.
func bound(name string, subject rbacv1.Subject, verbs, resources string) []runtime.Object {
	return []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"example.com"}, Resources: strings.Fields(resources), Verbs: strings.Fields(verbs)},
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}, Subjects: []rbacv1.Subject{subject}},
	}
}

// TestReport holds which permissions are reported as coarse and which as unused, and in which
// order.
func TestReport(t *testing.T) {
	user := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.UserKind, Name: name} }
	var objects []runtime.Object
	for _, more := range [][]runtime.Object{
		bound("all", user("jane"), "get update patch", "things"),
		bound("team", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "team"}, "patch", "things others"),
		bound("exact", user("ann"), "granular granular:replicas", "things"),
		bound("idle", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "ci", Name: "bot"}, "*", "*"),
		bound("system:idle", user("nobody"), "get", "things"),
	} {
		objects = append(objects, more...)
	}
	trees := newThings(t)
	learner := learn.New(trees, learn.Options{})
	for _, line := range []string{scales("jane", "x", "things"), scales("tom", "team", "things"), scales("ann", "x", "things"), reads} {
		if err := learner.Use(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for _, all := range []bool{false, true} {
		got, err := New(t.Context(), learner, rbacOf(t, objects...), trees, Options{All: all, Groups: served})
		if err != nil {
			t.Fatal(err)
		}
		var coarse, unused []string
		for _, c := range got.Coarse {
			coarse = append(coarse, fmt.Sprintf("%s %s %s: %v would do, by %s, takes %d of %d, %t", c.Subject, c.Namespace, c.Resource, c.Needs, c.Binding, c.Takes(), c.Permissions, c.Sure))
		}
		for _, u := range got.Unused {
			unused = append(unused, fmt.Sprintf("%s %v: %v on %v %t", u.Binding, u.Subjects, u.Verbs, u.Resources, u.Whole))
		}
		wantCoarse := []string{
			"user:jane shop things.example.com: [granular:replicas] would do, by ClusterRoleBinding all, takes 3 of 4, true",
			"user:tom shop things.example.com: [granular:replicas] would do, by ClusterRoleBinding team, takes 3 of 4, true",
		}
		wantUnused := []string{
			"ClusterRoleBinding idle [serviceaccount:ci/bot]: [*] on [*] true",
			"ClusterRoleBinding all [user:jane]: [get update] on [things] false",
			"ClusterRoleBinding team [group:team]: [patch] on [others] false",
		}
		if all {
			wantUnused = append(wantUnused[:1:1], append([]string{"ClusterRoleBinding system:idle [user:nobody]: [get] on [things] true"}, wantUnused[1:]...)...)
		}
		if strings.Join(coarse, "\n") != strings.Join(wantCoarse, "\n") || strings.Join(unused, "\n") != strings.Join(wantUnused, "\n") || got.Requests != 4 || got.NoReads || got.NoFields {
			t.Errorf("coarse\n%s\nunused\n%s", strings.Join(coarse, "\n"), strings.Join(unused, "\n"))
		}
	}
}

// TestReportSelects holds that a report of one subject has its own rights and those of its groups, and
// no others, and that rights in API groups that the server does not serve are left out and named.
func TestReportSelects(t *testing.T) {
	user := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.UserKind, Name: name} }
	group := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name} }
	bot := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "ci", Name: "bot"}
	foreign := func(groups ...string) []runtime.Object {
		out := bound("foreign", user("jane"), "get", "things")
		out[0].(*rbacv1.ClusterRole).Rules[0].APIGroups = groups
		return out
	}
	for name, tc := range map[string]struct {
		more             []runtime.Object
		subjects         []rbacv1.Subject
		coarse, bindings string
		notServed        string
	}{
		"everybody":         {coarse: "user:jane user:tom", bindings: "bots jane robots team"},
		"a user":            {subjects: []rbacv1.Subject{user("jane")}, coarse: "user:jane", bindings: "jane"},
		"a member":          {subjects: []rbacv1.Subject{user("tom")}, coarse: "user:tom", bindings: "team"},
		"a group":           {subjects: []rbacv1.Subject{group("team")}, coarse: "user:tom", bindings: "team"},
		"one not in logs":   {subjects: []rbacv1.Subject{bot}, bindings: "bots robots"},
		"another account":   {subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "cd", Name: "bot"}}, bindings: "robots"},
		"two":               {subjects: []rbacv1.Subject{user("jane"), bot}, coarse: "user:jane", bindings: "bots jane robots"},
		"nobody":            {subjects: []rbacv1.Subject{user("nobody")}},
		"a foreign group":   {more: foreign("gone.example"), coarse: "user:jane user:tom", bindings: "bots jane robots team", notServed: "gone.example"},
		"one of two groups": {more: foreign("gone.example", ""), coarse: "user:jane user:tom", bindings: "bots foreign jane robots team", notServed: "gone.example"},
		"all groups":        {more: foreign("*"), coarse: "user:jane user:tom", bindings: "bots foreign jane robots team"},
	} {
		objects := slices.Concat(tc.more, bound("jane", user("jane"), "get update patch", "things"), bound("team", group("team"), "get update patch", "things"),
			bound("bots", bot, "get", "things"), bound("robots", group("system:serviceaccounts"), "get", "things"))
		trees := newThings(t)
		learner := learn.New(trees, learn.Options{})
		for _, line := range []string{scales("jane", "x", "things"), scales("tom", "team", "things"), reads} {
			if err := learner.Use(t.Context(), []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := New(t.Context(), learner, rbacOf(t, objects...), trees, Options{Subjects: tc.subjects, Groups: served})
		if err != nil {
			t.Fatal(err)
		}
		var coarse, bindings []string
		for _, c := range got.Coarse {
			coarse = append(coarse, c.Subject)
		}
		for _, u := range got.Unused {
			bindings = append(bindings, strings.TrimPrefix(u.Binding, "ClusterRoleBinding "))
			if slices.Contains(u.Groups, "gone.example") {
				t.Errorf("%s: %+v", name, u)
			}
		}
		slices.Sort(bindings)
		if strings.Join(coarse, " ") != tc.coarse || strings.Join(slices.Compact(bindings), " ") != tc.bindings || strings.Join(got.NotServed, " ") != tc.notServed {
			t.Errorf("%s: coarse %q, unused %q, not served %q", name, coarse, bindings, got.NotServed)
		}
	}
}
