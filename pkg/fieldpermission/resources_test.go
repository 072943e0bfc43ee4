// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission_test

import (
	"context"
	"errors"
	"maps"
	"strings"
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
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/fieldpermission"
	"kube-granular.dev/pkg/fieldpermission/entry"
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
		author := fieldpermission.Author{Resources: tc.resources, Own: noEntries}
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
	// Entries of pods hold in kinds with a pod template too, which are read later.
	for name, spoil := range map[string]func(*fieldpermission.Resources){
		"a kind with a template that can't be discovered": func(r *fieldpermission.Resources) {
			discover := r.Discover
			r.Discover = func(groupVersion string) (*metav1.APIResourceList, error) {
				if groupVersion == "v1" {
					return discover(groupVersion)
				}
				return nil, lost
			}
		},
		"a kind with a template whose schema can't be read": func(r *fieldpermission.Resources) {
			config := *r.OpenAPI
			r.OpenAPI, config.Definitions = &config, maps.Clone(config.Definitions)
			maps.DeleteFunc(config.Definitions, func(name string, _ common.OpenAPIDefinition) bool { return strings.Contains(name, "apps") })
		},
	} {
		author := fieldpermission.Author{Resources: Resources(), Own: noEntries}
		spoil(author.Resources)
		p := object("pods", "v1", auditing, field(".spec.hostNetwork", "example.com/x", false))
		if err := author.Prepare(t.Context(), p, nil); !apierrors.IsInternalError(err) {
			t.Errorf("%s: stored: %v", name, err)
		}
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

// TestTemplates holds what of pods and of deployments can't hold together, and that authors are told of fields that both
// close.
//
// Attack: entries of deployments make the tree of their kind so deep, or use such names, that those of pods can't hold there
// Answer: both are checked together when either is written
func TestTemplates(t *testing.T) {
	const template = ".spec.template.spec"
	pods := func(fields ...v1alpha1.FieldEntry) *v1alpha1.FieldPermission {
		return object("pods", "v1", auditing, fields...)
	}
	own := func(fields ...v1alpha1.FieldEntry) *v1alpha1.FieldPermission {
		return object("deployments.apps", "v1", auditing, fields...)
	}
	for name, tc := range map[string]struct {
		stored, written *v1alpha1.FieldPermission
		want            string
		warned          string
	}{
		"of pods alone":             {written: pods(field(".spec.hostNetwork", "example.com/a", true))},
		"another field":             {stored: own(field(".spec.minReadySeconds", "example.com/r", true)), written: pods(field(".spec.hostNetwork", "example.com/a", true))},
		"a second verb":             {stored: own(field(template+".hostNetwork", "example.com/b", true)), written: pods(field(".spec.hostNetwork", "example.com/a", true)), warned: template + ".hostNetwork of deployments.apps"},
		"a second verb, inverse":    {stored: pods(field(".spec.hostNetwork", "example.com/a", true)), written: own(field(".spec.template", "example.com/b", true)), warned: template + ".hostNetwork of deployments.apps"},
		"the same verb":             {stored: own(field(template+".hostNetwork", "example.com/a", true)), written: pods(field(".spec.hostNetwork", "example.com/a", true))},
		"a name":                    {stored: own(field(template+".hostNetwork", "example.com/b", false)), written: pods(field(".spec.hostNetwork", "example.com/a", true))},
		"a name with that verb":     {stored: own(field(template+".dnsPolicy", "example.com/a", false)), written: pods(field(".spec.hostNetwork", "example.com/a", true)), want: "spec.fields[0].excluded: in deployments.apps: another entry has the same permission"},
		"the same, inverse":         {stored: pods(field(".spec.hostNetwork", "example.com/a", true)), written: own(field(".spec.minReadySeconds", "example.com/r", true), field(template+".dnsPolicy", "example.com/a", false)), want: "spec.fields[1].excluded: in deployments.apps"},
		"a name like a scoped one":  {stored: own(field(".spec.minReadySeconds", "example.com/podTemplateA", true)), written: pods(field(".spec.hostNetwork", "example.com/a", true)), want: "spec.fields[0].permission: in deployments.apps: inside a scope the name is the same"},
		"a name that is too long":   {written: pods(field(".spec.hostNetwork", "example.com/a"+strings.Repeat("b", 58), true)), want: "spec.fields: in deployments.apps: the entries can't be enforced"},
		"outside of templates":      {written: pods(field(".metadata.ownerReferences", "example.com/a"+strings.Repeat("b", 58), true)), warned: "job-controller is not stopped"},
		"of another kind":           {stored: pods(field(".spec.hostNetwork", "example.com/a", true)), written: object("services", "v1", auditing, field(".spec.externalIPs", "example.com/a", false))},
		"below the second of three": {stored: own(field(template, "example.com/b", true), field(template+".dnsConfig", "example.com/c", true)), written: pods(field(".metadata.ownerReferences", "example.com/o", true), field(".spec.dnsConfig.nameservers", "example.com/a", true)), warned: ".dnsConfig.nameservers of deployments.apps"},
	} {
		t.Run(name, func(t *testing.T) {
			author := fieldpermission.Author{Resources: Resources(), Own: func(resource schema.GroupResource) *overlay.Entries {
				if tc.stored == nil || tc.stored.Name != resource.String() {
					return nil
				}
				entries, _ := entry.Parse(tc.stored)
				return entries
			}}
			err := author.Prepare(t.Context(), tc.written, nil)
			switch place, message, _ := strings.Cut(tc.want, ": "); {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), message)):
				t.Errorf("%v, want %s", err, tc.want)
			}
			var warnings heard
			author.Changed(warning.WithWarningRecorder(t.Context(), &warnings), []fieldpermission.Change{{After: tc.written}}, false)
			if all := strings.Join(warnings, "; "); (all != "") != (tc.warned != "") || !strings.Contains(all, tc.warned) {
				t.Errorf("warned %q, want %q", all, tc.warned)
			}
		})
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
