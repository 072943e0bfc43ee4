// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// rule returns an RBAC rule with verbs on a resource, which is written as in
// deployments.apps/scale.
func rule(resource string, verbs ...string) rbacv1.PolicyRule {
	resource, sub, has := strings.Cut(resource, "/")
	name, group, _ := strings.Cut(resource, ".")
	if has {
		name += "/" + sub
	}
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{name}, Verbs: verbs}
}

func on1(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

type rules = []rbacv1.PolicyRule

// grants lists the rules that a granter holds and the rules that it tries to grant. If the
// granter lacks any one of the verbs in the field without, the grant must be refused.
var grants = []struct {
	name           string
	holds, granted rules
	without        []string
	// literal marks the grants that upstream accepts too, because the granter holds exactly the
	// granted verbs.
	refused, literal bool
}{
	{name: "one field of what may be updated",
		holds: rules{rule("deployments.apps", "update", "patch")}, granted: rules{rule("deployments.apps", "granular", "granular:replicas")},
		without: []string{"update", "patch"}},
	{name: "a parameter",
		holds: rules{rule("deployments.apps", "update", "patch")}, granted: rules{rule("deployments.apps", "granular:label(example.com)")},
		without: []string{"update", "patch"}},
	{name: "a subresource",
		holds: rules{rule("deployments.apps/scale", "update", "patch")}, granted: rules{rule("deployments.apps/scale", "granular", "granular:replicas")},
		without: []string{"update", "patch"}},
	{name: "all metadata, with which objects are created",
		holds: rules{rule("configmaps", "update", "patch", "create")}, granted: rules{rule("configmaps", "granular", "granular:metadata")},
		without: []string{"update", "patch", "create"}},
	{name: "by two rules",
		holds: rules{rule("configmaps", "update"), rule("configmaps", "patch")}, granted: rules{rule("configmaps", "granular:labels")},
		without: []string{"update", "patch"}},
	{name: "what is below a general permission",
		holds: rules{rule("configmaps", "granular", "granular:labels")}, granted: rules{rule("configmaps", "granular", "granular:label(example.com)")},
		without: []string{"granular", "granular:labels"}},
	{name: "on one object",
		holds: rules{on1(rule("configmaps", "update", "patch"), "a")}, granted: rules{on1(rule("configmaps", "granular:labels"), "a")},
		without: []string{"update", "patch"}},
	{name: "on a resource by a rule of all",
		holds: rules{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"update", "patch"}}}, granted: rules{rule("configmaps", "granular:labels")},
		without: []string{"update", "patch"}},
	{name: "by all verbs", literal: true,
		holds: rules{rule("configmaps", "*")}, granted: rules{rule("configmaps", "granular", "granular:labels", "granular:protectedLabel(example.com)")},
		without: []string{"*"}},
	{name: "what is held as it is written", literal: true,
		holds: rules{rule("robots.example.com", "granular:example.com/arm")}, granted: rules{rule("robots.example.com", "granular:example.com/arm")},
		without: []string{"granular:example.com/arm"}},

	{name: "on another object", refused: true,
		holds: rules{on1(rule("configmaps", "update", "patch"), "a")}, granted: rules{on1(rule("configmaps", "granular:labels"), "b")}},
	{name: "on all objects of one", refused: true,
		holds: rules{on1(rule("configmaps", "update", "patch"), "a")}, granted: rules{rule("configmaps", "granular:labels")}},
	{name: "on a subresource of what may be updated", refused: true,
		holds: rules{rule("deployments.apps", "update", "patch")}, granted: rules{rule("deployments.apps/status", "granular:conditions")}},
	{name: "on another resource", refused: true,
		holds: rules{rule("configmaps", "update", "patch")}, granted: rules{rule("secrets", "granular:labels")}},
	{name: "on all resources, of which custom ones may exclude it", refused: true,
		holds:   rules{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"update", "patch", "create"}}},
		granted: rules{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"granular:labels"}}}},
	{name: "on a custom resource, which may exclude it", refused: true,
		holds: rules{rule("robots.example.com", "update", "patch", "create")}, granted: rules{rule("robots.example.com", "granular:labels")}},
	{name: "a protected label", refused: true,
		holds: rules{rule("configmaps", "update", "patch", "create")}, granted: rules{rule("configmaps", "granular:protectedLabel(example.com)")}},
	{name: "a permission that the resource has not", refused: true,
		holds: rules{rule("configmaps", "update", "patch", "create")}, granted: rules{rule("configmaps", "granular:replicas")}},
	{name: "a misspelled permission", refused: true,
		holds: rules{rule("configmaps", "update", "patch", "create")}, granted: rules{rule("configmaps", "granular:lables")}},
	{name: "a parameter left out", refused: true,
		holds: rules{rule("configmaps", "update", "patch", "create")}, granted: rules{rule("configmaps", "granular:label")}},
	{name: "a general permission for a specific one", refused: true,
		holds: rules{rule("configmaps", "granular", "granular:label(example.com)")}, granted: rules{rule("configmaps", "granular:labels")}},
	{name: "the ordinary verbs for all permissions there are", refused: true,
		holds: rules{rule("configmaps", "granular", "granular:metadata", "granular:data")}, granted: rules{rule("configmaps", "update")}},
}

