// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/learn"
)

// noTrees is a server that does not say which permissions fields have.
type noTrees struct{}

func (noTrees) Tree(kubeschema.GroupVersionResource, string) (*schema.Tree, error) {
	return nil, errors.New("not known")
}

// event returns an event of the core group, or of the group of a resource such as deployments.apps.
func event(user, verb, resource, namespace, name, more string) string {
	resource, group, _ := strings.Cut(resource, ".")
	group, sub, found := strings.Cut(group, "/")
	if !found {
		resource, sub, _ = strings.Cut(resource, "/")
	}
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"id","stage":"ResponseComplete","requestURI":"/x","verb":%q,
		"user":{"username":%q,"groups":["ops"]},"objectRef":{"resource":%q,"subresource":%q,"apiGroup":%q,"namespace":%q,"name":%q,"apiVersion":"v1"},
		"responseStatus":{"code":200},"annotations":{"authorization.k8s.io/decision":"allow"}%s}`, verb, user, resource, sub, group, namespace, name, more)
}

// rolesIn returns the roles of a YAML text, for the namespace shop.
func rolesIn(t *testing.T, text string) *Roles {
	t.Helper()
	r := NewRoles("shop")
	if err := r.Add("roles.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(); err != nil {
		t.Fatal(err)
	}
	return r
}

func checkAll(t *testing.T, r *Roles, events ...string) *Result {
	t.Helper()
	c := New(r)
	l := learn.New(noTrees{}, learn.Options{Each: c.Judge})
	for _, e := range events {
		if err := l.Use(t.Context(), []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := c.Result(l)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const (
	head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: "
	// secrets are the rules of a role that reads one secret.
	secrets = "rules: [{apiGroups: [''], resources: [secrets], resourceNames: [s], verbs: [get]}]\n"
)

func binding(kind, namespace, roleKind, subject string) string {
	return fmt.Sprintf("---\n%s%s\nmetadata: {name: b, namespace: '%s'}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: r}\nsubjects: [%s]\n", head, kind, namespace, roleKind, subject)
}

// TestWhatCounts holds where, and for whom, the roles of files count. Each that counts has a neighbour
// that does not.
func TestWhatCounts(t *testing.T) {
	role := head + "Role\nmetadata: {name: r}\n" + secrets
	inShop := head + "Role\nmetadata: {name: r, namespace: shop}\n" + secrets
	elsewhere := head + "Role\nmetadata: {name: r, namespace: elsewhere}\n" + secrets
	cluster := head + "ClusterRole\nmetadata: {name: r}\n" + secrets
	for name, tc := range map[string]struct {
		roles, resource, namespace, object string
		allowed                            bool
	}{
		"a role without a namespace":     {role, "secrets", "shop", "s", true},
		"another namespace":              {role, "secrets", "other", "s", false},
		"a role of the namespace":        {inShop, "secrets", "shop", "s", true},
		"a role of another namespace":    {elsewhere, "secrets", "shop", "s", false},
		"another name":                   {role, "secrets", "shop", "t", false},
		"another group":                  {role, "secrets.example.com", "shop", "s", false},
		"a subresource":                  {role, "secrets/status", "shop", "s", false},
		"a role of the cluster":          {cluster, "secrets", "other", "s", true},
		"a list of objects":              {head + "RoleList\nitems: [{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, " + strings.TrimSpace(secrets) + "}]", "secrets", "shop", "s", true},
		"two roles together":             {head + "Role\nmetadata: {name: other}\nrules: []\n---\n" + role, "secrets", "shop", "s", true},
		"bound to the user":              {cluster + binding("ClusterRoleBinding", "", "ClusterRole", "{kind: User, name: jane}"), "secrets", "shop", "s", true},
		"bound to another user":          {cluster + binding("ClusterRoleBinding", "", "ClusterRole", "{kind: User, name: jack}"), "secrets", "shop", "s", false},
		"bound to a group of the user":   {cluster + binding("ClusterRoleBinding", "", "ClusterRole", "{kind: Group, name: ops}"), "secrets", "shop", "s", true},
		"bound to another group":         {cluster + binding("ClusterRoleBinding", "", "ClusterRole", "{kind: Group, name: dev}"), "secrets", "shop", "s", false},
		"bound in the namespace":         {cluster + binding("RoleBinding", "shop", "ClusterRole", "{kind: User, name: jane}"), "secrets", "shop", "s", true},
		"bound in another namespace":     {cluster + binding("RoleBinding", "other", "ClusterRole", "{kind: User, name: jane}"), "secrets", "shop", "s", false},
		"a role, bound":                  {role + binding("RoleBinding", "shop", "Role", "{kind: User, name: jane}"), "secrets", "shop", "s", true},
		"a binding of another role kind": {role + binding("RoleBinding", "shop", "ClusterRole", "{kind: User, name: jack}"), "secrets", "shop", "s", true},
	} {
		found := checkAll(t, rolesIn(t, tc.roles), event("jane", "get", tc.resource, tc.namespace, tc.object, ""))
		if found.Requests != 1 || found.Allowed == 1 != tc.allowed || found.Refused == 1 == tc.allowed {
			t.Errorf("%s: %+v", name, *found)
			continue
		}
		if !tc.allowed && fmt.Sprint(found.Findings[0].Missing) != "[[get]]" {
			t.Errorf("%s: %v is missing", name, found.Findings[0].Missing)
		}
	}
}

// TestFilesThatMislead holds that mistakes in a file that would make a role wider or count twice are
// errors, and that the notes say what does not count.
func TestFilesThatMislead(t *testing.T) {
	for text, want := range map[string]string{
		head + "Role\nmetadata: {name: r}\nrules: [{apiGroups: [''], resources: [secrets], resourceName: [s], verbs: [get]}]": `unknown field "resourceName"`,
		head + "Role\nmetadata: {name: r}\nrules: [{verbs: [get], verbs: ['*']}]":                                             "already set",
		"kind: [a": "roles.yaml",
		"- a":      "not an object",
		"a: b":     "has no kind",
	} {
		if err := NewRoles("shop").Add("roles.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	empty := NewRoles("shop")
	if err := empty.Add("x", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")); err != nil {
		t.Fatal(err)
	}
	if err := empty.Complete(); err == nil || len(empty.Notes) != 1 {
		t.Error(err, empty.Notes)
	}
	r := rolesIn(t, head+"ClusterRole\nmetadata: {name: other}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules: []\n"+
		binding("RoleBinding", "shop", "ClusterRole", "{kind: User, name: jane}"))
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "aggregated") || !strings.Contains(r.Notes[1], "its role is not in the files") {
		t.Error(r.Notes)
	}
}

// TestNothingIsAllowedUnproven holds what is no proof, with the verbs that would be one.
func TestNothingIsAllowedUnproven(t *testing.T) {
	rule := func(verbs string) *Roles {
		return rolesIn(t, head+"ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: ['*'], resources: ['*'], verbs: ["+verbs+"]}]\n")
	}
	patch := event("jane", "patch", "deployments.apps", "shop", "web", "")
	if found := checkAll(t, rule("granular, 'granular:replicas'"), patch); found.NotProvable != 1 || found.Findings[0].Why == "" {
		t.Errorf("%+v", *found)
	}
	if found := checkAll(t, rule("patch"), patch); found.Allowed != 1 {
		t.Errorf("%+v", *found)
	}
	if found := checkAll(t, rule("'granular:replicas'"), patch); found.Refused != 1 {
		t.Errorf("%+v", *found)
	}
	// An impersonation asks for the user and for each group.
	impersonated := event("jane", "get", "pods", "shop", "p", `,"impersonatedUser":{"username":"bob","groups":["dev","system:authenticated"]}`)
	if found := checkAll(t, rule("get"), impersonated); found.Requests != 3 || found.Refused != 2 || fmt.Sprint(found.Findings[0].Missing) != "[[impersonate]]" {
		t.Errorf("%+v", *found)
	}
	if found := checkAll(t, rule("get, impersonate"), impersonated); found.Allowed != 3 {
		t.Errorf("%+v", *found)
	}
	// A request under a delegation uses the authority of the delegator, whose groups the log does not have.
	delegated := event("jane", "get", "pods", "shop", "p", `,"annotations":{"authority.kube-granular.dev/selected":"{\"authorityReference\":{\"kind\":\"AuthorityDelegation\",\"name\":\"d\"}}",`+
		`"authority.kube-granular.dev/chain":"[{\"via\":\"Delegation\",\"by\":\"boss\"}]"}`)
	for subject, want := range map[string][3]int{"{kind: User, name: boss}": {1, 0, 0}, "{kind: User, name: jane}": {0, 1, 0}, "{kind: Group, name: ops}": {0, 0, 1}} {
		r := rolesIn(t, head+"ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"+binding("ClusterRoleBinding", "", "ClusterRole", subject))
		if found := checkAll(t, r, delegated); [3]int{found.Allowed, found.Refused, found.NotProvable} != want {
			t.Errorf("bound to %s: %+v", subject, *found)
		}
	}
	// What was refused then, or is about no resource, is counted apart.
	forbidden := strings.NewReplacer(`"code":200`, `"code":403`, `"allow"`, `"forbid"`).Replace(patch)
	path := strings.Replace(patch, `"objectRef"`, `"noRef"`, 1)
	found := checkAll(t, rule("get"), forbidden, path)
	if found.Requests != 0 || found.NotJudged.Forbidden != 1 || found.NotJudged.Paths != 1 {
		t.Errorf("%+v", *found)
	}
}

// TestFindingsAreBounded holds that many different findings take bounded memory, and that the counts stay
// exact.
func TestFindingsAreBounded(t *testing.T) {
	r := rolesIn(t, head+"ClusterRole\nmetadata: {name: r}\nrules: []\n")
	var events []string
	for i := range MaxFindings + 7 {
		events = append(events, event("jane", "get", fmt.Sprintf("r%d", i), "shop", "x", ""))
	}
	for i := range MaxNames + 3 {
		events = append(events, event("jane", "get", "r0", "shop", fmt.Sprint(i), ""))
	}
	found := checkAll(t, r, events...)
	if len(found.Findings) != MaxFindings || found.Unlisted != 7 || found.Refused != MaxFindings+7+MaxNames+3 {
		t.Errorf("%d findings, %d not listed, %d refused", len(found.Findings), found.Unlisted, found.Refused)
	}
	if f := found.Findings[0]; f.Resource != "r0" || len(f.Names) != MaxNames || !f.MoreNames || f.Requests != 1+MaxNames+3 {
		t.Errorf("%+v", f)
	}
}
