// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
)

func init() { utilruntime.Must(authority.AddToScheme(legacyscheme.Scheme)) }

func attribute(name string) *authority.ProtectedAttribute {
	return &authority.ProtectedAttribute{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n"},
		Spec: v1alpha1.ProtectedAttributeSpec{
			AttributeKind: v1alpha1.AttributeLabel,
			AttributeName: "example.com/tier",
			Mode:          v1alpha1.ModeEnforce,
		},
	}
}

// forged returns a status with values that a client would like to set, but must not.
func forged() v1alpha1.ProtectedAttributeStatus {
	return v1alpha1.ProtectedAttributeStatus{
		NamespaceUID:    "forged",
		LastChange:      &v1alpha1.LastChange{User: "somebody else"},
		HolderCount:     5,
		AuditViolations: 5,
	}
}

func as(name string) context.Context {
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), "n")
	return genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: name})
}

func newStrategy() strategy {
	return strategy{legacyscheme.Scheme, names.SimpleNameGenerator, validation.Namespaced}
}

func namespaces(uid types.UID) *fake.Clientset {
	return fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: uid}})
}

// TestCreate holds that the status of a new attribute has the UID of its namespace and the name
// of its creator, and nothing that the client sent.
func TestCreate(t *testing.T) {
	a := attribute("tier")
	a.Status = forged()
	if _, err := setNamespaceUID(namespaces("real").CoreV1())(as("jane"), a, nil); err != nil {
		t.Fatal(err)
	}
	rest.FillObjectMetaSystemFields(a)
	if err := rest.BeforeCreate(newStrategy(), as("jane"), a); err != nil {
		t.Fatal(err)
	}
	if a.Status.LastChange == nil || a.Status.LastChange.Time.IsZero() {
		t.Fatalf("no time of the change: %v", a.Status.LastChange)
	}
	a.Status.LastChange.Time = metav1.Time{}
	want := v1alpha1.ProtectedAttributeStatus{NamespaceUID: "real",
		LastChange: &v1alpha1.LastChange{User: "jane", Generation: 1}}
	if diff := cmp.Diff(want, a.Status); diff != "" || a.Generation != 1 {
		t.Errorf("generation %d, status (-want +got):\n%s", a.Generation, diff)
	}
}

// TestCreateWithoutNamespace holds that no attribute is created in a namespace whose UID can't
// be read, and that the status of a cluster-wide attribute has no UID of a namespace.
func TestCreateWithoutNamespace(t *testing.T) {
	begin := setNamespaceUID(fake.NewClientset().CoreV1())
	if _, err := begin(as("jane"), attribute("tier"), nil); !apierrors.IsNotFound(err) {
		t.Errorf("no namespace: %v", err)
	}
	broken := fake.NewClientset()
	broken.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("storage is away")
	})
	if _, err := setNamespaceUID(broken.CoreV1())(as("jane"), attribute("tier"), nil); err == nil {
		t.Error("created without the UID of its namespace")
	}
	c := &authority.ClusterProtectedAttribute{Status: forged()}
	if _, err := begin(genericapirequest.NewContext(), c, nil); err != nil || c.Status.NamespaceUID != "" || c.Status.LastChange != nil {
		t.Errorf("status %v, error %v", c.Status, err)
	}
}

