// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// cleanUp deletes objects at the end of a test.
func cleanUp(t *testing.T, objects ...client.Object) {
	t.Cleanup(func() {
		for _, object := range objects {
			if err := client.IgnoreNotFound(shared.client.Delete(context.Background(), object)); err != nil {
				t.Log(err)
			}
		}
	})
}

// holder binds a user to a new ClusterRole with one rule.
func holder(t *testing.T, name string, rule rbacv1.PolicyRule) client.Client {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}}
	create(t, shared.client, role, binding)
	cleanUp(t, role, binding)
	return shared.as(t, name)
}

// TestRevokedWithARefusedEntry checks that a user and a manager who leave a list lose what it gave although the server
// refuses the bindings, because of an entry that is new.
func TestRevokedWithARefusedEntry(t *testing.T) {
	lns := tenant("refusing")
	lns.Spec.Users = append(lns.Spec.Users, user("refusing-guest"))
	lns.Spec.Managers = append(lns.Spec.Managers, user("refusing-mia"))
	shared.make(t, lns)
	guest := right{"refusing-guest", nil, "create", "deployments", lns.Name, ""}
	mia := right{"refusing-mia", nil, "update", "lnamespaces", "", lns.Name}
	for _, r := range []right{guest, mia} {
		shared.allowed(t, r.name, r.groups, r.verb, r.resource, r.namespace, r.object)
	}
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "refusing"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule: admissionv1.Rule{APIGroups: []string{rbacv1.GroupName}, APIVersions: []string{"*"},
				Resources: []string{"rolebindings", "clusterrolebindings"}}}}}},
		Validations: []admissionv1.Validation{{Expression: "!has(object.subjects) || object.subjects.all(s, s.name != 'refusing-poison')"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	create(t, shared.client, policy, binding)
	cleanUp(t, policy, binding)
	poison := bindingTo("ClusterRole", "view", lns.Name, "poison", "refusing-poison")
	wait(t, "the policy refuses", func() error {
		if err := shared.client.Create(t.Context(), poison.DeepCopy(), client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("not refused: %v", err)
		}
		return nil
	})
	gone := func(list []v1alpha1.Subject, name string) []v1alpha1.Subject {
		return append(slices.DeleteFunc(list, func(s v1alpha1.Subject) bool { return s.Name == name }), user("refusing-poison"), user("refusing-next"))
	}
	before := lns.DeepCopy()
	lns.Spec.Users, lns.Spec.Managers = gone(lns.Spec.Users, guest.name), gone(lns.Spec.Managers, mia.name)
	if err := shared.client.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []right{guest, mia} {
		shared.refused(t, r.name, r.groups, r.verb, r.resource, r.namespace, r.object)
	}
	shared.allowed(t, "refusing-user", nil, guest.verb, guest.resource, guest.namespace, guest.object)
	shared.waitReason(t, lns, "GrantsFailed")
	// Without the entry, the others of the list get their rights.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) {
		for _, list := range []*[]v1alpha1.Subject{&s.Users, &s.Managers} {
			*list = slices.DeleteFunc(*list, func(s v1alpha1.Subject) bool { return s.Name == "refusing-poison" })
		}
	})
	shared.allowed(t, "refusing-next", nil, mia.verb, mia.resource, mia.namespace, mia.object)
}

