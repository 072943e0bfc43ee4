// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestRetainedNamespace checks that a namespace stays if spec.deletionPolicy is Retain, that its people
// lose their permissions, that its programs keep theirs, and who may set the field.
//
// Attack: somebody sets deletionPolicy to Retain, so that a namespace and its pods stay without an account that pays
// Answer: 403 in a new LNamespace and in a changed one, without the verb for the field
func TestRetainedNamespace(t *testing.T) {
	lns := tenant("retained")
	lns.Spec.DeletionPolicy = v1alpha1.RetainNamespace
	shared.allowed(t, "somebody", nil, "create", "lnamespaces", "", "")
	wait(t, "anybody is refused", func() error {
		return wantForbidden(shared.as(t, "somebody").Create(t.Context(), lns.DeepCopy(), client.DryRunAll))
	})
	create(t, shared.client, lns)
	shared.settled(t, lns)
	shared.allowed(t, "retained-manager", nil, "patch", "lnamespaces", "", lns.Name)
	after := lns.DeepCopy()
	after.Spec.DeletionPolicy = v1alpha1.DeleteNamespace
	if err := shared.as(t, "retained-manager").Patch(t.Context(), after, client.MergeFrom(lns)); !forbidden(err) {
		t.Errorf("a manager: %v", err)
	}
	sudo := shared.sudo(t, "retained-sudoer", lns.Name)
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "data"}}
	operators := bindingTo("ClusterRole", "view", lns.Name, "operators", "somebody")
	create(t, sudo, data, bindingTo("ClusterRole", "admin", lns.Name, "door", "retained-friend"), bindingToRobot(lns.Name, "robots", lns.Name))
	create(t, shared.client, operators)
	shared.allowed(t, "retained-friend", nil, "create", "secrets", lns.Name, "")
	out, err := shared.kubectl("admin", "delete", "lns", lns.Name)
	if err != nil || !strings.Contains(out, "the namespace retained stays, without its people and without an account that pays") {
		t.Errorf("%v: %s", err, out)
	}
	shared.gone(t, lns)
	ns := namespaceOf(lns.Name)
	shared.there(t, ns)
	if ns.DeletionTimestamp != nil || ns.Labels[names.Retained] != "true" || ns.Labels[names.Tenant] != "" || len(ns.OwnerReferences) > 0 {
		t.Errorf("the namespace: %+v", ns.ObjectMeta)
	}
	shared.there(t, data)
	shared.there(t, operators)
	shared.there(t, bindingTo("", "", lns.Name, "robots"))
	shared.gone(t, bindingTo("", "", lns.Name, "door"))
	for _, who := range []string{"retained-user", "retained-friend"} {
		shared.refused(t, who, nil, "create", "secrets", lns.Name, "")
	}
	for _, object := range grants.All(lns.Name, user("retained-sudoer")) {
		shared.gone(t, object)
	}
	// Nobody gets permissions in it by its name, until an administrator hands it over.
	next := tenant("retained")
	create(t, shared.as(t, "somebody"), next)
	shared.waitReason(t, next, "NamespaceNotOurs")
	if out, err := shared.kubectl("admin", "annotate", "namespace", "retained", names.AdoptedBy+"="+string(next.UID)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shared.allowed(t, "retained-user", nil, "create", "secrets", lns.Name, "")
	shared.there(t, ns)
	if ns.Labels[names.Retained] != "" {
		t.Errorf("the label of the time without a tenant: %v", ns.Labels)
	}
	out, err = shared.kubectl("admin", "delete", "lns", lns.Name)
	if err != nil || !strings.Contains(out, "the namespace retained stays") {
		t.Errorf("%v: %s", err, out)
	}
	deleted := shared.make(t, tenant("not-retained"))
	out, err = shared.kubectl("admin", "delete", "lns", deleted.Name)
	if err != nil || !strings.Contains(out, "the namespace not-retained is deleted with everything in it") {
		t.Errorf("%v: %s", err, out)
	}
	wait(t, "the other namespace is being deleted", func() error {
		ns := namespaceOf(deleted.Name)
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); err == nil && ns.DeletionTimestamp == nil {
			return errors.New("it is not")
		}
		return nil
	})
}

