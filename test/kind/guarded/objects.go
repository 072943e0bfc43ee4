// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

//go:embed objects.yaml
var objects string

// reads is the name of the delegation.
const reads = "guarded-reads"

// Objects are the objects of all gates, in one namespace.
type Objects struct {
	namespace string
	client    dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// New returns the objects of a namespace, which must exist when they are applied. config is that of an administrator.
func New(config *rest.Config, namespace string) (*Objects, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	return &Objects{namespace: namespace, client: client, mapper: mapper}, nil
}

// Apply makes the objects, delegates reads, and binds the account agent to the delegation. It may be called again: after
// an error, such as a kind that is not served yet, or a role that the server does not know yet.
func (o *Objects) Apply(ctx context.Context) error {
	// A kind that is defined here is not served at once.
	o.mapper.Reset()
	manifests, err := o.manifests()
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		if _, err := o.apply(ctx, manifest); err != nil {
			return err
		}
	}
	metadata := map[string]any{"name": "agent", "namespace": o.namespace}
	agent := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
	uid, err := o.apply(ctx, agent)
	if err != nil {
		return err
	}
	if uid, err = o.apply(ctx, o.Delegation(reads, uid)); err != nil {
		return err
	}
	metadata["annotations"] = map[string]any{
		"authority.kube-granular.dev/acts-under": `{"name":"` + reads + `","uid":"` + uid + `"}`,
	}
	_, err = o.apply(ctx, agent)
	return err
}

// Delegation returns a delegation of reads for rob, and for the account agent if there is a UID.
func (o *Objects) Delegation(name, uid string) map[string]any {
	delegates := []any{map[string]any{"kind": "User", "name": "rob"}}
	if uid != "" {
		delegates = append(delegates, map[string]any{"kind": "ServiceAccount", "namespace": o.namespace, "name": "agent", "uid": uid})
	}
	return map[string]any{
		"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "AuthorityDelegation",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"delegates": delegates,
			"scope":     map[string]any{"namespace": o.namespace},
			"rules":     []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get"}}},
		},
	}
}

// Delete deletes the objects, in reverse order. An object that is gone is no error.
func (o *Objects) Delete(ctx context.Context) error {
	manifests, err := o.manifests()
	if err != nil {
		return err
	}
	slices.Reverse(manifests)
	var errs []error
	for _, manifest := range append([]map[string]any{o.Delegation(reads, "")}, manifests...) {
		resource, name, err := o.resource(manifest)
		switch {
		case meta.IsNoMatchError(err): // The definition is gone, and its objects with it.
		case err != nil:
			errs = append(errs, err)
		default:
			if err := resource.Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func (o *Objects) manifests() ([]map[string]any, error) {
	var all []map[string]any
	for text := range strings.SplitSeq(strings.ReplaceAll(objects, "NAMESPACE", o.namespace), "---\n") {
		manifest := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &manifest); err != nil {
			return nil, fmt.Errorf("objects.yaml: %w", err)
		}
		all = append(all, manifest)
	}
	return all, nil
}

// apply applies an object, and returns its UID.
func (o *Objects) apply(ctx context.Context, manifest map[string]any) (string, error) {
	resource, name, err := o.resource(manifest)
	if err != nil {
		return "", err
	}
	object := &unstructured.Unstructured{Object: manifest}
	applied, err := resource.Apply(ctx, name, object, metav1.ApplyOptions{FieldManager: "guarded", Force: true})
	if err != nil {
		return "", fmt.Errorf("%v %s: %w", manifest["kind"], name, err)
	}
	return string(applied.GetUID()), nil
}

// resource returns a client of an object's resource, and the object's name.
func (o *Objects) resource(manifest map[string]any) (dynamic.ResourceInterface, string, error) {
	object := &unstructured.Unstructured{Object: manifest}
	kind := object.GroupVersionKind()
	mapping, err := o.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, "", err
	}
	resource := o.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, object.GetName(), nil
	}
	return resource.Namespace(object.GetNamespace()), object.GetName(), nil
}
