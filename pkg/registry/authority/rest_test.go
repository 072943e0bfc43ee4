// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/pkg/apis/authority"
)

// TestStatusEndpoint holds that the endpoint of a status passes errors on, creates nothing, and owns
// only the status.
func TestStatusEndpoint(t *testing.T) {
	store, status := open(t, nil)
	ctx := as("jane")
	allow, allowUpdate := rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc
	if _, err := store.Create(ctx, attribute("a"), allow, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if obj, err := status.Get(ctx, "a", &metav1.GetOptions{}); err != nil || obj.(*authority.ProtectedAttribute).Name != "a" {
		t.Errorf("read: %v, %v", obj, err)
	}
	if _, err := status.Get(ctx, "nothing", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("nothing is read: %v", err)
	}
	if _, err := status.ConvertToTable(ctx, delegationOf("a"), nil); err == nil {
		t.Error("the table of protected attributes takes a delegation")
	}
	info := rest.DefaultUpdatedObjectInfo(attribute("nothing"))
	if _, _, err := status.Update(ctx, "nothing", info, allow, allowUpdate, true, &metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a status of nothing: %v", err)
	}
	for name, tc := range map[string]struct {
		endpoint rest.ResetFieldsStrategy
		resets   string
		keeps    string
	}{"attributes": {store, "status", "spec"}, "their status": {status, "spec", "status"}} {
		reset := tc.endpoint.GetResetFields()["authority.kube-granular.dev/v1alpha1"]
		if !reset.Has(fieldpath.MakePathOrDie(tc.resets)) || reset.Has(fieldpath.MakePathOrDie(tc.keeps)) {
			t.Errorf("%s reset %v", name, reset)
		}
	}

	// An update creates nothing unless it is an apply, and needs no version.
	if _, _, err := store.Update(ctx, "nothing", info, allow, allowUpdate, false, &metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an update of nothing: %v", err)
	}
	info = rest.DefaultUpdatedObjectInfo(attribute("a"))
	if _, created, err := store.Update(ctx, "a", info, allow, allowUpdate, false, &metav1.UpdateOptions{}); err != nil || created {
		t.Errorf("an update without a version: created %t, %v", created, err)
	}
}

// TestSelectableNamespace holds that only attributes of a namespace are selected by one.
func TestSelectableNamespace(t *testing.T) {
	for obj, want := range map[runtime.Object]bool{
		attribute("a"): true, &authority.ClusterProtectedAttribute{ObjectMeta: metav1.ObjectMeta{Name: "a"}}: false,
	} {
		if _, selectable, err := attributesOf(obj); err != nil || selectable.Has("metadata.namespace") != want {
			t.Errorf("%T: %v, %v", obj, selectable, err)
		}
	}
}

// optionsFunc makes storage options by a function.
type optionsFunc func() (generic.RESTOptions, error)

func (f optionsFunc) GetRESTOptions(schema.GroupResource, runtime.Object) (generic.RESTOptions, error) {
	return f()
}

// TestStorageOptions holds that objects are stored as JSON whatever the server's own codec is, that delegations that
// are read share what is equal, that the server's options do not change, and that there is no storage without them.
func TestStorageOptions(t *testing.T) {
	server := &storagebackend.ConfigForResource{Config: storagebackend.Config{Prefix: "/registry"}}
	got, err := jsonOptions{optionsFunc(func() (generic.RESTOptions, error) { return generic.RESTOptions{StorageConfig: server}, nil })}.
		GetRESTOptions(schema.GroupResource{Resource: "protectedattributes"}, nil)
	const want = "kube-granular/authority/protectedattributes"
	if err != nil || got.StorageConfig.Prefix != "/registry" || got.ResourcePrefix != want || server.Codec != nil {
		t.Fatal(got, err)
	}
	data, err := runtime.Encode(got.StorageConfig.Codec, attribute("a"))
	if err != nil || len(data) == 0 || data[0] != '{' || got.StorageConfig.EncodeVersioner == nil {
		t.Errorf("stored as %s, %v", data, err)
	}
	if data, err = runtime.Encode(got.StorageConfig.Codec, wide(1)); err != nil {
		t.Fatal(err)
	}
	if d := decoded(t, got.StorageConfig.Codec, data); &d.Spec.Rules[0] != &d.Status.Rules[0] {
		t.Error("the status has its own rules, which are equal")
	}
	lost := errors.New("lost")
	failing := jsonOptions{optionsFunc(func() (generic.RESTOptions, error) { return generic.RESTOptions{StorageConfig: server}, lost })}
	if _, err := failing.GetRESTOptions(schema.GroupResource{}, nil); !errors.Is(err, lost) {
		t.Errorf("without options: %v", err)
	}
}