// TestUpdate holds that an update of the specification increments the generation and records the
// user, that another update does neither, and that both keep the rest of the status.
func TestUpdate(t *testing.T) {
	old := attribute("tier")
	old.ResourceVersion, old.UID, old.Generation = "1", "u", 3
	old.Status = v1alpha1.ProtectedAttributeStatus{NamespaceUID: "real", HolderCount: 1,
		LastChange: &v1alpha1.LastChange{User: "jane", Generation: 3}}

	same := old.DeepCopyObject().(*authority.ProtectedAttribute)
	same.Labels, same.Status, same.Generation = map[string]string{"a": "b"}, forged(), 7
	if err := rest.BeforeUpdate(newStrategy(), as("joe"), same, old); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(old.Status, same.Status); diff != "" || same.Generation != 3 {
		t.Errorf("generation %d, status (-old +new):\n%s", same.Generation, diff)
	}

	changed := old.DeepCopyObject().(*authority.ProtectedAttribute)
	changed.Spec.Mode, changed.Status = v1alpha1.ModeAudit, forged()
	if err := rest.BeforeUpdate(newStrategy(), as("joe"), changed, old); err != nil {
		t.Fatal(err)
	}
	if last := changed.Status.LastChange; changed.Generation != 4 || last.User != "joe" || last.Generation != 4 || changed.Status.NamespaceUID != "real" || changed.Status.HolderCount != 1 {
		t.Errorf("generation %d, last change %v, status %v", changed.Generation, last, changed.Status)
	}

	bad := old.DeepCopyObject().(*authority.ProtectedAttribute)
	bad.Spec.AttributeKind = "Taint"
	if err := rest.BeforeUpdate(newStrategy(), as("joe"), bad, old); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.attributeKind") {
		t.Errorf("invalid update: %v", err)
	}
}

// TestStatusUpdate holds that a client which may write the status changes only that, except the
// parts of it that the server owns.
func TestStatusUpdate(t *testing.T) {
	old := attribute("tier")
	old.ResourceVersion, old.UID, old.Generation = "1", "u", 3
	old.Status = v1alpha1.ProtectedAttributeStatus{NamespaceUID: "real",
		LastChange: &v1alpha1.LastChange{User: "jane", Generation: 3}}
	next := old.DeepCopyObject().(*authority.ProtectedAttribute)
	next.Labels, next.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
	next.Spec.Mode, next.Status, next.Generation = v1alpha1.ModeAudit, forged(), 9
	if err := rest.BeforeUpdate(statusStrategy{newStrategy()}, as("joe"), next, old); err != nil {
		t.Fatal(err)
	}
	want := old.DeepCopyObject().(*authority.ProtectedAttribute)
	want.Status.HolderCount, want.Status.AuditViolations = 5, 5
	if diff := cmp.Diff(want, next); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	next.Status.HolderCount = -1
	if err := rest.BeforeUpdate(statusStrategy{newStrategy()}, as("joe"), next, old); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "status.holderCount") {
		t.Errorf("invalid status: %v", err)
	}
}

// TestInNamespace holds that an attribute does not belong to a namespace with another UID than
// the recorded one, and that it does if either UID is unknown.
func TestInNamespace(t *testing.T) {
	for _, tc := range []struct {
		recorded, is types.UID
		want         bool
	}{{"a", "a", true}, {"a", "b", false}, {"", "b", true}, {"a", "", true}} {
		if got := InNamespace(&v1alpha1.ProtectedAttributeStatus{NamespaceUID: tc.recorded}, tc.is); got != tc.want {
			t.Errorf("recorded %q, is %q: got %t", tc.recorded, tc.is, got)
		}
	}
}

// TestGenerations holds that no client sets the generation, in any kind.
func TestGenerations(t *testing.T) {
	base := newStrategy()
	for name, tc := range map[string]struct {
		strategy rest.RESTUpdateStrategy
		obj      runtime.Object
	}{
		"an attribute":               {base, attribute("a")},
		"the status of an attribute": {statusStrategy{base}, attribute("a")},
		"a delegation":               {delegationStrategy{base}, delegationOf("a")},
		"a policy":                   {policyStrategy{base}, policyOf("a")},
		"fields":                     {fieldStrategy{base}, fieldsOf("a")},
		"the status of fields":       {fieldStatusStrategy{fieldStrategy{base}}, fieldsOf("a")},
	} {
		next := tc.obj.DeepCopyObject()
		tc.obj.(metav1.Object).SetGeneration(3)
		next.(metav1.Object).SetGeneration(9)
		tc.strategy.PrepareForUpdate(as("jane"), next, tc.obj)
		if got := next.(metav1.Object).GetGeneration(); got != 3 {
			t.Errorf("%s: generation %d", name, got)
		}
	}
}