// TestFormerManagersAddNobody checks that a manager whose entry ends can't remove it and use what is left of the right, while no
// controller takes it, to add itself without an end.
func TestFormerManagersAddNobody(t *testing.T) {
	lns := tenant("former")
	end := soon(3600)
	lns.Spec.Managers = append(lns.Spec.Managers, until("former-mia", end), until("former-sue", end))
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("former-sue"))
	shared.make(t, lns)
	shared.allowed(t, "former-mia", nil, "update", "lnamespaces", "", lns.Name)
	verbs := []string{"get", "update", "patch", names.FieldVerb(names.Managers)}
	rule := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"lnamespaces"}, Verbs: verbs}
	all := holder(t, "former-all", rule)
	rule.ResourceNames = []string{lns.Name}
	one := holder(t, "former-one", rule)
	for _, name := range []string{"former-all", "former-one"} {
		shared.allowed(t, name, nil, "patch", "lnamespaces", "", lns.Name)
	}
	if err := theController.kill(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var err error
		if theController, err = shared.startController(); err != nil {
			t.Fatal(err)
		}
		shared.refused(t, "former-mia", nil, "update", "lnamespaces", "", lns.Name)
	})
	mia, sue := shared.as(t, "former-mia"), shared.as(t, "former-sue")
	write := func(who client.Client, managers []v1alpha1.Subject, o ...client.PatchOption) error {
		after := lns.DeepCopy()
		after.Spec.Managers = managers
		return who.Patch(t.Context(), after, client.MergeFrom(lns), o...)
	}
	// An entry for ever in the list of sudoers, who may not change lists, does not count.
	if err := write(sue, append(slices.Clone(lns.Spec.Managers), user("former-sue")), client.DryRunAll); !forbidden(err) {
		t.Errorf("a sudoer for ever becomes a manager for ever: %v", err)
	}
	if err := write(sue, append(slices.Clone(lns.Spec.Managers), until("former-friend", end)), client.DryRunAll); err != nil {
		t.Errorf("a manager adds one with the same end: %v", err)
	}
	left := slices.DeleteFunc(slices.Clone(lns.Spec.Managers), func(s v1alpha1.Subject) bool { return s.Name == "former-mia" })
	if err := write(mia, left); err != nil {
		t.Fatalf("its own entry removed: %v", err)
	}
	if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
		t.Fatal(err)
	}
	for what, entry := range map[string]v1alpha1.Subject{
		"itself": user("former-mia"), "another": user("former-friend"), "itself with the same end": until("former-mia", end),
	} {
		with := append(slices.Clone(left), entry)
		for who, c := range map[string]client.Client{"mia": mia, "who may change this one": one} {
			if err := write(c, with, client.DryRunAll); !forbidden(err) {
				t.Errorf("%s adds %s: %v", who, what, err)
			}
		}
		if err := write(all, with, client.DryRunAll); err != nil {
			t.Errorf("who may change all adds %s: %v", what, err)
		}
	}
	if err := write(one, left[:len(left)-1], client.DryRunAll); err != nil {
		t.Errorf("who may change this one removes an entry: %v", err)
	}
}

// TestRequestsLeaveNothing checks that what somebody made with sudo on request is reported, or removed, when the time of
// the request is over, although its name stays in the list.
//
// Attack: a sudoer whose request is granted binds itself to the rules of sudo, and keeps them after the request
// Was: got through, and the condition Clean was True
// Answer: who has no sudo without a request has left when the request ends
// Held by: TestLeftoversAreListedOnceInAMoment
// Attack: a former sudoer makes a binding with the name of one of the controller's, which nobody looks at
// Was: got through, and the condition Clean was True
// Answer: only the bindings that the controller wants are its own
func TestRequestsLeaveNothing(t *testing.T) {
	for name, how := range map[string]v1alpha1.AtRevocation{
		"kept-remove": v1alpha1.RemoveLeftovers, "kept-report": v1alpha1.ReportLeftovers,
	} {
		t.Run(name, func(t *testing.T) {
			lns := approved(name)
			lns.Spec.Sudo.Approval, lns.Spec.Sudo.AtRevocation = "", how
			shared.make(t, lns)
			r := sudoRequest(lns, "r", "1h")
			shared.asks(t, shared.as(t, name+"-sudoer"), r, v1alpha1.RequestGranted)
			keep := bindingTo("ClusterRole", names.SudoRole, lns.Name, "keep", name+"-sudoer")
			sudo := shared.sudo(t, name+"-sudoer", lns.Name)
			wait(t, "sudo binds", func() error { return sudo.Create(t.Context(), keep.DeepCopy()) })
			// Its own permissions need no sudo any more.
			shared.allowed(t, name+"-sudoer", nil, "get", "secrets", lns.Name, "")
			if err := decides(t, shared.as(t, name+"-sudoer"), r, v1alpha1.Denied); err != nil {
				t.Fatal(err)
			}
			if how == v1alpha1.RemoveLeftovers {
				shared.gone(t, keep)
				shared.refused(t, name+"-sudoer", nil, "get", "secrets", lns.Name, "")
				return
			}
			reported := "{RoleBinding keep " + name + "-sudoer}"
			shared.reports(t, lns, "["+reported+"]")
			// By what it kept, it makes a binding with a name of the controller, which the tenant does not want.
			own := bindingTo("ClusterRole", names.SudoRole, lns.Name, names.SudoQuotasBinding, name+"-sudoer")
			create(t, shared.as(t, name+"-sudoer"), own)
			second := "{RoleBinding " + own.Name + " " + name + "-sudoer}"
			shared.reports(t, lns, "["+reported+" "+second+"]")
			if err := shared.client.Delete(t.Context(), keep); err != nil {
				t.Fatal(err)
			}
			shared.reports(t, lns, "["+second+"]")
		})
	}
}

