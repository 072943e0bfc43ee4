// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	dryRun      = []string{metav1.DryRunAll}
)

// creator is the part of a client that creates objects.
type creator interface {
	Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error)
}

func dynamicFor(config *rest.Config) (dynamic.Interface, error) { return dynamic.NewForConfig(config) }

// split splits NAMESPACE/NAME. A text without a slash is a name.
func split(text string) (namespace, name string) {
	if before, after, found := strings.Cut(text, "/"); found {
		return before, after
	}
	return "", text
}

// resource returns the administrator's client of the resource of an object.
func (s *Server) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	resource, _, err := s.resourceOf(s.objects, o)
	return resource, err
}

// resourceOf returns a client of the resource of an object.
func (s *Server) resourceOf(client dynamic.Interface, o *unstructured.Unstructured) (dynamic.ResourceInterface, *meta.RESTMapping, error) {
	gvk := o.GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, nil, fmt.Errorf("the server has no kind %s of %s", gvk.Kind, gvk.GroupVersion())
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch ns := o.GetNamespace(); {
	case namespaced && ns == "":
		return nil, nil, fmt.Errorf("the object has no namespace")
	case !namespaced && ns != "":
		return nil, nil, fmt.Errorf("the kind %s has no namespaces", gvk.Kind)
	case namespaced:
		return client.Resource(mapping.Resource).Namespace(ns), mapping, nil
	}
	return client.Resource(mapping.Resource), mapping, nil
}

// waitForDefinitions waits until the server serves the kinds of all definitions.
func (s *Server) waitForDefinitions(ctx context.Context, objects []format.Object) error {
	found := false
	for i := range objects {
		o := &objects[i]
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		found = true
		if err := until(ctx, o.String()+" is served", func(ctx context.Context) (bool, error) {
			return s.serves(ctx, o.GetName())
		}); err != nil {
			return err
		}
	}
	if !found {
		return nil
	}
	return s.discover()
}

// serves reports whether the server serves a definition and lists its resource.
func (s *Server) serves(ctx context.Context, name string) (bool, error) {
	stored, err := s.objects.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	// There are no conditions at first.
	conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
	established := slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
	if !established {
		return false, nil
	}
	if err := s.discover(); err != nil {
		return false, err
	}
	group, _, _ := unstructured.NestedString(stored.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(stored.Object, "spec", "names", "plural")
	return s.resources.Has(kinds.Qualified(group, plural)), nil
}
