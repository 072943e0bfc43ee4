// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
)

// only is an API resource configuration in which the resources with these names are enabled.
type only struct {
	nothing
	names []string
}

func (o only) ResourceEnabled(r schema.GroupVersionResource) bool {
	return r.Group == v1alpha1.GroupName && slices.Contains(o.names, r.Resource)
}

var all = only{names: []string{"protectedattributes", "clusterprotectedattributes", delegationsPlural, policiesPlural, fieldsPlural}}

func without(name string) only {
	return only{names: slices.DeleteFunc(slices.Clone(all.names), func(n string) bool { return n == name })}
}

// broken are storage options that fail for one resource.
type broken struct {
	generic.RESTOptionsGetter
	resource string
}

func (b broken) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	if resource.Resource == b.resource {
		return generic.RESTOptions{}, errors.New("no such storage")
	}
	return b.RESTOptionsGetter.GetRESTOptions(resource, example)
}

// TestServed holds which resources the server serves: those that are enabled and that the provider
// was made for.
func TestServed(t *testing.T) {
	attributes := []string{"protectedattributes", "protectedattributes/status", "clusterprotectedattributes", "clusterprotectedattributes/status"}
	for name, tc := range map[string]struct {
		attributes, delegations, policies, fields bool
		enabled                                   only
		want                                      []string
	}{
		"all": {true, true, true, true, all,
			append(slices.Clone(attributes), delegationsPlural, expirationPath, policiesPlural, fieldsPlural, fieldsPlural+"/status")},
		"attributes":              {true, false, false, false, all, attributes},
		"delegations":             {false, true, false, false, all, []string{delegationsPlural, expirationPath}},
		"policies":                {false, false, true, false, all, []string{policiesPlural}},
		"nothing":                 {false, false, false, false, all, nil},
		"without one kind":        {true, false, false, false, without("protectedattributes"), attributes[2:]},
		"delegations not enabled": {false, true, true, false, without(delegationsPlural), []string{policiesPlural}},
		"policies not enabled":    {false, true, true, false, without(policiesPlural), []string{delegationsPlural, expirationPath}},
		"fields":                  {false, false, false, true, all, []string{fieldsPlural, fieldsPlural + "/status"}},
		"fields not enabled":      {false, false, false, true, without(fieldsPlural), nil},
	} {
		var opened Opened
		p := Provider{Namespaces: namespaces("real").CoreV1(), Attributes: tc.attributes, Use: func(o Opened) (Run, error) {
			opened = o
			return nil, nil
		}}
		if tc.delegations {
			p.Delegations = &Delegations{}
		}
		if tc.policies {
			p.Policies = &Policies{}
		}
		if tc.fields {
			p.FieldPermissions = &FieldPermissions{}
		}
		info, err := p.NewRESTStorage(tc.enabled, optionsOf{t})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		served := info.VersionedResourcesStorageMap["v1alpha1"]
		for _, storage := range served {
			defer storage.Destroy()
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(tc.want)), slices.Sorted(maps.Keys(served))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for plural, kind := range map[string]Kind{"protectedattributes": opened.Attributes.Namespaced, "clusterprotectedattributes": opened.Attributes.Cluster} {
			if want := slices.Contains(tc.want, plural); (kind.ListWatch != nil) != want || (kind.Example != nil) != want {
				t.Errorf("%s: %s can be read in process: %v, want %v", name, plural, kind.ListWatch != nil, want)
			}
		}
		if got, want := opened.Delegations != nil, slices.Contains(tc.want, delegationsPlural); got != want {
			t.Errorf("%s: delegations can be read in process: %v, want %v", name, got, want)
		}
		if got, want := opened.Policies != nil, slices.Contains(tc.want, policiesPlural); got != want {
			t.Errorf("%s: policies can be read in process: %v, want %v", name, got, want)
		}
		if got, want := opened.FieldPermissions != nil, slices.Contains(tc.want, fieldsPlural); got != want {
			t.Errorf("%s: FieldPermissions can be read in process: %v, want %v", name, got, want)
		}
		for plural, storage := range served {
			short := map[string]string{"protectedattributes": "pattr", "clusterprotectedattributes": "cpattr", delegationsPlural: "adel", policiesPlural: "adpol",
				fieldsPlural: "fperm"}[plural]
			if short == "" {
				continue // a status
			}
			names, categories := storage.(rest.ShortNamesProvider).ShortNames(), storage.(rest.CategoriesProvider).Categories()
			if !slices.Equal(names, []string{short}) || !slices.Equal(categories, []string{"authority"}) {
				t.Errorf("%s: short names %v, categories %v", plural, names, categories)
			}
			if namespaced := storage.(rest.Scoper).NamespaceScoped(); namespaced != (plural == "protectedattributes") {
				t.Errorf("%s: in namespaces: %v", plural, namespaced)
			}
		}
	}
}

