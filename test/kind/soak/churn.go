// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// repeat calls do at an interval until ctx ends. It counts the calls that succeed. Each other call
// is a fault, with the text what.
func (r *run) repeat(ctx context.Context, every time.Duration, what string, do func(i int) error) {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		switch err := do(i); {
		case err == nil:
			r.churned.Add(1)
		case ctx.Err() == nil:
			r.fault("%s: %v", what, err)
		}
	}
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// churnDefinitions creates definitions of custom resources with permissions, creates and changes
// an object of each definition, and deletes the definitions again.
func (r *run) churnDefinitions(ctx context.Context) {
	crds := r.dynamic.Resource(definitions)
	r.repeat(ctx, 5*time.Second, "churn of definitions", func(i int) error {
		plural := fmt.Sprintf("things%d", i)
		definition := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": plural + ".soak.example.com"},
			"spec": map[string]any{
				"group": "soak.example.com", "scope": "Namespaced",
				"names": map[string]any{"plural": plural, "kind": fmt.Sprintf("Thing%d", i)},
				"versions": []any{map[string]any{
					"name": "v1", "served": true, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
						"spec": map[string]any{"type": "object", "x-kubernetes-permission-verb": "specification", "properties": map[string]any{
							"valve": map[string]any{"type": "string", "x-kubernetes-permission-verb": "soak.example.com/valve"},
							"other": map[string]any{"type": "string"},
						}},
					}}},
				}},
			},
		}}
		if _, err := crds.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
			return err
		}
		things := r.dynamic.Resource(schema.GroupVersionResource{Group: "soak.example.com", Version: "v1", Resource: plural}).Namespace(namespace)
		thing := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "soak.example.com/v1", "kind": fmt.Sprintf("Thing%d", i),
			"metadata": map[string]any{"name": "one"}, "spec": map[string]any{"valve": "open"},
		}}
		var err error
		for range 100 { // until the definition is served
			if _, err = things.Create(ctx, thing, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
		if err != nil {
			return err
		}
		// The server compiles the permissions of a definition when a granular caller writes.
		valves := r.valve.Resource(schema.GroupVersionResource{Group: "soak.example.com", Version: "v1", Resource: plural}).Namespace(namespace)
		_, err = valves.Patch(ctx, "one", types.MergePatchType, []byte(`{"spec":{"valve":"shut"}}`), metav1.PatchOptions{})
		r.wanted(ctx, "valves shuts a valve", err)
		_, err = valves.Patch(ctx, "one", types.MergePatchType, []byte(`{"spec":{"other":"x"}}`), metav1.PatchOptions{})
		r.unwanted(ctx, "valves sets another field", err)
		return crds.Delete(ctx, definition.GetName(), metav1.DeleteOptions{})
	})
}

// churnRoles creates, changes and deletes roles and bindings.
func (r *run) churnRoles(ctx context.Context) {
	r.repeat(ctx, 2*time.Second, "churn of roles", func(i int) error {
		name := fmt.Sprintf("churn-%d", i)
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"granular", "granular:label(" + name + ")"},
		}}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		}
		rbac := r.admin.RbacV1()
		if _, err := rbac.Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := rbac.RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
		role.Rules[0].Verbs = append(role.Rules[0].Verbs, "granular:replicas")
		if _, err := rbac.Roles(namespace).Update(ctx, role, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if err := rbac.RoleBindings(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return rbac.Roles(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// churnNamespaces creates namespaces with an object in them and deletes them. The cluster's
// controllers then empty them.
func (r *run) churnNamespaces(ctx context.Context) {
	r.repeat(ctx, 10*time.Second, "churn of namespaces", func(i int) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("soak-%d", i)}}
		if _, err := r.admin.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return err
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Data: map[string]string{"a": "b"}}
		if _, err := r.admin.CoreV1().ConfigMaps(ns.Name).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return err
		}
		return r.admin.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{})
	})
}

// compare updates a ConfigMap through each of the two servers, one server after the other, and
// measures how long each update takes. The caller is the administrator, who needs no permission
// for single fields.
func (r *run) compare(ctx context.Context) {
	r.repeat(ctx, 200*time.Millisecond, "an ordinary write", func(i int) error {
		// The server that goes first alternates, so that neither is always the slower one.
		first, second := r.write(ctx, true, i), r.write(ctx, false, i)
		if i%2 == 1 {
			first, second = second, first
		}
		if err := first(); err != nil {
			return err
		}
		return second()
	})
}

func (r *run) write(ctx context.Context, active bool, i int) func() error {
	client, name, times := r.admin, "on", &r.on
	if !active {
		client, name, times = r.other, "off", &r.off
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"step": fmt.Sprint(i)}},
		Data:       map[string]string{"step": fmt.Sprint(i)},
	}
	return func() error {
		started := time.Now()
		_, err := client.CoreV1().ConfigMaps(namespace).Update(ctx, cm, metav1.UpdateOptions{})
		if err == nil {
			r.mu.Lock()
			*times = append(*times, time.Since(started))
			r.mu.Unlock()
		}
		return err
	}
}
