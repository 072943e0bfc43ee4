// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

func fieldsOf(name string) *authority.FieldPermission {
	return &authority.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.FieldPermissionSpec{
			Mode: v1alpha1.ModeAudit, Version: "v1",
			Fields: []v1alpha1.FieldEntry{
				{Path: ".spec.size", Permission: "example.com/size"},
				{Path: ".spec.color", Permission: "example.com/color", Excluded: true},
			},
		},
	}
}

// openFields opens the storage of FieldPermissions.
func openFields(t *testing.T, f *FieldPermissions) (fieldREST, statusREST) {
	t.Helper()
	store, status, err := newFieldPermissions(optionsOf{t}, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Destroy)
	until(t, func() bool { return store.Storage.Storage.ReadinessCheck() == nil })
	return store, status
}

// TestFieldPermissionRequests holds that a FieldPermission is prepared when its specification is
// written, and only then; that each change is reported, and each removal also before it happens; and
// that no client sets the status together with the specification.
func TestFieldPermissionRequests(t *testing.T) {
	var log []string
	var refusal error
	prepared := 0
	store, status := openFields(t, &FieldPermissions{
		Prepare: func(_ context.Context, written, stored *v1alpha1.FieldPermission) error {
			prepared++
			if written.Spec.Version == "" {
				written.Spec.Version = "v9"
			}
			return refusal
		},
		Changed: func(_ context.Context, changes []FieldChange, dryRun bool) {
			for _, c := range changes {
				text := "changed"
				for _, p := range []*v1alpha1.FieldPermission{c.Before, c.After} {
					if p == nil {
						text += " nothing"
					} else {
						text += fmt.Sprintf(" %s %s", p.Name, p.Spec.Mode)
					}
				}
				log = append(log, fmt.Sprintf("%s dry %v", text, dryRun))
			}
		},
		Observe: func(p *v1alpha1.FieldPermission, gone bool) {
			log = append(log, fmt.Sprintf("observe %s %s %s gone %v", p.Name, p.Spec.Version, p.Spec.Mode, gone))
		},
	})
	ctx := as("jane")
	expect := func(step string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, log); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
		log, prepared = nil, 0
	}
	create := func(p *authority.FieldPermission) (*authority.FieldPermission, error) {
		obj, err := store.Create(ctx, p, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return obj.(*authority.FieldPermission), nil
	}
	update := func(storage rest.Updater, f func(*authority.FieldPermission)) *authority.FieldPermission {
		t.Helper()
		info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			next := old.DeepCopyObject().(*authority.FieldPermission)
			f(next)
			return next, nil
		})
		obj, _, err := storage.Update(ctx, "widgets.example.com", info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc,
			false, &metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return obj.(*authority.FieldPermission)
	}

	refusal = errors.New("refused")
	if _, err := create(fieldsOf("widgets.example.com")); !errors.Is(err, refusal) {
		t.Errorf("created, though it can't be prepared: %v", err)
	}
	refusal = nil
	if prepared != 1 {
		t.Errorf("prepared %d times", prepared)
	}
	expect("refused")

	sent := fieldsOf("widgets.example.com")
	sent.Spec.Version, sent.Status.AuditViolations = "", 7
	made, err := create(sent)
	if err != nil {
		t.Fatal(err)
	}
	if s := made.Status; made.Generation != 1 || s.AuditViolations != 0 || s.LastChange.User != "jane" || made.Spec.Version != "v9" {
		t.Errorf("created %+v", made)
	}
	expect("created", "observe widgets.example.com v9 Audit gone false", "changed nothing widgets.example.com Audit dry false")

	made = update(store, func(p *authority.FieldPermission) {
		p.Labels, p.Status.AuditViolations = map[string]string{"a": "b"}, 7
	})
	if made.Generation != 1 || made.Status.AuditViolations != 0 || prepared != 0 {
		t.Errorf("a label is set: %+v", made)
	}
	expect("labelled", "observe widgets.example.com v9 Audit gone false")

	made = update(store, func(p *authority.FieldPermission) { p.Spec.Mode = v1alpha1.ModeEnforce })
	if made.Generation != 2 || made.Status.LastChange.Generation != 2 {
		t.Errorf("enforced: %+v", made)
	}
	expect("enforced", "observe widgets.example.com v9 Enforce gone false",
		"changed widgets.example.com Audit widgets.example.com Enforce dry false")

	made = update(status, func(p *authority.FieldPermission) {
		p.Spec.Mode, p.Status.AuditViolations, p.Status.LastChange, p.Labels = v1alpha1.ModeAudit, 7, nil, nil
	})
	if made.Spec.Mode != v1alpha1.ModeEnforce || made.Status.AuditViolations != 7 || made.Status.LastChange == nil || len(made.Labels) == 0 || prepared != 0 {
		t.Errorf("the status is written: %+v", made)
	}
	expect("status", "observe widgets.example.com v9 Enforce gone false")

	if _, err := create(fieldsOf("Widgets")); !apierrors.IsInvalid(err) {
		t.Errorf("a name that is no resource: %v", err)
	}
	log = nil
	dry := &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	if _, _, err := store.Delete(ctx, "widgets.example.com", rest.ValidateAllObjectFunc, dry); err != nil {
		t.Fatal(err)
	}
	expect("a dry run", "changed widgets.example.com Enforce nothing dry true")
	if _, _, err := store.Delete(ctx, "widgets.example.com", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("removed", "observe widgets.example.com v9 Enforce gone true", "changed widgets.example.com Enforce nothing dry false")

	if _, err := create(fieldsOf("gadgets.example.com")); err != nil {
		t.Fatal(err)
	}
	log = nil
	if _, err := store.DeleteCollection(ctx, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, &metainternalversion.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("all removed", "observe gadgets.example.com v1 Audit gone true", "changed gadgets.example.com Audit nothing dry false")
}

// TestFieldRoles holds who may write FieldPermissions and who bypasses them: nobody holds the manager's
// role, every controller of upstream and the scheduler bypass all, and nodes that of pods.
//
// Attack: a namespace admin, or an editor, sets the mode Audit or deletes the object
// Answer: the manager's role is bound to nobody and is in no other role
func TestFieldRoles(t *testing.T) {
	made := (&Provider{FieldPermissions: &FieldPermissions{}}).policy()
	var got []string
	for _, role := range made.ClusterRoles {
		if role.Labels["kubernetes.io/bootstrapping"] != "rbac-defaults" || role.Annotations[rbacv1.AutoUpdateAnnotationKey] != "true" {
			t.Errorf("%s is not kept up to date: %v %v", role.Name, role.Labels, role.Annotations)
		}
		labels := []string{"kubernetes.io/bootstrapping"}
		if role.Name == FieldViewRole {
			labels = append(labels, "rbac.authorization.k8s.io/aggregate-to-view")
		}
		if got := slices.Sorted(maps.Keys(role.Labels)); !slices.Equal(got, labels) {
			t.Errorf("%s has the labels %v, want %v", role.Name, got, labels)
		}
		for _, rule := range role.Rules {
			got = append(got, fmt.Sprint(role.Name, " ", rule.APIGroups, rule.Resources, rule.ResourceNames, rule.Verbs))
		}
	}
	want := []string{
		FieldViewRole + " [authority.kube-granular.dev] [fieldpermissions] [] [get list watch]",
		FieldManageRole + " [authority.kube-granular.dev] [fieldpermissions] [] [create delete deletecollection get list patch update watch]",
		FieldControllersRole + " [authority.kube-granular.dev] [fieldpermissions] [] [bypass]",
		FieldNodesRole + " [authority.kube-granular.dev] [fieldpermissions] [pods] [bypass]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bound := map[string][]string{}
	for _, binding := range made.ClusterRoleBindings {
		for _, s := range binding.Subjects {
			bound[binding.RoleRef.Name] = append(bound[binding.RoleRef.Name], s.Kind+" "+s.Namespace+" "+s.Name)
		}
	}
	if nodes := bound[FieldNodesRole]; len(bound) != 2 || !slices.Equal(nodes, []string{"Group  system:nodes"}) {
		t.Errorf("bound: %v", bound)
	}
	for _, name := range []string{
		"User  system:kube-controller-manager", "User  system:kube-scheduler", "ServiceAccount kube-system replicaset-controller",
		"ServiceAccount kube-system generic-garbage-collector", "ServiceAccount kube-system node-controller",
		"ServiceAccount kube-system namespace-controller", "ServiceAccount kube-system horizontal-pod-autoscaler",
		"ServiceAccount kube-system pvc-protection-controller", "ServiceAccount kube-system pv-protection-controller",
		"ServiceAccount kube-system bootstrap-signer", "ServiceAccount kube-system token-cleaner",
	} {
		if !slices.Contains(bound[FieldControllersRole], name) {
			t.Errorf("%s does not bypass", name)
		}
	}
	// Upstream binds these accounts too, to roles in kube-system. They are no controllers: nothing runs as them.
	for _, name := range []string{"ServiceAccount kube-system kube-controller-manager", "ServiceAccount kube-system kube-scheduler"} {
		if slices.Contains(bound[FieldControllersRole], name) {
			t.Errorf("%s bypasses", name)
		}
	}
	if once := slices.Compact(slices.Sorted(slices.Values(bound[FieldControllersRole]))); len(once) != len(bound[FieldControllersRole]) {
		t.Errorf("bound twice: %v", bound[FieldControllersRole])
	}
}
