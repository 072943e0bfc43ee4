// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Flux reconciles the objects of files with a cluster through Flux's own library, as Flux's
// controller of Kustomizations does: it applies them, undoes drift, and deletes what an earlier run
// applied and the files no longer have. It prints a line for each object.
//
//	flux INVENTORY FILE...
//
// INVENTORY is a file that the program reads and writes. It lists what was applied.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owner is the name that Flux's controller writes under.
var owner = ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: flux INVENTORY FILE...")
		os.Exit(2)
	}
	if err := reconcile(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func reconcile(ctx context.Context, inventory string, files []string) error {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	objects, err := read(files, namespace)
	if err != nil {
		return err
	}
	manager := ssa.NewResourceManager(c, polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{}), owner)
	manager.SetOwnerLabels(objects, "web", namespace)
	if err := normalize.UnstructuredList(objects); err != nil {
		return err
	}

	options := ssa.DefaultApplyOptions()
	// The controller takes over what people change with kubectl.
	options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{owner.Group + "/ssa": "Merge"},
	}
	changes, err := manager.ApplyAllStaged(ctx, objects, options)
	if err != nil {
		return err
	}
	gone, err := stale(inventory, objects)
	if err != nil {
		return err
	}
	deletion := ssa.DefaultDeleteOptions()
	deletion.Inclusions = manager.GetOwnerLabels("web", namespace)
	deleted, err := manager.DeleteAll(ctx, gone, deletion)
	if err != nil {
		return err
	}
	for _, change := range slices.Concat(changes.Entries, deleted.Entries) {
		fmt.Println(change.String())
	}
	return store(inventory, objects)
}

// read returns the objects of the files, in the namespace.
func read(files []string, namespace string) (objects []*unstructured.Unstructured, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		more, err := utils.ReadObjects(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, more...)
	}
	for _, object := range objects {
		object.SetNamespace(namespace)
	}
	return objects, nil
}

// stale returns the objects of the inventory that are not among the objects.
func stale(inventory string, objects []*unstructured.Unstructured) (gone []*unstructured.Unstructured, err error) {
	text, err := os.ReadFile(inventory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &gone); err != nil {
		return nil, fmt.Errorf("%s: %w", inventory, err)
	}
	return slices.DeleteFunc(gone, func(old *unstructured.Unstructured) bool {
		return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
			return object.GroupVersionKind() == old.GroupVersionKind() && object.GetName() == old.GetName()
		})
	}), nil
}

func store(inventory string, objects []*unstructured.Unstructured) error {
	text, err := json.Marshal(objects)
	if err != nil {
		return err
	}
	return os.WriteFile(inventory, text, 0o600)
}
