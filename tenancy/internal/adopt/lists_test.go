// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"reflect"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestDiffers sets each field of the specification of an LNamespace in turn, and checks that the difference is found, and where.
//
// Attack: before an administrator hands a namespace over to an LNamespace that needs approval for sudo, a sudoer creates the
// LNamespace without that
// Was: got through
// Answer: refused, and nothing is handed over
func TestDiffers(t *testing.T) {
	if field := differs(v1alpha1.LNamespaceSpec{}, v1alpha1.LNamespaceSpec{
		DeletionPolicy: v1alpha1.DeleteNamespace, Sudo: v1alpha1.Sudo{AtRevocation: v1alpha1.ReportLeftovers}}); field != "" {
		t.Errorf("the defaults differ in %s", field)
	}
	var walk func(path string, index []int)
	walk = func(path string, index []int) {
		now, want := v1alpha1.LNamespaceSpec{}, v1alpha1.LNamespaceSpec{}
		field := reflect.ValueOf(&want).Elem().FieldByIndex(index)
		if field.Kind() == reflect.Struct {
			for i := range field.NumField() {
				name, _, _ := strings.Cut(field.Type().Field(i).Tag.Get("json"), ",")
				walk(path+"."+name, append(append([]int(nil), index...), i))
			}
			return
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Map:
			field.Set(reflect.MakeMap(field.Type()))
			field.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf(v1alpha1.BillingLabel("v")))
		default:
			t.Fatalf("%s: a field of the kind %s", path, field.Kind())
		}
		if got := differs(now, want); got != path {
			t.Errorf("%s: found %q", path, got)
		}
	}
	for i := range reflect.TypeFor[v1alpha1.LNamespaceSpec]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[v1alpha1.LNamespaceSpec]().Field(i).Tag.Get("json"), ",")
		walk("spec."+name, []int{i})
	}
}

// TestOwnNames checks which bindings of a namespace the controller would replace.
func TestOwnNames(t *testing.T) {
	for name, want := range map[string]bool{
		names.UsersBinding: true, names.SudoBinding: true, names.SudoQuotasBinding: true, names.SudoNamespaceBinding: true,
		names.RequestBinding: true, names.ApproveBinding: true, "edit": false, names.ManagerRole("team"): false,
	} {
		if got := hasOwnName(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