// TestIncludedGrants checks that a caller that may change a whole object may also grant
// permissions for single fields of it, by a role or by a binding. With one verb less, the grant
// is refused.
//
// Attack: a role or binding that grants a permission which the granter's update does not include:
// on another object, subresource or resource, excluded, protected, on custom resources
// Answer: 403, with upstream's message
func TestIncludedGrants(t *testing.T) {
	for i, tc := range grants {
		t.Run(tc.name, func(t *testing.T) {
			g := newGranter(t, on, fmt.Sprintf("grants-%d", i), tc.holds)
			g.grants(t, tc.granted, !tc.refused)
			for j, verb := range tc.without {
				less := newGranter(t, on, fmt.Sprintf("grants-%d-less-%d", i, j), without(tc.holds, verb))
				less.grants(t, tc.granted, false)
			}
		})
	}
}

// TestIncludedGrantsWithTheGateOff checks that, with the gate off, a caller can grant only
// verbs that it holds literally, as in upstream.
func TestIncludedGrantsWithTheGateOff(t *testing.T) {
	off := harness.Start(t, "--feature-gates", "GranularAuthorization=false")
	for i, tc := range grants {
		newGranter(t, off, fmt.Sprintf("grants-%d", i), tc.holds).grants(t, tc.granted, tc.literal)
	}
}

// without returns the rules without one verb.
func without(from rules, verb string) rules {
	var out rules
	for _, r := range from {
		left := r
		left.Verbs = nil
		for _, v := range r.Verbs {
			if v != verb {
				left.Verbs = append(left.Verbs, v)
			}
		}
		if len(left.Verbs) > 0 {
			out = append(out, left)
		}
	}
	return out
}

// granter is a user that may write roles and bindings in a namespace of its own.
type granter struct {
	admin, client *kubernetes.Clientset
	namespace     string
}

func newGranter(t *testing.T, c *cluster.Cluster, namespace string, holds rules) *granter {
	t.Helper()
	g := &granter{admin: clientOf(t, c, ""), namespace: fmt.Sprintf("%s-%d", namespace, harness.Unique())}
	harness.Create(t, g.admin, "/api/v1/namespaces", `{"metadata":{"name":"`+g.namespace+`"}}`)
	user := "granter-of-" + g.namespace
	g.client = clientOf(t, c, user)
	if err := g.bound(t.Context(), g.admin, "granter", user, append(rules{
		rule("roles.rbac.authorization.k8s.io", "create", "update", "get"), rule("rolebindings.rbac.authorization.k8s.io", "create"),
		rule("events", "deletecollection"),
	}, holds...)); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "the granter's role is known", func() bool {
		return g.role(t.Context(), "probe", rules{rule("events", "deletecollection")}, metav1.DryRunAll) == nil
	})
	return g
}

