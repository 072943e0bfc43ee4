// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestSudoEscalation checks that a sudoer can't get, or grant, more permissions than sudo has: not
// by bindings, by tokens, by service accounts of others, or by impersonating groups of others.
//
// Attack: with sudo, a caller binds somebody to `cluster-admin`, to its own role with a wildcard or permission
// verbs, or in another namespace
// Answer: 403; binding and granting the tenant's own rights succeeds
//
// Attack: with sudo, a caller asks for a token of a service account of another namespace, or for one that is
// valid for more than an hour
// Answer: 403; a token of the tenant for an hour is granted
//
// Attack: a sudoer impersonates the group of another tenant, somebody else, or a service account
// Answer: 403; impersonating the group of the own tenant succeeds
// Held by: TestPlugins, TestOtherSudoers
func TestSudoEscalation(t *testing.T) {
	lns, other := shared.make(t, tenant("escalate")), shared.make(t, tenant("escalate-other"))
	group := names.SudoGroup(lns.Name)
	shared.allowed(t, "x", []string{group}, "create", "rolebindings", lns.Name, "")
	sudo := shared.as(t, "escalate-sudoer", group)
	binding := func(namespace, name, role string) client.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "escalate-friend"}}}
	}
	role := func(name string, rule rbacv1.PolicyRule) client.Object {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: name},
			Rules: []rbacv1.PolicyRule{rule}}
	}
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	for name, tc := range map[string]struct{ may, mayNot client.Object }{
		"binding a role":    {binding(lns.Name, "edit", "edit"), binding(lns.Name, "all", "cluster-admin")},
		"binding elsewhere": {binding(lns.Name, "admin", "admin"), binding(other.Name, "edit", "edit")},
		"binding quotas":    {binding(lns.Name, "view", "view"), binding(lns.Name, "quotas", names.SudoQuotasRole)},
		"a star":            {role("pods", rule("", "pods", "create")), role("star", rule("*", "*", "*"))},
		"a field": {role("deploy", rule("apps", "deployments", "patch")),
			role("field", rule("apps", "deployments", "granular", "granular:replicas"))},
		"the Namespace": {role("seen", rule("", "namespaces", "get")),
			role("ns", rule("", "namespaces", "update"))},
		"protected attributes": {role("configs", rule("", "configmaps", "delete")),
			role("attributes", rule("authority.kube-granular.dev", "protectedattributes", "delete"))},
	} {
		if err := sudo.Create(t.Context(), tc.may); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := sudo.Create(t.Context(), tc.mayNot); !apierrors.IsForbidden(err) {
			t.Errorf("%s: not refused: %v", name, err)
		}
	}
	// Sudo may request tokens of service accounts in the namespace of the tenant, for one hour.
	for _, namespace := range []string{lns.Name, other.Name} {
		if err := shared.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "robot"}}); err != nil {
			t.Fatal(err)
		}
	}
	token := func(c client.Client, namespace string, seconds int64) error {
		return c.SubResource("token").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "robot"}},
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}})
	}
	if err := token(sudo, lns.Name, 3600); err != nil {
		t.Errorf("a token for an hour: %v", err)
	}
	wait(t, "a token for longer is refused", func() error { return wantForbidden(token(sudo, lns.Name, 7200)) })
	if err := token(shared.client, lns.Name, 7200); err != nil {
		t.Errorf("without sudo: %v", err)
	}
	if err := token(sudo, other.Name, 3600); !apierrors.IsForbidden(err) {
		t.Errorf("a token of another tenant: %v", err)
	}
	// Sudo can't impersonate the groups of other tenants, other users or any service account.
	shared.allowed(t, "escalate-sudoer", nil, "impersonate", "groups", "", group)
	for _, q := range []struct {
		groups                    []string
		resource, namespace, name string
	}{
		{nil, "groups", "", names.SudoGroup(other.Name)},
		{[]string{group}, "groups", "", names.SudoGroup(other.Name)},
		{[]string{group}, "users", "", "escalate-other-sudoer"},
		{nil, "serviceaccounts", other.Name, "robot"},
		{[]string{group}, "serviceaccounts", other.Name, "robot"},
		{[]string{group}, "serviceaccounts", "kube-system", "default"},
		{nil, "serviceaccounts", lns.Name, "robot"},
	} {
		shared.refused(t, "escalate-sudoer", q.groups, "impersonate", q.resource, q.namespace, q.name)
	}
}

func wantForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("not refused: %v", err)
}

// TestReservedNames checks that the lists of members refuse names that are reserved for
// impersonation or for the system.
//
// Attack: a list names the group of another tenant's sudoers, everybody, or a user of the system
// Answer: 422
func TestReservedNames(t *testing.T) {
	for name, subject := range map[string]v1alpha1.Subject{
		"the sudo group":                 {Kind: v1alpha1.GroupKind, Name: names.SudoGroup("victim")},
		"the sudo user":                  {Kind: v1alpha1.UserKind, Name: names.SudoUser("victim")},
		"everybody":                      {Kind: v1alpha1.GroupKind, Name: "system:authenticated"},
		"nobody in particular":           {Kind: v1alpha1.GroupKind, Name: "system:unauthenticated"},
		"masters":                        {Kind: v1alpha1.GroupKind, Name: "system:masters"},
		"a service account as a user":    {Kind: v1alpha1.UserKind, Name: "system:serviceaccount:kube-system:x"},
		"a service account from nowhere": {Kind: v1alpha1.ServiceAccountKind, Name: "x"},
		"an account a..b, no DNS name":   {Kind: v1alpha1.ServiceAccountKind, Name: "a..b", Namespace: "x"},
		"an account that ends with -.":   {Kind: v1alpha1.ServiceAccountKind, Name: "a-.b", Namespace: "x"},
		"an account with a long name":    {Kind: v1alpha1.ServiceAccountKind, Name: strings.Repeat("a", 254), Namespace: "x"},
		"a user with a namespace":        {Kind: v1alpha1.UserKind, Name: "x", Namespace: "y"},
		"an empty name":                  {Kind: v1alpha1.UserKind},
		"another kind":                   {Kind: "Robot", Name: "x"},
	} {
		lns := tenant("reserved-names")
		lns.Spec.Sudoers = append(lns.Spec.Sudoers, subject)
		if err := shared.client.Create(t.Context(), lns); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"a.b", "-a", "default"} {
		if err := shared.client.Create(t.Context(), tenant(name)); !apierrors.IsInvalid(err) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

// TestOtherSudoers checks that members of groups, and service accounts, use sudo by impersonating
// a user without permissions of its own, and that no sudoer may impersonate a service account.
func TestOtherSudoers(t *testing.T) {
	lns := tenant("others")
	lns.Spec.Sudoers = []v1alpha1.Subject{{Kind: v1alpha1.GroupKind, Name: "ops"},
		{Kind: v1alpha1.ServiceAccountKind, Name: "robot", Namespace: "kube-system"}}
	shared.make(t, lns)
	robot := []string{"system:serviceaccounts", "system:serviceaccounts:kube-system"}
	for _, who := range []struct {
		name   string
		groups []string
	}{{"olga", []string{"ops"}}, {"system:serviceaccount:kube-system:robot", robot}} {
		shared.allowed(t, who.name, who.groups, "impersonate", "groups", "", names.SudoGroup(lns.Name))
		shared.allowed(t, who.name, who.groups, "impersonate", "users", "", names.SudoUser(lns.Name))
		shared.refused(t, who.name, who.groups, "impersonate", "users", "", who.name)
		shared.refused(t, who.name, who.groups, "impersonate", "serviceaccounts", "kube-system", "robot")
		shared.refused(t, who.name, who.groups, "impersonate", "serviceaccounts", lns.Name, "robot")
	}
	shared.refused(t, "olga", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	shared.refused(t, names.SudoUser(lns.Name), nil, "create", "deployments", lns.Name, "")
}

// TestLeftovers checks that objects created with sudo have a label, that the sudoer can't remove
// the label, and that the objects are reported or deleted once their creator is no longer a sudoer.
//
// Attack: a sudoer creates a binding or a secret to use it later, under another name, or removes its label
// Answer: the object records who made it, whatever was sent; it is in `status.leftovers`, or removed
func TestLeftovers(t *testing.T) {
	lns := tenant("leftovers")
	lns.Spec.Users = append(lns.Spec.Users, user("leftovers-sudoer"))
	shared.make(t, lns)
	group := names.SudoGroup(lns.Name)
	shared.allowed(t, "x", []string{group}, "create", "rolebindings", lns.Name, "")
	shared.allowed(t, "leftovers-sudoer", nil, "update", "secrets", lns.Name, "")
	sudo, plain := shared.as(t, "leftovers-sudoer", group), shared.as(t, "leftovers-sudoer")
	door := func() client.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "door"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "leftovers-sudoer"}}}
	}
	key := func() client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "key", Annotations: map[string]string{names.Maker: "somebody-else"}}}
	}
	// The server enforces the policy only a moment after the policy was created.
	wait(t, "objects created with sudo get the label", func() error {
		object := door()
		if err := sudo.Create(t.Context(), object); err != nil {
			return err
		}
		if object.GetLabels()[names.MadeWithSudo] == "true" && object.GetAnnotations()[names.Maker] == "leftovers-sudoer" {
			return nil
		}
		return errors.Join(errors.New("the object has no label"), shared.client.Delete(t.Context(), object))
	})
	secret := key()
	if err := sudo.Create(t.Context(), secret); err != nil || secret.GetAnnotations()[names.Maker] != "leftovers-sudoer" {
		t.Errorf("a forged maker: %v, %v", secret.GetAnnotations(), err)
	}
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "own"}}
	if err := plain.Create(t.Context(), own); err != nil || own.Labels[names.MadeWithSudo] != "" {
		t.Errorf("made without sudo: %v, %v", own.Labels, err)
	}
	for who, c := range map[string]client.Client{"with sudo": sudo, "without": plain} {
		hidden := secret.DeepCopyObject().(client.Object)
		hidden.SetLabels(nil)
		if err := c.Patch(t.Context(), hidden, client.MergeFrom(secret)); !apierrors.IsForbidden(err) {
			t.Errorf("%s the label was removed: %v", who, err)
		}
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = []v1alpha1.Subject{user("leftovers-next")} })
	if got := fmt.Sprint(lns.Status.Leftovers); got != "[{RoleBinding door leftovers-sudoer} {Secret key leftovers-sudoer}]" {
		t.Errorf("reported: %s", got)
	}
	if clean := meta.FindStatusCondition(lns.Status.Conditions, v1alpha1.ConditionClean); clean == nil || clean.Status != metav1.ConditionFalse {
		t.Errorf("conditions: %+v", lns.Status.Conditions)
	}
	shared.there(t, door())
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.AtRevocation = v1alpha1.RemoveLeftovers })
	shared.gone(t, door())
	shared.gone(t, key())
	shared.there(t, own)
	shared.refused(t, "leftovers-sudoer", nil, "create", "rolebindings", lns.Name, "")
	wait(t, "it is clean", func() error {
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(lns.Status.Conditions, v1alpha1.ConditionClean) {
			return fmt.Errorf("%+v", lns.Status)
		}
		return nil
	})
}