// TestStorageFails holds that a server without the storage of one resource does not start, and that
// the error names that resource.
func TestStorageFails(t *testing.T) {
	p := Provider{Namespaces: namespaces("real").CoreV1(), Attributes: true, Delegations: &Delegations{}, Policies: &Policies{},
		FieldPermissions: &FieldPermissions{}}
	for _, name := range all.names {
		options := broken{optionsOf{t}, name}
		enabled := only{names: []string{name}}
		if _, err := p.NewRESTStorage(enabled, options); err == nil || !strings.HasPrefix(err.Error(), "open "+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBootstrapRoles holds which roles the server makes, for whom, and that nobody holds protected
// attributes or delegations by a role that others aggregate, but to read attributes.
func TestBootstrapRoles(t *testing.T) {
	if made := (&Provider{}).policy(); len(made.ClusterRoles)+len(made.ClusterRoleBindings) > 0 {
		t.Errorf("roles without anything served: %+v", made)
	}
	var got []string
	made := (&Provider{Attributes: true, Delegations: &Delegations{}}).policy()
	for _, role := range made.ClusterRoles {
		if role.Labels["kubernetes.io/bootstrapping"] != "rbac-defaults" || role.Annotations[rbacv1.AutoUpdateAnnotationKey] != "true" {
			t.Errorf("%s is not kept up to date: %v %v", role.Name, role.Labels, role.Annotations)
		}
		_, aggregated := role.Labels["rbac.authorization.k8s.io/aggregate-to-view"]
		if len(role.Labels) > 2 || aggregated != (role.Name == ViewRole) {
			t.Errorf("%s has the labels %v", role.Name, role.Labels)
		}
		for _, rule := range role.Rules {
			got = append(got, fmt.Sprint(role.Name, " ", rule.APIGroups, rule.Resources, rule.Verbs))
		}
	}
	want := []string{
		ViewRole + " [authority.kube-granular.dev] [protectedattributes clusterprotectedattributes] [get list watch]",
		ManageRole + " [authority.kube-granular.dev] [protectedattributes clusterprotectedattributes] [create delete deletecollection get list patch update watch]",
		ControllersRole + " [authority.kube-granular.dev] [protectedattributes] [bypass]",
		DelegatorRole + " [authority.kube-granular.dev] [authoritydelegations] [create get list watch]",
		DelegatorRole + " [authority.kube-granular.dev] [authoritydelegations/expiration] [get patch update]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(made.ClusterRoleBindings) != 1 || made.ClusterRoleBindings[0].RoleRef.Name != ControllersRole {
		t.Fatalf("bindings %+v", made.ClusterRoleBindings)
	}
	if got, want := len(made.ClusterRoleBindings[0].Subjects), 1+len(protect.Copiers()); got != want {
		t.Errorf("%d subjects, want %d", got, want)
	}
	for i, subject := range made.ClusterRoleBindings[0].Subjects {
		if i == 0 && subject.Name != "system:kube-controller-manager" || i > 0 && (subject.Kind != rbacv1.ServiceAccountKind || subject.Namespace != "kube-system") {
			t.Errorf("subject %+v", subject)
		}
	}
}

// TestUseFails holds that the server does not start if its storage is not what other code needs.
func TestUseFails(t *testing.T) {
	missing := errors.New("missing")
	p := Provider{Use: func(Opened) (Run, error) { return nil, missing }}
	if _, err := p.NewRESTStorage(all, optionsOf{t}); !errors.Is(err, missing) {
		t.Errorf("the storage is made with %v", err)
	}
}

// TestPostStartHook holds that the server becomes ready only after all that it must read is read, that
// it does not become ready if that fails, and that a failure because the server ends is none.
func TestPostStartHook(t *testing.T) {
	lost := errors.New("lost")
	for name, tc := range map[string]struct {
		failure error
		ended   bool
		want    error
	}{
		"read":            {nil, false, nil},
		"it can't be":     {lost, false, lost},
		"the server ends": {lost, true, nil},
	} {
		ctx, stop := context.WithCancel(t.Context())
		if tc.ended {
			stop()
		}
		ran := 0
		p := Provider{Use: func(Opened) (Run, error) {
			return func(_ context.Context, self *restclient.Config) error {
				if self.Host != "https://127.0.0.1:1" {
					t.Errorf("%s: the server is %s to itself", name, self.Host)
				}
				ran++
				return tc.failure
			}, nil
		}}
		if _, err := p.NewRESTStorage(nothing{}, nil); err != nil {
			t.Fatal(err)
		}
		hookName, hook, err := p.PostStartHook()
		if err != nil || hookName != "kube-granular/authority" {
			t.Fatal(hookName, err)
		}
		config := genericapiserver.PostStartHookContext{Context: ctx, LoopbackClientConfig: &restclient.Config{Host: "https://127.0.0.1:1"}}
		if err := hook(config); !errors.Is(err, tc.want) || err != nil && tc.want == nil || ran != 1 {
			t.Errorf("%s: error %v after %d runs, want %v", name, err, ran, tc.want)
		}
		stop()
	}
	// Nothing to read, and no roles to make.
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, p := range []*Provider{{}, {Delegations: &Delegations{}}} {
		_, hook, _ := p.PostStartHook()
		if err := hook(genericapiserver.PostStartHookContext{Context: ctx, LoopbackClientConfig: &restclient.Config{Host: "https://127.0.0.1:1"}}); err != nil {
			t.Error(err)
		}
		if err := hook(genericapiserver.PostStartHookContext{Context: ctx, LoopbackClientConfig: &restclient.Config{TLSClientConfig: restclient.TLSClientConfig{CAFile: "nowhere"}}}); err == nil {
			t.Error("a server that can't be a client of itself becomes ready")
		}
	}
}