// clientOf returns a client for a user, or for the administrator if user is empty. It prints no
// warnings.
func clientOf(t *testing.T, c *cluster.Cluster, user string) *kubernetes.Clientset {
	t.Helper()
	config := rest.CopyConfig(harness.Config(t, c, "admin"))
	config.Impersonate, config.WarningHandler = harness.Impersonating(user), rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// bound creates a role and binds a user to it.
func (g *granter) bound(ctx context.Context, client *kubernetes.Clientset, name, user string, of rules) error {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: of}
	if _, err := client.RbacV1().Roles(g.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	return g.bind(ctx, client, name, user)
}

func (g *granter) bind(ctx context.Context, client *kubernetes.Clientset, role, user string) error {
	_, err := client.RbacV1().RoleBindings(g.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: role + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	return err
}

func (g *granter) role(ctx context.Context, name string, of rules, dryRun ...string) error {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: of}
	_, err := g.client.RbacV1().Roles(g.namespace).Create(ctx, role, metav1.CreateOptions{DryRun: dryRun})
	return err
}

// grants checks whether the granter may grant rules in three ways: create a role, update an
// empty role, and bind a user to a role that has the rules.
func (g *granter) grants(t *testing.T, granted rules, want bool) {
	t.Helper()
	ctx := t.Context()
	errs := map[string]error{"create a role": g.role(ctx, "created", granted)}
	for _, name := range []string{"empty", "full"} {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "full" {
			role.Rules = granted
		}
		if _, err := g.admin.RbacV1().Roles(g.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_, errs["update a role"] = g.client.RbacV1().Roles(g.namespace).Update(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "empty"}, Rules: granted}, metav1.UpdateOptions{})
	// The server looks up the role of a binding in its cache, which may lag behind the storage.
	harness.Until(t, "the role is known", func() bool {
		errs["bind"] = g.bind(ctx, g.client, "full", "somebody")
		return !apierrors.IsNotFound(errs["bind"])
	})
	for how, err := range errs {
		switch {
		case want && err != nil:
			t.Errorf("%s: %v, want it granted", how, err)
		case !want && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "not currently held")):
			t.Errorf("%s: %v, want it refused in upstream's words", how, err)
		}
	}
}

// TestAdminOfNamespaceGrantsOneField checks that the administrator of a namespace can grant a
// user the right to scale deployments, and nothing else.
func TestAdminOfNamespaceGrantsOneField(t *testing.T) {
	g := newGranter(t, on, "grants-admin", nil)
	ctx := t.Context()
	if _, err := g.admin.RbacV1().RoleBindings(g.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "granter-of-" + g.namespace}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
	}}
	if _, err := g.admin.AppsV1().Deployments(g.namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scaler := "scaler-of-" + g.namespace
	harness.Until(t, "the administrator of the namespace grants", func() bool {
		return g.bound(ctx, g.client, "scaler", scaler, rules{
			rule("deployments.apps", "get", "granular", "granular:replicas"), rule("deployments.apps/scale", "get", "granular", "granular:replicas"),
		}) == nil
	})
	client := clientOf(t, on, scaler)
	patch := func(body string) error {
		_, err := client.AppsV1().Deployments(g.namespace).Patch(ctx, "web", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	harness.Until(t, "the scaler scales", func() bool { return patch(`{"spec":{"replicas":2}}`) == nil })
	if err := patch(`{"spec":{"paused":true}}`); !apierrors.IsForbidden(err) {
		t.Errorf("the scaler pauses: %v, want 403", err)
	}
	if err := g.role(ctx, "too-much", rules{rule("nodes", "granular", "granular:labels")}); !apierrors.IsForbidden(err) {
		t.Errorf("an administrator of a namespace grants labels of nodes: %v, want 403", err)
	}
}