// TestChangedWithSudo changes roles and bindings of somebody else with sudo.
//
// Attack: with sudo, a caller widens a role or binding that others made, to use it after sudo ends; it removes
// the label, or a colleague changes the object later
// Answer: the object records who changed it; `status.leftovers` names each of them who is no longer a sudoer,
// and nothing is removed
func TestChangedWithSudo(t *testing.T) {
	lns := tenant("changed")
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("changed-colleague"))
	lns.Spec.Sudo.AtRevocation = v1alpha1.RemoveLeftovers
	shared.make(t, lns)
	group := names.SudoGroup(lns.Name)
	shared.allowed(t, "x", []string{group}, "create", "rolebindings", lns.Name, "")
	sudo, colleague := shared.as(t, "changed-sudoer", group), shared.as(t, "changed-colleague", group)
	meta := metav1.ObjectMeta{Namespace: lns.Name, Name: "theirs"}
	pods := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{pods}}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "theirs"}}
	untouched := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "untouched"},
		RoleRef: binding.RoleRef}
	for _, object := range []client.Object{role, binding, untouched} {
		if err := shared.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"},
		Verbs: []string{"get", "update"}}
	widen := func(c client.Client) error {
		before := role.DeepCopy()
		role.Rules = append(role.Rules, secrets)
		return c.Patch(t.Context(), role, client.MergeFrom(before))
	}
	// The server enforces the policy only a moment after the policy was created.
	wait(t, "a role changed with sudo gets the label", func() error {
		if err := widen(sudo); err != nil {
			return err
		}
		if role.Labels[names.ChangedWithSudo] != "true" || role.Annotations[names.Changers] != "changed-sudoer" {
			return fmt.Errorf("%v %v", role.Labels, role.Annotations)
		}
		return nil
	})
	if err := widen(colleague); err != nil || role.Annotations[names.Changers] != "changed-sudoer\nchanged-colleague" {
		t.Errorf("a colleague changes it after: %q, %v", role.Annotations, err)
	}
	if err := widen(sudo); err != nil || role.Annotations[names.Changers] != "changed-sudoer\nchanged-colleague" {
		t.Errorf("and once more: %q, %v", role.Annotations, err)
	}
	before := binding.DeepCopy()
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "changed-sudoer"}}
	if err := sudo.Patch(t.Context(), binding, client.MergeFrom(before)); err != nil || binding.Annotations[names.Changers] != "changed-sudoer" {
		t.Errorf("a binding: %q, %v", binding.Annotations, err)
	}
	labelled := untouched.DeepCopy()
	untouched.Labels = maps.Clone(untouched.Labels)
	untouched.Labels["mine"] = "yes"
	if err := sudo.Patch(t.Context(), untouched, client.MergeFrom(labelled)); err != nil || untouched.Labels[names.ChangedWithSudo] != "" {
		t.Errorf("a change that grants nothing got the label of sudo: %v, %v", untouched.Labels, err)
	}
	for name, hide := range map[string]func(o *rbacv1.Role){
		"the label":      func(o *rbacv1.Role) { delete(o.Labels, names.ChangedWithSudo) },
		"the annotation": func(o *rbacv1.Role) { delete(o.Annotations, names.Changers) },
		"a line of it":   func(o *rbacv1.Role) { o.Annotations[names.Changers] = "changed-colleague" },
		"a line of it, with a change": func(o *rbacv1.Role) {
			o.Annotations[names.Changers], o.Rules = "changed-colleague", o.Rules[:1]
		},
	} {
		hidden := role.DeepCopy()
		hide(hidden)
		err := colleague.Patch(t.Context(), hidden, client.MergeFrom(role))
		if err == nil && hidden.Annotations[names.Changers] == role.Annotations[names.Changers] && hidden.Labels[names.ChangedWithSudo] == "true" {
			role = hidden // the policy restored the label and the annotation
			continue
		}
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s was removed: %v", name, err)
		}
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[1:] })
	if got := fmt.Sprint(lns.Status.Leftovers); got != "[{Role theirs changed-sudoer} {RoleBinding theirs changed-sudoer}]" {
		t.Errorf("reported: %s", got)
	}
	shared.there(t, role)
	shared.there(t, binding)
	// Once the role and the binding are deleted, there are no leftovers.
	for _, object := range []client.Object{role, binding} {
		if err := shared.client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewKind checks that sudo includes a namespaced custom resource as soon as discovery lists it,
// and no longer once its definition is deleted. No rule of sudo has a wildcard.
func TestNewKind(t *testing.T) {
	lns := shared.make(t, tenant("kinds"))
	sudo := []string{names.SudoGroup(lns.Name)}
	shared.allowed(t, "x", sudo, "create", "deployments", lns.Name, "")
	shared.refused(t, "x", sudo, "create", "widgets", lns.Name, "")
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.e2e.example.com"},
		"spec": map[string]any{
			"group": "e2e.example.com", "scope": "Namespaced",
			"names":    map[string]any{"plural": "widgets", "kind": "Widget", "singular": "widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	if err := shared.client.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	shared.allowed(t, "x", sudo, "create", "widgets", lns.Name, "")
	if err := shared.client.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	shared.refused(t, "x", sudo, "create", "widgets", lns.Name, "")
	role := &rbacv1.ClusterRole{}
	if err := shared.client.Get(t.Context(), client.ObjectKey{Name: names.SudoRole}, role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
			for _, word := range list {
				if word == "*" {
					t.Errorf("the rule has a wildcard: %v", rule)
				}
			}
		}
	}
}