// TestNoNamespaceHasATenantAsOwner checks that the controller takes its LNamespace off the owners of a
// namespace, and that nobody adds one.
//
// Attack: who may update a Namespace makes it a dependent of an LNamespace, so that the garbage collector deletes
// it with the LNamespace
// Was: got through
// Answer: 403, whoever asks; an owner of another kind needs the verb `delete` in the namespace of a tenant
func TestNoNamespaceHasATenantAsOwner(t *testing.T) {
	lns := tenant("owned-by")
	shared.make(t, lns)
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowNamespace} })
	foreign := namespaceOf("owned-by-foreign")
	create(t, shared.client, foreign)
	t.Cleanup(func() {
		if err := shared.client.Delete(context.Background(), foreign); err != nil {
			t.Error(err)
		}
	})
	owner := []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace", Name: lns.Name, UID: lns.UID}}
	own := namespaceOf(lns.Name)
	shared.there(t, own)
	if len(own.OwnerReferences) > 0 {
		t.Errorf("the controller made the owners %v", own.OwnerReferences)
	}
	group := names.SudoGroup(lns.Name)
	shared.allowed(t, "x", []string{group}, "patch", "namespaces", lns.Name, lns.Name)
	for name, tc := range map[string]struct {
		who     client.Client
		ns      *corev1.Namespace
		owners  []metav1.OwnerReference
		allowed bool
	}{
		"an administrator":          {shared.client, foreign, owner, false},
		"an administrator, own":     {shared.client, own, owner, false},
		"another owner":             {shared.client, foreign, nobody, true},
		"sudo":                      {shared.as(t, "x", group), own, owner, false},
		"sudo, an owner who is not": {shared.as(t, "x", group), own, nobody, false},
		"administrator, the same":   {shared.client, own, nobody, true},
	} {
		wait(t, name, func() error {
			after := tc.ns.DeepCopy()
			after.OwnerReferences = tc.owners
			err := tc.who.Patch(t.Context(), after, client.MergeFrom(tc.ns), client.DryRunAll)
			if tc.allowed {
				return err
			}
			return wantForbidden(err)
		})
	}
}

// TestFinalizersOfOthers checks that a finalizer on an LNamespace takes the right to delete it.
//
// Attack: a manager, or sudo, adds a finalizer to the LNamespace, so that nobody can delete it
// Was: got through
// Answer: 403 without the verb `delete`; other changes are allowed
// Held by: TestListsTakeVerbs
func TestFinalizersOfOthers(t *testing.T) {
	lns := shared.make(t, tenant("finalized"))
	shared.allowed(t, "finalized-manager", nil, "patch", "lnamespaces", "", lns.Name)
	shared.allowed(t, "x", []string{names.SudoGroup(lns.Name)}, "patch", "lnamespaces", "", lns.Name)
	shared.holds(t, "finalized-deleter", lns.Name, "update", "patch", "delete")
	for name, tc := range map[string]struct {
		who     client.Client
		allowed bool
	}{
		"manager": {shared.as(t, "finalized-manager"), false},
		"sudo":    {shared.as(t, "x", names.SudoGroup(lns.Name)), false},
		"deleter": {shared.as(t, "finalized-deleter"), true},
	} {
		after := lns.DeepCopy()
		after.Finalizers = append(after.Finalizers, "example.com/stay")
		if err := tc.who.Patch(t.Context(), after, client.MergeFrom(lns), client.DryRunAll); tc.allowed && err != nil || !tc.allowed && !forbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
		after = lns.DeepCopy()
		after.Labels = map[string]string{"by": name}
		if err := tc.who.Patch(t.Context(), after, client.MergeFrom(lns), client.DryRunAll); err != nil {
			t.Errorf("%s, a label: %v", name, err)
		}
	}
}

// TestRemovedSudoersAreAudited checks that the audit log names the sudoers that a request of a manager
// removes, and nobody in requests that remove none.
func TestRemovedSudoersAreAudited(t *testing.T) {
	lns := tenant("audited")
	robot := v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: "audited", Name: "robot"}
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("audited-other"), robot)
	shared.make(t, lns)
	shared.allowed(t, "audited-manager", nil, "patch", "lnamespaces", "", lns.Name)
	manager := shared.as(t, "audited-manager")
	change := func(change func(*v1alpha1.LNamespaceSpec)) {
		t.Helper()
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			t.Fatal(err)
		}
		before := lns.DeepCopy()
		if change(&lns.Spec); manager.Patch(t.Context(), lns, client.MergeFrom(before)) != nil {
			t.Fatalf("%+v is refused", lns.Spec)
		}
	}
	change(func(s *v1alpha1.LNamespaceSpec) { s.Users = append(s.Users, user("audited-user-2")) })
	change(func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[:1] })
	change(func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = nil })
	want := []string{"", "User audited-other, ServiceAccount robot", "User audited-sudoer"}
	wait(t, "the audit log names them", func() error {
		if got := removedSudoers(t, "audited-manager"); !slices.Equal(got, want) {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}

// auditEvent is what this test reads of an entry of the audit log.
type auditEvent struct {
	Stage, Verb      string
	ObjectRef        struct{ Resource string }
	ImpersonatedUser struct{ Username string }
	Annotations      map[string]string
}

// removedSudoers returns for each patch of an LNamespace by a user which sudoers it removed, as the audit
// log says.
func removedSudoers(t *testing.T, by string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var event auditEvent
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		if event.Stage == "ResponseComplete" && event.Verb == "patch" && event.ObjectRef.Resource == "lnamespaces" && event.ImpersonatedUser.Username == by {
			out = append(out, event.Annotations["lnamespace-lists/removed-sudoers"])
		}
	}
	return out
}

// hasEvent returns an error unless there is an event about an LNamespace with the reason and the word.
func (c *cluster) hasEvent(t *testing.T, name, reason, word string) error {
	list := &eventsv1.EventList{}
	if err := c.client.List(t.Context(), list, client.InNamespace("default")); err != nil {
		return err
	}
	for _, event := range list.Items {
		if event.Regarding.Name == name && event.Reason == reason && strings.Contains(event.Note, word) {
			return nil
		}
	}
	return fmt.Errorf("%d events, none of them", len(list.Items))
}
