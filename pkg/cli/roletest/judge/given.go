// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// fieldManager is the field manager of the administrator.
const fieldManager = "given"

// given are the objects of a test on the server.
type given struct {
	server *Server
	test   *format.Test
	// created are the objects to delete, the last one first.
	created []*format.Object
	notes   []string
	// definitions are those of the test by name, with their permissions, if the server does not store them.
	definitions map[string]*unstructured.Unstructured
}

// phase is the order in which objects are created. What others refer to comes first. Policies come after the
// objects of the administrator, who would else be their author, and before those of others.
func phase(o *format.Object) int {
	switch {
	case isPolicy(o):
		return 4
	case o.As != nil:
		return 5
	case o.GetKind() == "CustomResourceDefinition":
		return 0
	case o.GetKind() == "Namespace":
		return 1
	case o.GetKind() == "ServiceAccount" || o.GroupVersionKind().Group == rbacv1.GroupName:
		return 2
	}
	return 3
}

// create creates all objects, and waits until the server applies them.
func (g *given) create(ctx context.Context) error {
	var errs []error
	if g.server.exported {
		g.strip()
	}
	for number := range 6 {
		for i := range g.test.Objects {
			o := &g.test.Objects[i]
			if phase(o) != number {
				continue
			}
			if err := g.createOne(ctx, o); err != nil {
				errs = append(errs, &format.Mistake{File: o.File, Line: o.Line, Message: o.String() + ": " + err.Error()})
			}
			g.noteWarnings(o)
		}
		// What failed would let the following objects fail too.
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if err := g.settle(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until the server applies the objects of a phase, as far as later phases need them.
func (g *given) settle(ctx context.Context, number int) error {
	switch number {
	case 0:
		if err := g.server.waitForDefinitions(ctx, g.test.Objects); err != nil || !g.server.exported {
			return err
		}
		return g.export()
	case 3:
		if g.server.exported {
			if err := g.server.waitForAdmission(ctx); err != nil {
				return err
			}
		}
		return g.known(ctx, func(o format.Object) bool { return phase(&o) <= 3 }, true)
	case 4:
		if slices.ContainsFunc(g.test.Objects, func(o format.Object) bool { return isPolicy(&o) }) {
			return g.server.waitForPolicies(ctx)
		}
	case 5:
		later := func(o format.Object) bool { return phase(&o) == 5 }
		return g.known(ctx, later, slices.ContainsFunc(g.test.Objects, func(o format.Object) bool { return later(o) && isRBAC(o) }))
	}
	return nil
}

// known waits until the server applies the roles and bindings, if rbac is true, and the protected attributes
// among some objects.
func (g *given) known(ctx context.Context, among func(format.Object) bool, rbac bool) error {
	if rbac {
		if err := g.server.waitForRBAC(ctx); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(g.test.Objects, func(o format.Object) bool { return among(o) && isAttribute(o) }) {
		return g.server.waitForAttributes(ctx)
	}
	return nil
}

func isRBAC(o format.Object) bool { return o.GroupVersionKind().Group == rbacv1.GroupName }

func isAttribute(o format.Object) bool {
	return o.GetKind() == "ProtectedAttribute" || o.GetKind() == "ClusterProtectedAttribute"
}

// noteWarnings adds the warnings of the server about a role to the notes. Those about other objects may
// contain values.
func (g *given) noteWarnings(o *format.Object) {
	for _, text := range g.server.warnings.take() {
		if o.GroupVersionKind().Group == rbacv1.GroupName {
			g.notes = append(g.notes, o.String()+": "+text)
		}
	}
}

func (g *given) createOne(ctx context.Context, o *format.Object) error {
	client := g.server.objects
	if o.As != nil {
		var err error
		if client, err = g.server.client(ctx, o.As); err != nil {
			return err
		}
	}
	resource, mapped, err := g.server.resourceOf(client, o.Unstructured)
	if err != nil {
		return err
	}
	sent := o.DeepCopy()
	status, hasStatus := sent.Object["status"]
	// A resource without the subresource has an ordinary field status.
	hasStatus = hasStatus && g.server.resources.Has(kinds.Qualified(mapped.Resource.Group, mapped.Resource.Resource+"/status"))
	if hasStatus {
		delete(sent.Object, "status")
	}
	stored, err := resource.Create(ctx, sent, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, FieldManager: fieldManager})
	switch {
	case apierrors.IsAlreadyExists(err) && isBareNamespace(o.Unstructured):
		return nil
	case apierrors.IsAlreadyExists(err):
		return errors.New("exists already: the server makes it, or the test gives it twice")
	case err != nil:
		if d, ok := denialOf(err); ok {
			return fmt.Errorf("%s may not create it: %s", o.As, describe(d))
		}
		return errors.New(reason(err))
	}
	g.created = append(g.created, o)
	if hasStatus {
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err
		}
		stored, err = resource.Patch(ctx, o.GetName(), types.MergePatchType, patch,
			metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict, FieldManager: fieldManager}, "status")
		if err != nil {
			return fmt.Errorf("status: %s", reason(err))
		}
	}
	// A delegator may not be allowed to see what it created.
	if o.As != nil {
		return nil
	}
	// The server keeps the content of stringData in data.
	wanted := o.DeepCopy().Object
	delete(wanted, "stringData")
	if lost := dropped(wanted, stored.Object, ""); len(lost) > 0 {
		return fmt.Errorf("the server dropped %s", strings.Join(lost, ", "))
	}
	return nil
}

// isBareNamespace reports whether an object is a namespace with nothing but a name.
func isBareNamespace(o *unstructured.Unstructured) bool {
	metadata, _ := o.Object["metadata"].(map[string]any)
	return o.GetKind() == "Namespace" && len(metadata) == 1 && len(o.Object) == 3
}

// dropped returns the paths of fields that the server did not store. It compares no values, because
// the server may write a value in another way. Empty values are not stored.
func dropped(wanted, stored any, path string) []string {
	switch wanted := wanted.(type) {
	case map[string]any:
		object, ok := stored.(map[string]any)
		if !ok && len(wanted) > 0 {
			return []string{path}
		}
		var out []string
		for name, value := range wanted {
			out = append(out, dropped(value, object[name], path+"."+name)...)
		}
		slices.Sort(out)
		return out
	case []any:
		list, ok := stored.([]any)
		if len(wanted) > 0 && (!ok || len(list) < len(wanted)) {
			return []string{path}
		}
		var out []string
		for i, value := range wanted {
			out = append(out, dropped(value, list[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	}
	if stored == nil && wanted != nil && wanted != "" && wanted != false && wanted != int64(0) {
		return []string{path}
	}
	return nil
}

// delete deletes the objects, and waits until they are gone and the server has forgotten them.
func (g *given) delete(ctx context.Context) error {
	for i := len(g.created) - 1; i >= 0; i-- {
		o := g.created[i]
		resource, _, err := g.server.resourceOf(g.server.objects, o.Unstructured)
		if err == nil {
			err = g.deleteOne(ctx, o, resource)
		}
		if err != nil {
			return fmt.Errorf("delete %s of %s: %s", o, o.File, reason(err))
		}
	}
	if err := until(ctx, "the resources are known", func(context.Context) (bool, error) {
		err := g.server.discover()
		return err == nil, err
	}); err != nil {
		return err
	}
	return g.forget(ctx)
}

// forget deletes the delegations that the server made for policies, and waits until the server does not apply
// any object of the test.
func (g *given) forget(ctx context.Context) error {
	if err := g.server.deleteDelegations(ctx); err != nil {
		return fmt.Errorf("delete the delegations of %s: %s", g.test.File, reason(err))
	}
	all := func(format.Object) bool { return true }
	if err := g.known(ctx, all, true); err != nil {
		return err
	}
	if g.server.exported {
		return g.server.waitForAdmission(ctx)
	}
	if slices.ContainsFunc(g.created, isPolicy) {
		return g.server.waitForPolicies(ctx)
	}
	return nil
}

// deleteOne deletes an object. Each step can be repeated, because a busy server may answer with an error after it did what was asked.
func (g *given) deleteOne(ctx context.Context, o *format.Object, resource dynamic.ResourceInterface) error {
	now, background := int64(0), metav1.DeletePropagationBackground
	type step struct {
		what string
		do   func(ctx context.Context) error
	}
	steps := []step{{"it is deleted", func(ctx context.Context) error {
		return resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background})
	}}}
	// The server adds finalizers itself, such as those of volume claims. Nobody here removes them, but for
	// that of a definition, which the server removes once the objects of the definition are gone.
	if o.GetKind() != "CustomResourceDefinition" {
		steps = slices.Insert(steps, 0, step{"it has no finalizers", func(ctx context.Context) error {
			_, err := resource.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return err
		}})
	}
	// No controller empties and finalizes namespaces here. The objects of the test are gone already.
	if o.GetKind() == "Namespace" {
		steps = append(steps, step{"it is finalized", func(ctx context.Context) error {
			_, err := g.server.kube.CoreV1().Namespaces().Finalize(ctx, newNamespace(o.GetName()), metav1.UpdateOptions{})
			return err
		}})
	}
	for _, s := range steps {
		if err := until(ctx, s.what, func(ctx context.Context) (bool, error) {
			err := ignoreNotFound(s.do(ctx))
			return err == nil, err
		}); err != nil {
			return err
		}
	}
	return until(ctx, "it is gone", func(ctx context.Context) (bool, error) {
		_, err := resource.Get(ctx, o.GetName(), metav1.GetOptions{})
		return err != nil, ignoreNotFound(err)
	})
}