// TestNewNamespacesBelongToNobody checks that only who may write the status of an LNamespace creates a Namespace that says to
// which LNamespace it belongs.
//
// Attack: a caller who may only create namespaces creates an LNamespace whose name is refused, because service accounts of
// that namespace have rights already, and then the namespace, with the annotation of one that the controller made
// Was: got through, and the caller had the rights of these service accounts
// Answer: 403; and the controller checks the name, whoever made the namespace
func TestNewNamespacesBelongToNobody(t *testing.T) {
	creator := holder(t, "preparing", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create"}})
	shared.allowed(t, "preparing", nil, "create", "namespaces", "", "")
	robot := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "preparing-robot"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "prepared", Name: "robot"}}}
	create(t, shared.client, robot)
	cleanUp(t, robot)
	lns := tenant("prepared")
	create(t, creator, lns)
	shared.waitReason(t, lns, "NameClaimed")
	prepared := func(labels, annotations map[string]string, owners ...metav1.OwnerReference) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lns.Name, Labels: labels, Annotations: annotations, OwnerReferences: owners}}
	}
	uid := string(lns.UID)
	for what, ns := range map[string]*corev1.Namespace{
		"made for it":      prepared(nil, map[string]string{names.CreatedFor: uid}),
		"handed over":      prepared(nil, map[string]string{names.AdoptedBy: uid}),
		"labelled":         prepared(map[string]string{names.Tenant: lns.Name}, nil),
		"of the manager":   prepared(map[string]string{names.ManagedBy: names.Manager}, nil),
		"owned":            prepared(nil, nil, metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace", Name: lns.Name, UID: lns.UID}),
		"of a later owner": prepared(nil, map[string]string{names.CreatedFor: "x"}),
	} {
		if err := creator.Create(t.Context(), ns, client.DryRunAll); !forbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := creator.Create(t.Context(), prepared(map[string]string{"a": "b"}, map[string]string{"c": "d"}), client.DryRunAll); err != nil {
		t.Errorf("without: %v", err)
	}
	// An administrator's namespace of before does not skip the check of the name.
	ns := prepared(nil, map[string]string{names.CreatedFor: uid})
	create(t, shared.client, ns)
	cleanUp(t, ns, lns)
	old := lns.DeepCopy()
	lns.Spec.Users = append(lns.Spec.Users, user("prepared-more"))
	if err := shared.client.Patch(t.Context(), lns, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
	wait(t, "the controller has seen the change", func() error {
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(lns.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != lns.Generation || ready.Reason != "NameClaimed" {
			return fmt.Errorf("ready: %+v", ready)
		}
		return nil
	})
	shared.refused(t, "prepared-user", nil, "create", "deployments", lns.Name, "")
	// Handed over by an administrator, it belongs to the tenant.
	before := ns.DeepCopy()
	ns.Annotations[names.AdoptedBy] = uid
	if err := shared.client.Patch(t.Context(), ns, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	shared.allowed(t, "prepared-user", nil, "create", "deployments", lns.Name, "")
}
