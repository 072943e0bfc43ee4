// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
)

// apply writes the roles and bindings of grants to the cluster.
func (s *options) apply(ctx context.Context, grants []roles.Grant, name string, subjects []rbacv1.Subject) error {
	var objects []runtime.Object
	for i := range grants {
		objects = append(objects, grants[i].Objects(name, subjects)...)
	}
	return s.write(ctx, objects)
}

// write writes roles and bindings to the cluster, after it has checked all of them: if a check fails, nothing is written. If the
// server refuses one of the writes, those before stay, as the messages say. It is the only function of the package that changes
// the cluster.
func (s *options) write(ctx context.Context, objects []runtime.Object) error {
	client, err := connect(s.ownConfig, changes.NewClient)
	if err != nil {
		return err
	}
	reader, err := connect(s.ownConfig, rbacclient.NewForConfig)
	if err != nil {
		return err
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	bindings := bindingsReader{client: reader, read: map[string]*access.RBAC{}}
	var checked []func() error
	for _, o := range objects {
		k, err := c.ForKind(schema.FromAPIVersionAndKind(rbacv1.SchemeGroupVersion.String(), o.GetObjectKind().GroupVersionKind().Kind))
		if err != nil {
			return err
		}
		object, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		name := written(k, object.GetName())
		existing, err := changes.Get(ctx, client, k, object.GetNamespace(), object.GetName())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := keeps(existing, o); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := bindings.reaches(ctx, existing, o, objects); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		checked = append(checked, func() error {
			if err := changes.Write(ctx, client, k, object.GetNamespace(), object.GetName(), o); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			printing.Fprintf(s.streams.ErrOut, "%s applied\n", name)
			return nil
		})
	}
	for _, write := range checked {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

func written(k *kinds.Kind, name string) string { return k.String() + "/" + name }

// grantObject has those fields of a role or a binding that decide what it grants, and to whom.
type grantObject struct {
	Rules    []rbacv1.PolicyRule `json:"rules"`
	Subjects []rbacv1.Subject    `json:"subjects"`
	RoleRef  rbacv1.RoleRef      `json:"roleRef"`
}

// keeps returns an error if an object that replaces an existing role or binding would take a rule
// or a subject away. existing is nil if there is no such object.
func keeps(existing map[string]any, object runtime.Object) error {
	if existing == nil {
		return nil
	}
	old, err := grantOf(existing)
	if err != nil {
		return err
	}
	new, err := grantOf(object)
	if err != nil {
		return err
	}
	const next = ", which --apply would take away; choose another --name, or delete it first"
	if kept, _ := validation.Covers(new.Rules, old.Rules); !kept {
		return errors.New("it exists and has other rules" + next)
	}
	if slices.ContainsFunc(old.Subjects, func(s rbacv1.Subject) bool { return !slices.Contains(new.Subjects, s) }) {
		return errors.New("it exists and has other subjects" + next)
	}
	if old.RoleRef != new.RoleRef {
		return errors.New("it exists and is bound to another role; choose another --name, or delete it first")
	}
	return nil
}

// grantOf returns what a role or a binding grants.
func grantOf(object any) (out grantObject, err error) {
	data, err := json.Marshal(object)
	if err != nil {
		return out, err
	}
	err = json.Unmarshal(data, &out)
	return out, err
}

// bindingsReader reads the bindings of a namespace, or with the key "" those of the cluster, once.
type bindingsReader struct {
	client rbacclient.RbacV1Interface
	read   map[string]*access.RBAC
}

// reaches returns an error if a role would gain rules, and a binding gives it to a subject in a place where objects do not bind it.
// Only --subject says who gets new rules, and only the objects say where. existing is nil if there is no such role.
func (b *bindingsReader) reaches(ctx context.Context, existing map[string]any, object runtime.Object, objects []runtime.Object) error {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind != "Role" && kind != "ClusterRole" {
		return nil
	}
	old, err := grantOf(existing)
	if err != nil {
		return err
	}
	new, err := grantOf(object)
	if err != nil {
		return err
	}
	if covered, _ := validation.Covers(old.Rules, new.Rules); covered {
		return nil
	}
	role, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	namespace := role.GetNamespace()
	if b.read[namespace] == nil {
		if b.read[namespace], err = access.ReadBindings(ctx, b.client, namespace); err != nil {
			return fmt.Errorf("it is not known who would get its rules: %w", err)
		}
	}
	written, err := holdingsOf(kind, role.GetName(), objects)
	if err != nil {
		return err
	}
	for _, bound := range b.read[namespace].Bindings(kind, namespace, role.GetName()) {
		for _, subject := range bound.Subjects {
			if !slices.Contains(written, holding{bound.Namespace, subject}) {
				const reached = "its new rules would reach subjects or namespaces that --apply does not bind, by %s; choose another --name"
				return fmt.Errorf(reached, bound.Binding)
			}
		}
	}
	return nil
}

// holding is where a subject holds a role: in a namespace, or with "" in the whole cluster.
type holding struct {
	namespace string
	subject   rbacv1.Subject
}

// holdingsOf returns where, and to whom, objects bind a role.
func holdingsOf(kind, name string, objects []runtime.Object) (out []holding, err error) {
	for _, o := range objects {
		binding, err := meta.Accessor(o)
		if err != nil {
			return nil, err
		}
		grant, err := grantOf(o)
		if err != nil {
			return nil, err
		}
		if grant.RoleRef.Kind != kind || grant.RoleRef.Name != name {
			continue
		}
		for _, subject := range grant.Subjects {
			out = append(out, holding{binding.GetNamespace(), subject})
		}
	}
	return out, nil
}
