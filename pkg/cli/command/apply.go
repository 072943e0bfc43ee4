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
	"k8s.io/component-helpers/auth/rbac/validation"

	"kube-granular.dev/api/printing"
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

// write writes roles and bindings to the cluster, after it has checked all of them: a refusal writes nothing. It is the only
// function of the package that changes the cluster.
func (s *options) write(ctx context.Context, objects []runtime.Object) error {
	client, err := connect(s.ownConfig, changes.NewClient)
	if err != nil {
		return err
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
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
	var old, new grantObject
	for _, both := range []struct {
		from any
		into *grantObject
	}{{existing, &old}, {object, &new}} {
		data, err := json.Marshal(both.from)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, both.into); err != nil {
			return err
		}
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
