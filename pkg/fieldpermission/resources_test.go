// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission_test

import (
	"context"
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/common"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/fieldpermission"
	. "kube-granular.dev/pkg/fieldpermission/fieldpermissiontest"
)

// TestUnknownResources holds that a FieldPermission is not stored if the server can't find out whether it
// stores objects of the resource: that is no resource without a schema.
func TestUnknownResources(t *testing.T) {
	lost := errors.New("lost")
	undiscovered, undefined := Resources(Definition(t, Applications)), Resources(Definition(t, Applications))
	undiscovered.Discover = func(string) (*metav1.APIResourceList, error) { return nil, lost }
	undefined.Definition = func(context.Context, string) (*apiextensionsv1.CustomResourceDefinition, error) { return nil, lost }
	services := schema.GroupResource{Resource: "services"}
	for name, tc := range map[string]struct {
		resources *fieldpermission.Resources
		resource  schema.GroupResource
	}{
		"a group that can't be discovered": {undiscovered, services},
		"a definition that can't be read":  {undefined, schema.GroupResource{Group: "argoproj.io", Resource: "applications"}},
	} {
		if found, err := tc.resources.Find(t.Context(), tc.resource); !errors.Is(err, lost) || found != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		author := fieldpermission.Author{Resources: tc.resources}
		p := object(tc.resource.String(), "v1", auditing, field(".spec.project", "example.com/x", false))
		if err := author.Prepare(t.Context(), p, nil); !apierrors.IsInternalError(err) {
			t.Errorf("%s: stored: %v", name, err)
		}
	}
	unwritten := Resources()
	unwritten.OpenAPI = &common.OpenAPIV3Config{
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return nil },
	}
	author := fieldpermission.Author{Resources: unwritten}
	p := object("services", "v1", auditing, field(".spec.type", "example.com/x", false))
	if err := author.Prepare(t.Context(), p, nil); !apierrors.IsInternalError(err) {
		t.Errorf("stored, and the schema can't be read: %v", err)
	}
	found, err := Resources().FindBuiltIn(services)
	if err != nil || found == nil {
		t.Fatal(found, err)
	}
	if _, err := found.Models("v9"); err == nil {
		t.Error("definitions of a version that does not exist")
	}
	if made, err := fieldpermission.CustomResource(Definition(t, Applications)).Models("v9"); err == nil {
		t.Errorf("definitions of a version that a custom resource does not have: %d", len(made))
	}
	again := Resources()
	for range 2 { // the second time it is known
		if found, err := again.FindBuiltIn(services); err != nil || found == nil || found.Kind != "Service" {
			t.Errorf("services: %v, %v", found, err)
		}
	}
	for _, resource := range []string{"nothing", "widgets"} {
		if found, err := again.FindBuiltIn(schema.GroupResource{Resource: resource}); found != nil || err != nil {
			t.Errorf("%s: %v, %v", resource, found, err)
		}
	}
}

// TestLaterDiscovered holds that a built-in resource is found as soon as the server serves it, although it was looked
// for before.
func TestLaterDiscovered(t *testing.T) {
	resources, served := Resources(), false
	discover := resources.Discover
	resources.Discover = func(groupVersion string) (*metav1.APIResourceList, error) {
		if !served {
			return &metav1.APIResourceList{}, nil
		}
		return discover(groupVersion)
	}
	for range 2 {
		if found, err := resources.FindBuiltIn(schema.GroupResource{Resource: "services"}); err != nil || (found != nil) != served {
			t.Errorf("served %t: %v, %v", served, found, err)
		}
		served = true
	}
}

// TestTemplateWarning holds that the author of an exclusion in the specification of pods is told of pod
// templates, and no other author is.
func TestTemplateWarning(t *testing.T) {
	for name, tc := range map[string]struct {
		object *v1alpha1.FieldPermission
		want   int
	}{
		"an exclusion":     {object("pods", "v1", auditing, field(".spec.hostNetwork", "example.com/a", true)), 1},
		"a name":           {object("pods", "v1", auditing, field(".spec.hostNetwork", "example.com/a", false)), 0},
		"outside":          {object("pods", "v1", auditing, field(".metadata.finalizers", "example.com/a", true)), 0},
		"of other objects": {object("services", "v1", auditing, field(".spec.type", "example.com/a", true)), 0},
		"a name beside one": {object("pods", "v1", auditing, field(".spec.a", "example.com/a", false),
			field(".metadata.finalizers", "example.com/b", true)), 0},
	} {
		var warnings heard
		author := fieldpermission.Author{Resources: Resources()}
		author.Changed(warning.WithWarningRecorder(t.Context(), &warnings), []fieldpermission.Change{{After: tc.object}}, false)
		if len(warnings) != tc.want {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

// TestIndexRuns holds that the index knows all FieldPermissions once Run has returned without an error, and
// that it does not if the server ends before.
func TestIndexRuns(t *testing.T) {
	stored := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			p := (*authority.FieldPermission)(object(argo, "v1", auditing, field(".spec.project", "example.com/x", false)))
			p.ResourceVersion, p.UID = "1", "u"
			return &authority.FieldPermissionList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []authority.FieldPermission{*p}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
	ended, end := context.WithCancel(t.Context())
	end()
	x := fieldpermission.NewIndex()
	if err := x.Run(ended, stored); err == nil {
		t.Error("the server has ended, and the index is complete")
	}
	if _, synced := x.Entries("argoproj.io", "applications"); synced {
		t.Error("complete although the server has ended")
	}
	x = fieldpermission.NewIndex()
	if err := x.Run(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if entries, synced := x.Entries("argoproj.io", "applications"); entries == nil || !synced {
		t.Errorf("%v, complete: %t", entries, synced)
	}
}
