// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// request is the request of a case.
type request struct {
	// verbs are the ordinary verbs for which the server may ask.
	verbs     []string
	resource  schema.GroupVersionResource
	namespace string
	name      string
	// subresources has the subresource, if there is one.
	subresources []string
	// send sends the request as a dry run, or reads.
	send func(context.Context, dynamic.ResourceInterface) (*unstructured.Unstructured, error)
	// object is the object of a create.
	object *unstructured.Unstructured
	// changes is true for a request that changes an object, and must change it.
	changes bool
	// metadata is true for a read of the metadata alone.
	metadata bool
}

// String describes the request.
func (r *request) String() string {
	name := r.name
	if r.namespace != "" {
		name = strings.TrimSuffix(r.namespace+"/"+name, "/")
	}
	text := strings.TrimSpace(r.verbs[0] + " " + r.resourceName() + " " + name)
	if r.metadata {
		text += ", metadata"
	}
	return text
}

func (r *request) resourceName() string {
	return kinds.Qualified(r.resource.Group, strings.Join(append([]string{r.resource.Resource}, r.subresources...), "/"))
}

// client returns the part of a client that sends the request.
func (r *request) client(client dynamic.Interface) dynamic.ResourceInterface {
	if r.namespace != "" {
		return client.Resource(r.resource).Namespace(r.namespace)
	}
	return client.Resource(r.resource)
}

// request returns the request of a case.
func (s *Server) request(c *format.Case) (*request, error) {
	switch {
	case c.Create != nil:
		return s.create(c.Create)
	case c.Apply != nil:
		return s.apply(c.Apply)
	case c.Patch != nil:
		return s.patch(c.Patch)
	case c.Update != nil:
		return s.update(c.Update)
	case c.Scale != nil:
		body, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": c.Scale.Replicas}})
		if err != nil {
			return nil, err
		}
		target := c.Scale.Target
		target.Resource += "/scale"
		return s.patchOf(target, types.MergePatchType, body, metav1.PatchOptions{})
	case c.Delete != nil:
		r, err := s.target(c.Delete.Resource, c.Delete.Name)
		if err != nil {
			return nil, err
		}
		r.verbs = []string{"delete"}
		r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return nil, client.Delete(ctx, r.name, metav1.DeleteOptions{DryRun: dryRun}, r.subresources...)
		}
		return r, nil
	}
	r, err := s.read(c.Get)
	if err == nil && c.Get.Metadata {
		metadataOf(r)
	}
	return r, err
}

func (s *Server) create(c *format.Create) (*request, error) {
	object := &unstructured.Unstructured{Object: c.Object}
	r, err := s.written(c.Resource, object)
	if err != nil {
		return nil, err
	}
	r.verbs, r.object = []string{"create"}, object
	r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return client.Create(ctx, object.DeepCopy(),
			metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}, r.subresources...)
	}
	return r, nil
}

func (s *Server) apply(a *format.Apply) (*request, error) {
	object := &unstructured.Unstructured{Object: a.Object}
	r, err := s.written(a.Resource, object)
	if err != nil {
		return nil, err
	}
	if r.name == "" {
		return nil, errors.New("the object has no name")
	}
	body, err := json.Marshal(a.Object)
	if err != nil {
		return nil, err
	}
	r.verbs = []string{"patch", "create"}
	r.setPatch(types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: cmp.Or(a.Manager, "test"), Force: &a.Force})
	return r, nil
}

func (s *Server) patch(p *format.Patch) (*request, error) {
	kind, value := types.MergePatchType, any(p.Merge)
	switch {
	case p.Strategic != nil:
		kind, value = types.StrategicMergePatchType, p.Strategic
	case p.JSON != nil:
		kind, value = types.JSONPatchType, p.JSON
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return s.patchOf(p.Target, kind, body, metav1.PatchOptions{})
}

// read returns the subresource whose object is the one that a request changes. That of scale is of a kind of
// its own; others such as status change the main object.
func (r *request) read() []string {
	if len(r.subresources) > 0 && r.subresources[0] == "scale" {
		return r.subresources
	}
	return nil
}

func (s *Server) patchOf(target format.Target, kind types.PatchType, body []byte, options metav1.PatchOptions) (*request, error) {
	r, err := s.target(target.Resource, target.Name)
	if err != nil {
		return nil, err
	}
	r.verbs = []string{"patch"}
	r.setPatch(kind, body, options)
	return r, nil
}

func (r *request) setPatch(kind types.PatchType, body []byte, options metav1.PatchOptions) {
	options.DryRun, options.FieldValidation, r.changes = dryRun, metav1.FieldValidationStrict, true
	r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return client.Patch(ctx, r.name, kind, body, options, r.subresources...)
	}
}

