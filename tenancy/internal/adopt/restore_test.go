// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/adopt"
	"kube-granular.dev/tenancy/internal/names"
)

// backedUp returns the LNamespace web as a backup has it, with a change.
func backedUp(change func(*v1alpha1.LNamespace)) *v1alpha1.LNamespace {
	t := &v1alpha1.LNamespace{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "before"},
		Spec:       v1alpha1.LNamespaceSpec{Sudoers: []v1alpha1.Subject{{Kind: "User", Name: "ada"}}},
		Status: v1alpha1.LNamespaceStatus{NamespaceUID: "namespace",
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionNamespaceReady, Status: metav1.ConditionTrue, Reason: "Exists"}}}}
	change(t)
	return t
}

// TestRestore checks which LNamespaces of a backup are made again, with their namespaces handed over to them.
//
// Attack: a person creates an LNamespace with the name of a namespace of others. It gives no rights, but is in the backup, and
// the restore hands the namespace over to it
// Was: got through
// Answer: only an LNamespace is restored of whose namespace the controller recorded that it was its own
// Held by: TestRestoreOfThePage
// Attack: after the definition of LNamespaces was deleted, a person creates the LNamespace of somebody else first, with
// herself in a list, or with an owner
// Was: got through
// Answer: not handed over; an LNamespace that is as in the backup is
// Attack: a person had a tenant of the name of an add-on, such as monitoring, in the old cluster; the new cluster has the
// add-on's namespace of that name, and all namespaces of the backup are restored with other UIDs
// Was: got through, she had sudo in the namespace of the add-on
// Answer: refused, because no annotation of the namespace has the UID that her LNamespace has in the backup
// Attack: the LNamespace and its namespace were deleted, and a person creates both again, with herself in a list, before the
// administrator restores the contents
// Was: got through: the plan said adopted, and the contents were hers
// Answer: refused, naming the field that is not as in the backup; an LNamespace of the UID in the backup is the same
func TestRestore(t *testing.T) {
	same := func(*v1alpha1.LNamespace) {}
	made := func(change func(*v1alpha1.LNamespace)) *v1alpha1.LNamespace {
		t := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "tenant"}, Spec: backedUp(same).Spec}
		change(t)
		return t
	}
	owning := func(t *v1alpha1.LNamespace) { t.Status.NamespaceUID = "namespace" }
	gone := func(t *v1alpha1.LNamespace) { t.Status.NamespaceUID = "gone" }
	belonging := func(pairs ...string) func(*corev1.Namespace) {
		return func(ns *corev1.Namespace) {
			for pair := range slices.Chunk(pairs, 2) {
				metav1.SetMetaDataAnnotation(&ns.ObjectMeta, pair[0], pair[1])
			}
		}
	}
	for name, tc := range map[string]struct {
		backup  func(*v1alpha1.LNamespace)
		cluster *v1alpha1.LNamespace
		space   func(*corev1.Namespace)
		others  bool
		adopted bool // before
		refused string
	}{
		"of before": {},
		"it never had a namespace": {backup: func(t *v1alpha1.LNamespace) { t.Status.NamespaceUID = "" },
			refused: "status.namespaceUID is missing"},
		"not its own any more": {backup: func(t *v1alpha1.LNamespace) { t.Status.Conditions[0].Status = metav1.ConditionFalse },
			refused: "NamespaceReady is not True"},
		"not known whether its own": {backup: func(t *v1alpha1.LNamespace) { t.Status.Conditions[0].Status = metav1.ConditionUnknown },
			refused: "NamespaceReady is not True"},
		"no conditions yet":       {backup: func(t *v1alpha1.LNamespace) { t.Status.Conditions = nil }},
		"another condition alone": {backup: func(t *v1alpha1.LNamespace) { t.Status.Conditions[0].Type = v1alpha1.ConditionReady }},
		"no status": {backup: func(t *v1alpha1.LNamespace) { t.Status = v1alpha1.LNamespaceStatus{} },
			refused: "status.namespaceUID is missing"},
		"it was being deleted": {backup: func(t *v1alpha1.LNamespace) { t.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
			refused: "metadata.deletionTimestamp"},
		"no backup":                     {backup: func(t *v1alpha1.LNamespace) { t.UID = "" }, refused: "metadata.uid is missing"},
		"another namespace":             {backup: gone, refused: "--restored-namespaces"},
		"restored, made for it":         {backup: gone, others: true, space: belonging(names.CreatedFor, "before")},
		"restored, handed over to it":   {backup: gone, others: true, space: belonging(names.AdoptedBy, "before")},
		"restored, without annotations": {backup: gone, others: true, refused: "use adopt"},
		"restored, with the label alone": {backup: gone, others: true,
			space: func(ns *corev1.Namespace) { ns.Labels = map[string]string{names.Tenant: "web"} }, refused: "use adopt"},
		"restored, made for another": {backup: gone, others: true, space: belonging(names.CreatedFor, "another"),
			refused: "belongs to another LNamespace"},
		"restored, made for it, handed over to another": {backup: gone, others: true,
			space: belonging(names.CreatedFor, "before", names.AdoptedBy, "another"), refused: "belongs to another LNamespace"},
		"not restored: the same":                            {others: true},
		"made for it before":                                {space: belonging(names.CreatedFor, "before")},
		"handed over to it before":                          {space: belonging(names.AdoptedBy, "before")},
		"handed over to it before, made for an earlier one": {space: belonging(names.CreatedFor, "earlier", names.AdoptedBy, "before")},
		"made for it before, handed over to another": {space: belonging(names.CreatedFor, "before", names.AdoptedBy, "another"),
			refused: "belongs to another LNamespace"},
		"restored, handed over to it, made for an earlier one": {backup: gone, others: true,
			space: belonging(names.CreatedFor, "earlier", names.AdoptedBy, "before")},
		"made for another": {space: belonging(names.CreatedFor, "another"), refused: "belongs to another LNamespace"},
		"labelled":         {space: func(ns *corev1.Namespace) { ns.Labels = map[string]string{names.Tenant: "web"} }},
		"labelled by another": {space: func(ns *corev1.Namespace) { ns.Labels = map[string]string{names.Tenant: "other"} },
			refused: "belongs to another LNamespace"},
		"created already": {cluster: made(same)},
		"created with another sudoer": {cluster: made(func(t *v1alpha1.LNamespace) { t.Spec.Sudoers[0].Name = "mallory" }),
			refused: "another spec.sudoers than in the backup"},
		"created with more": {cluster: made(func(t *v1alpha1.LNamespace) { t.Spec.Users = t.Spec.Sudoers }),
			refused: "another spec.users"},
		"created for another account": {cluster: made(func(t *v1alpha1.LNamespace) { t.Spec.Billing.Account = "1" }),
			refused: "another spec.billing.account"},
		"created with an owner": {cluster: made(func(t *v1alpha1.LNamespace) {
			t.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}}
		}), refused: "with owners"},
		"restored already": {cluster: made(owning), adopted: true},
		"never lost, and changed since": {adopted: true,
			cluster: made(func(t *v1alpha1.LNamespace) { owning(t); t.UID = "before"; t.Spec.Sudoers[0].Name = "bob" })},
		"both recreated by somebody else": {cluster: made(func(t *v1alpha1.LNamespace) { owning(t); t.Spec.Sudoers[0].Name = "mallory" }),
			refused: "whose spec.sudoers is not as in the backup"},
		"both recreated for another account": {cluster: made(func(t *v1alpha1.LNamespace) { owning(t); t.Spec.Billing.Account = "1" }),
			refused: "whose spec.billing.account is not as in the backup"},
		"both recreated, with an owner": {cluster: made(func(t *v1alpha1.LNamespace) {
			owning(t)
			t.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}}
		}), refused: "metadata.ownerReferences"},
		"recreated, and the backup has no UID": {backup: func(t *v1alpha1.LNamespace) { t.UID = "" },
			cluster: made(func(t *v1alpha1.LNamespace) { owning(t); t.Spec.Users = t.Spec.Sudoers }), refused: "whose spec.users"},
	} {
		if tc.backup == nil {
			tc.backup = same
		}
		text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{backedUp(tc.backup)}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "tenants.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		wishes, err := adopt.Read([]string{file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var objects []client.Object
		if tc.cluster != nil {
			objects = append(objects, tc.cluster)
		}
		api := world(t, nil, objects...)
		ns := &corev1.Namespace{}
		if err := api.Get(t.Context(), client.ObjectKey{Name: "web"}, ns); err != nil {
			t.Fatal(err)
		}
		if tc.space != nil {
			tc.space(ns)
			if err := api.Update(t.Context(), ns); err != nil {
				t.Fatal(err)
			}
		}
		p, err := adopt.Restore(t.Context(), api, wishes, adopt.RestoreOptions{
			IsReserved: func(string) bool { return false }, OtherNamespaces: tc.others})
		if err != nil {
			t.Fatal(err)
		}
		var table, out bytes.Buffer
		if err := p.WriteRestore(&table, true); err != nil || !strings.Contains(table.String(), tc.refused) ||
			tc.refused == "" && !tc.adopted && !strings.Contains(table.String(), "ada") {
			t.Errorf("%s: %v\n%s", name, err, table.String())
		}
		if err := p.Apply(t.Context(), api, &out); (err != nil) != (tc.refused != "") || !strings.Contains(out.String(), tc.refused) {
			t.Errorf("%s: %v, %s", name, err, out.String())
		}
		if err := api.Get(t.Context(), client.ObjectKey{Name: "web"}, ns); err != nil {
			t.Fatal(err)
		}
		if got, want := ns.Annotations[names.AdoptedBy] == "tenant", tc.refused == "" && !tc.adopted; got != want {
			t.Errorf("%s: handed over is %t", name, got)
		}
		lns := &v1alpha1.LNamespace{}
		if err := api.Get(t.Context(), client.ObjectKey{Name: "web"}, lns); tc.cluster == nil && (err == nil) != (tc.refused == "") {
			t.Errorf("%s: the LNamespace: %v", name, err)
		} else if tc.cluster == nil && err == nil && lns.Annotations[names.Allowed] != "true" {
			t.Errorf("%s: its name is not allowed", name)
		}
	}
}

