// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager is the field manager of the applied objects.
const FieldManager = "kube-granular-up"

// Namespace is the namespace of the demo's objects.
const Namespace = "default"

const pollInterval = 50 * time.Millisecond

//go:embed manifests/*.yaml
var manifests embed.FS

// Objects returns the objects of the manifests, in the order of their files.
func Objects() ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(manifests, "manifests/*.yaml")
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range names {
		data, err := manifests.ReadFile(name)
		if err != nil {
			return nil, err
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data))
		for {
			obj := &unstructured.Unstructured{}
			if err := decoder.Decode(obj); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			objects = append(objects, obj)
		}
	}
	return objects, nil
}

// Apply applies the objects with an administrator's client configuration. It waits for the
// namespace, which a new cluster creates a moment after it is ready. It returns the objects that
// it left as they are, because other field managers had changed them.
func Apply(ctx context.Context, cfg *rest.Config) (kept []string, err error) {
	objects, err := Objects()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(disco)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of the server: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, obj := range objects {
		gvk := obj.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", describe(obj), err)
		}
		resource := dynamic.ResourceInterface(client.Resource(mapping.Resource))
		if ns := obj.GetNamespace(); ns != "" {
			resource = client.Resource(mapping.Resource).Namespace(ns)
		}
		err = applyOne(ctx, resource, obj)
		switch {
		case apierrors.IsConflict(err):
			kept = append(kept, describe(obj))
		case err != nil:
			return nil, fmt.Errorf("apply %s: %w", describe(obj), err)
		}
	}
	return kept, nil
}

func applyOne(ctx context.Context, resource dynamic.ResourceInterface, obj *unstructured.Unstructured) error {
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		_, err := resource.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: FieldManager})
		if apierrors.IsNotFound(err) {
			return false, nil // the namespace does not exist yet
		}
		return err == nil, err
	})
}

func describe(obj *unstructured.Unstructured) string {
	name := obj.GetName()
	if ns := obj.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return obj.GetKind() + " " + name
}
