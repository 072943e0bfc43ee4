// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestManagerRemovesSudoers checks that a manager may remove sudoers, the last one too, and not add or
// change one, and that an event says who is no sudoer any more.
//
// Attack: a manager writes a list of sudoers with a name that was not in it, by any kind of request: beside
// the others, in place of one, with another kind, or after its removal
// Answer: 403; a list with fewer of the same names is stored
// Held by: TestGranularServer, TestListsTakeVerbs
func TestManagerRemovesSudoers(t *testing.T) {
	lns := shared.make(t, manySudoers("removing"))
	shared.allowed(t, "removing-manager", nil, "patch", "lnamespaces", "", lns.Name)
	shared.allowed(t, "removing-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	shared.removesSudoers(t, lns)
	shared.refused(t, "removing-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	wait(t, "there is an event", func() error { return shared.hasEvent(t, lns.Name, "SudoerRemoved", "removing-sudoer") })
}

// manySudoers returns a tenant with a sudoer for each way to remove one, of all kinds.
func manySudoers(name string) *v1alpha1.LNamespace {
	lns := tenant(name)
	lns.Spec.Sudoers = append(lns.Spec.Sudoers,
		v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: name + "-operators"},
		v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: name, Name: "robot"},
		user(name+"-other"), user(name+"-last"))
	return lns
}

// sudoersWriter writes the list of sudoers of a tenant, which was read before.
type sudoersWriter func(context.Context, client.Client, *v1alpha1.LNamespace, []v1alpha1.Subject) error

// sudoersWriters are the ways to write the list of sudoers. If the list is empty, put, merge patch and
// JSON patch remove the field.
func sudoersWriters() map[string]sudoersWriter {
	return map[string]sudoersWriter{
		"put": put, "merge patch": mergePatch, "merge patch of a list": mergePatchList, "JSON patch": jsonPatch,
		"apply": apply,
	}
}

func put(ctx context.Context, c client.Client, lns *v1alpha1.LNamespace, sudoers []v1alpha1.Subject) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // the controller writes the status meanwhile
		after := &v1alpha1.LNamespace{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(lns), after); err != nil {
			return err
		}
		after.Spec.Sudoers = sudoers
		return c.Update(ctx, after)
	})
}

func mergePatch(ctx context.Context, c client.Client, lns *v1alpha1.LNamespace, sudoers []v1alpha1.Subject) error {
	after := lns.DeepCopy()
	after.Spec.Sudoers = sudoers
	return c.Patch(ctx, after, client.MergeFrom(lns))
}

func mergePatchList(ctx context.Context, c client.Client, lns *v1alpha1.LNamespace, sudoers []v1alpha1.Subject) error {
	list := append([]v1alpha1.Subject{}, sudoers...) // [] and not null
	return patch(ctx, c, lns, types.MergePatchType, map[string]any{"spec": map[string]any{"sudoers": list}})
}

func jsonPatch(ctx context.Context, c client.Client, lns *v1alpha1.LNamespace, sudoers []v1alpha1.Subject) error {
	step := map[string]any{"op": "add", "path": "/spec/sudoers", "value": sudoers}
	if len(sudoers) == 0 {
		step = map[string]any{"op": "remove", "path": "/spec/sudoers"}
	}
	return patch(ctx, c, lns, types.JSONPatchType, []any{step})
}

func patch(ctx context.Context, c client.Client, lns *v1alpha1.LNamespace, kind types.PatchType, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return c.Patch(ctx, lns.DeepCopy(), client.RawPatch(kind, text))
}

func apply(ctx context.Context, c client.Client, lns *v1alpha1.LNamespace, sudoers []v1alpha1.Subject) error {
	list := []any{}
	for _, s := range sudoers {
		one, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"sudoers": list}}}
	applied.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("LNamespace"))
	applied.SetName(lns.Name)
	content := client.ApplyConfigurationFromUnstructured(applied)
	return c.Apply(ctx, content, client.FieldOwner("e2e"), client.ForceOwnership)
}

// notOnlyRemoved returns lists that a caller may not write in place of list, if it may only remove
// names. The list has two names at least.
func notOnlyRemoved(list []v1alpha1.Subject, more v1alpha1.Subject) map[string][]v1alpha1.Subject {
	one, rest := list[0], list[1:]
	kind := v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: list[0].Name}
	if one.Kind == v1alpha1.GroupKind {
		kind.Kind = v1alpha1.UserKind
	}
	return map[string][]v1alpha1.Subject{
		"one more":                   append(slices.Clip(list), more),
		"only another":               {more},
		"one for another":            append([]v1alpha1.Subject{more}, rest...),
		"another, and one less":      append([]v1alpha1.Subject{more}, rest[1:]...),
		"the name with another kind": append([]v1alpha1.Subject{kind}, rest...),
		"one twice":                  append([]v1alpha1.Subject{one, one}, rest...),
		"one twice for another":      append([]v1alpha1.Subject{one, one}, rest[1:]...),
		"another order":              append(slices.Clone(rest), one),
	}
}

// removesSudoers checks that the manager of a tenant of manySudoers may remove the sudoers one by one, each
// in another way, and may not write any other list in any way.
func (c *cluster) removesSudoers(t *testing.T, lns *v1alpha1.LNamespace) {
	t.Helper()
	manager, all := c.as(t, lns.Name+"-manager"), lns.Spec.Sudoers
	writers := sudoersWriters()
	ways := slices.Sorted(maps.Keys(writers))
	for len(lns.Spec.Sudoers) > 1 {
		way := ways[len(ways)-len(lns.Spec.Sudoers)]
		for name, list := range notOnlyRemoved(lns.Spec.Sudoers, user(lns.Name+"-manager")) {
			for _, way := range ways {
				if err := writers[way](t.Context(), manager, lns, list); !forbidden(err) {
					t.Errorf("%s, by %s: %v", name, way, err)
				}
			}
		}
		if err := writers[way](t.Context(), manager, lns, lns.Spec.Sudoers[1:]); err != nil {
			t.Fatalf("%v goes, by %s: %v", lns.Spec.Sudoers[0], way, err)
		}
		c.settled(t, lns)
	}
	for _, way := range ways { // each removes the last one, which the administrator then adds again
		if err := writers[way](t.Context(), manager, lns, nil); err != nil {
			t.Errorf("nobody is left, by %s: %v", way, err)
		}
		c.settled(t, lns)
		if len(lns.Spec.Sudoers) > 0 {
			t.Errorf("nobody is left, by %s: %v are", way, lns.Spec.Sudoers)
		}
		for _, back := range ways {
			if err := writers[back](t.Context(), manager, lns, all[:1]); !forbidden(err) {
				t.Errorf("the manager takes the removal back, by %s: %v", back, err)
			}
		}
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = all[4:] })
	}
	if err := put(t.Context(), manager, lns, nil); err != nil {
		t.Error(err)
	}
	c.settled(t, lns)
}