// TestRestoreSparesTheSystem checks that no namespace of the system is handed over, whatever a backup says.
func TestRestoreSparesTheSystem(t *testing.T) {
	api := world(t, nil)
	backup := backedUp(func(*v1alpha1.LNamespace) {})
	wish := adopt.Wish{Name: "web", Tenant: backup, Backup: backup}
	for _, reserved := range []bool{true, false} {
		p, err := adopt.Restore(t.Context(), api, []adopt.Wish{wish}, adopt.RestoreOptions{IsReserved: func(string) bool { return reserved }})
		if err != nil || (p.Namespaces[0].State == adopt.Refused) != reserved {
			t.Errorf("%t: %v, %+v", reserved, err, p.Namespaces)
		}
	}
}

// TestRestoreTwice checks that a tenant is restored again from a backup that was made after the first restore, and that
// adopt takes a namespace that was handed over for its LNamespace's own.
func TestRestoreTwice(t *testing.T) {
	api := world(t, nil)
	ns := &corev1.Namespace{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: "web"}, ns); err != nil {
		t.Fatal(err)
	}
	ns.Annotations = map[string]string{names.CreatedFor: "before"}
	if err := api.Update(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	restore := func(uid types.UID) string {
		backup := backedUp(func(t *v1alpha1.LNamespace) { t.UID = uid })
		tenant := &v1alpha1.LNamespace{TypeMeta: backup.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: backup.Spec}
		p, err := adopt.Restore(t.Context(), api, []adopt.Wish{{Name: "web", Tenant: tenant, Backup: backup}},
			adopt.RestoreOptions{IsReserved: func(string) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_ = p.Apply(t.Context(), api, &out)
		return out.String()
	}
	accident := func() {
		if err := api.DeleteAllOf(t.Context(), &v1alpha1.LNamespace{}); err != nil {
			t.Fatal(err)
		}
	}
	if out := restore("before"); !strings.Contains(out, "web adopted\n") {
		t.Errorf("the first: %s", out)
	}
	if n := plan(t, api).Namespaces[0]; n.State != adopt.Adopted {
		t.Errorf("adopt: %s, %s", n.State, n.Reason)
	}
	accident()
	if out := restore("before"); !strings.Contains(out, "belongs to another LNamespace") {
		t.Errorf("an old backup: %s", out)
	}
	if out := restore("tenant"); !strings.Contains(out, "web adopted\n") {
		t.Errorf("the second: %s", out)
	}
}

// TestRestoreKeepsTheAccount checks that a tenant is not restored with another account than in the backup, which a webhook filled
// in, and that the plan says so.
func TestRestoreKeepsTheAccount(t *testing.T) {
	for name, tc := range map[string]struct {
		account          string
		planned, applied bool // whether the webhook is there
		planSays, says   string
	}{
		"no webhook":            {planSays: "hand over", says: "web adopted"},
		"none in the backup":    {planned: true, applied: true, planSays: "another spec.billing.account than", says: "web refused"},
		"one in the backup":     {account: "9", planned: true, applied: true, planSays: "hand over", says: "web adopted"},
		"a webhook since then":  {applied: true, planSays: "hand over", says: "spec.billing.account is not as planned"},
		"a webhook of the past": {planned: true, planSays: "set it in the file", says: "web refused"},
	} {
		filled := tc.planned
		api := interceptor.NewClient(world(t, nil).(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, api client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if lns, ok := object.(*v1alpha1.LNamespace); ok && filled && lns.Spec.Billing.Account == "" {
					lns.Spec.Billing.Account = "4711"
				}
				return api.Create(ctx, object, options...)
			}})
		backup := backedUp(func(t *v1alpha1.LNamespace) { t.Spec.Billing.Account = tc.account })
		tenant := &v1alpha1.LNamespace{TypeMeta: backup.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: backup.Spec}
		p, err := adopt.Restore(t.Context(), api, []adopt.Wish{{Name: "web", Tenant: tenant, Backup: backup}},
			adopt.RestoreOptions{IsReserved: func(string) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		var table, out bytes.Buffer
		if err := p.WriteRestore(&table, true); err != nil || !strings.Contains(table.String(), tc.planSays) {
			t.Errorf("%s: %v\n%s", name, err, table.String())
		}
		filled = tc.applied
		err = p.Apply(t.Context(), api, &out)
		adopted := strings.Contains(tc.says, "adopted")
		if (err == nil) != adopted || !strings.Contains(out.String(), tc.says) {
			t.Errorf("%s: %v, %s", name, err, out.String())
		}
		ns := &corev1.Namespace{}
		if err := api.Get(t.Context(), client.ObjectKey{Name: "web"}, ns); err != nil || (ns.Annotations[names.AdoptedBy] != "") != adopted {
			t.Errorf("%s: %v, annotations %v", name, err, ns.Annotations)
		}
	}
}