func (s *Server) read(g *format.Get) (*request, error) {
	if g.Name != "" {
		r, err := s.target(g.Resource, g.Name)
		if err != nil {
			return nil, err
		}
		r.verbs = []string{"get"}
		r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return client.Get(ctx, r.name, metav1.GetOptions{}, r.subresources...)
		}
		return r, nil
	}
	r, err := s.named(g.Resource)
	if err != nil {
		return nil, err
	}
	if len(r.subresources) > 0 {
		return nil, errors.New("a subresource can't be listed")
	}
	r.namespace, r.verbs = g.Namespace, []string{"list"}
	r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		_, err := client.List(ctx, metav1.ListOptions{Limit: 1})
		return nil, err
	}
	if g.Watch {
		r.verbs = []string{"watch"}
		r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			w, err := client.Watch(ctx, metav1.ListOptions{})
			if err == nil {
				w.Stop()
			}
			return nil, err
		}
	}
	return r, nil
}

// target returns a request about one object.
func (s *Server) target(resource, name string) (*request, error) {
	r, err := s.named(resource)
	if err != nil {
		return nil, err
	}
	r.namespace, r.name = split(name)
	return r, s.checkScope(r)
}

// written returns a request that writes an object, at the resource of its kind or at another one.
func (s *Server) written(resource string, o *unstructured.Unstructured) (*request, error) {
	r := &request{}
	if resource == "" {
		_, mapping, err := s.resourceOf(s.objects, o)
		if err != nil {
			return nil, err
		}
		r.resource = mapping.Resource
	} else {
		var err error
		if r, err = s.named(resource); err != nil {
			return nil, err
		}
	}
	r.namespace, r.name = o.GetNamespace(), o.GetName()
	return r, s.checkScope(r)
}

// named returns a request about a resource in the form of RBAC.
func (s *Server) named(text string) (*request, error) {
	name, subresource, _ := strings.Cut(text, "/")
	full, group := schema.ParseResourceArg(name)
	if full == nil {
		full = &schema.GroupVersionResource{Group: group.Group, Resource: group.Resource}
	}
	found, err := s.mapper.ResourceFor(*full)
	if err != nil && full.Version != "" {
		found, err = s.mapper.ResourceFor(group.WithVersion(""))
	}
	if err != nil {
		return nil, fmt.Errorf("the server has no resource %s", name)
	}
	r := &request{resource: found}
	if subresource != "" {
		if !s.resources.Has(kinds.Qualified(found.Group, found.Resource+"/"+subresource)) {
			return nil, fmt.Errorf("the server has no resource %s", text)
		}
		r.subresources = []string{subresource}
	}
	return r, nil
}

func (s *Server) checkScope(r *request) error {
	kind, err := s.mapper.KindFor(r.resource)
	if err != nil {
		return err
	}
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	switch namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; {
	case namespaced && r.namespace == "":
		return fmt.Errorf("%s are in namespaces, so the name is NAMESPACE/NAME", r.resource.Resource)
	case !namespaced && r.namespace != "":
		return fmt.Errorf("%s are not in namespaces", r.resource.Resource)
	}
	return nil
}

// tests returns an error if a request tests nothing: if it fails for an administrator too, or changes
// nothing.
func (s *Server) tests(ctx context.Context, r *request) error {
	client := r.client(s.objects)
	// A list of a namespace that does not exist is empty, also for an administrator.
	if r.name == "" && r.namespace != "" {
		if _, err := s.kube.CoreV1().Namespaces().Get(ctx, r.namespace, metav1.GetOptions{}); err != nil {
			return errors.New(reason(err))
		}
	}
	var stored *unstructured.Unstructured
	if r.changes {
		var err error
		if stored, err = client.Get(ctx, r.name, metav1.GetOptions{}, r.read()...); ignoreNotFound(err) != nil {
			return errors.New(reason(err))
		}
		if apierrors.IsNotFound(err) {
			stored = nil
		}
	}
	result, err := r.send(ctx, client)
	if err != nil {
		return fmt.Errorf("an administrator's request fails too: %s", reason(err))
	}
	if stored != nil && reflect.DeepEqual(content(stored), content(result)) {
		return errors.New("tests nothing: the request changes no field")
	}
	return nil
}

// content returns an object without what the server keeps about each write.
func content(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy()
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	out.SetGeneration(0)
	return out.Object
}
