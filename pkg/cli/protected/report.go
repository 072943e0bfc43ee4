// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"

	authorityclient "kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
)

// PageSize is the number of objects in one page.
const PageSize = 500

const both = schema.Label | schema.Annotation

// Row is one protected label or annotation of an object.
type Row struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Kind is Label or Annotation.
	Kind string `json:"attributeKind"`
	// Field is the path of the label or annotation in the object, including its key.
	Field string `json:"field"`
	Key   string `json:"key"`
	Value string `json:"value"`
	// By has the protected attributes that protect the value, in kubectl's format, such as
	// protectedattribute/NAME.
	By []string `json:"protectedBy"`
}

// Sink receives the results of a report.
type Sink interface {
	// Row takes one row.
	Row(Row) error
	// Page is called after each page, with the number of objects of a resource that were read so
	// far.
	Page(resource string, objects int) error
	// Unread is called with the error for each resource that can't be read. The report continues
	// with the next resource.
	Unread(err error)
}

// Report finds the protected labels and annotations in a cluster.
type Report struct {
	// Namespace limits the report to one namespace. Cluster-scoped objects are then left out.
	Namespace string
	// Resources limits the report to some resources, named as in kubectl. Empty means all
	// resources.
	Resources []string
	// Config is the client configuration of the caller.
	Config *rest.Config
}

// Run writes the results to a sink. It returns an error if a requested resource could not be
// read.
func (r Report) Run(ctx context.Context, sink Sink) error {
	authorities, err := authorityclient.NewForConfig(r.Config)
	if err != nil {
		return err
	}
	core, err := kubernetes.NewForConfig(r.Config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(r.Config)
	if err != nil {
		return err
	}
	attributes, err := Attributes(ctx, authorities, core, r.Namespace)
	if err != nil {
		return err
	}
	var entries []protect.Entry
	for _, a := range attributes {
		entries = append(entries, Entry(a.Name, a.Namespace, a.Spec))
	}
	unread := 0
	skip := func(err error) {
		unread++
		sink.Unread(err)
	}
	all, err := resources(core.Discovery(), r.Resources)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return err
	} else if err != nil {
		skip(err)
	}
	compiled := trees{root: openapi3.NewRoot(core.Discovery().OpenAPIV3())}
	run := run{Report: r, set: protect.New(entries...), objects: objects, to: sink}
	for _, l := range all {
		if len(entries) == 0 {
			break
		}
		if r.Namespace != "" && !l.namespaced {
			continue
		}
		k, err := compiled.kindOf(ctx, l)
		if err == nil {
			err = run.kind(ctx, k)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, new(sinkError)):
			return err
		case apierrors.IsMethodNotSupported(err):
			// The resource is skipped: discovery reports the verb list for it, but the server does
			// not support that verb.
		case err != nil:
			skip(err)
		}
	}
	if unread > 0 {
		return fmt.Errorf("the report is not complete: %d resources could not be read", unread)
	}
	return nil
}

// sinkError is an error that the sink returned. It ends the report.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// run is the state of Report.Run.
type run struct {
	Report
	set     *protect.Set
	objects dynamic.Interface
	to      Sink
}

// kind reports the objects of a kind, page by page.
func (r *run) kind(ctx context.Context, k *kind) error {
	if !r.mayBeProtected(k) {
		return nil
	}
	client := r.objects.Resource(k.resource).Namespace(r.Namespace)
	options := metav1.ListOptions{Limit: PageSize}
	for seen := 0; ; {
		list, err := client.List(ctx, options)
		if next := continuation(err); next != "" {
			// The continue token has expired. With the new token, the list continues at the same
			// key, with the current objects.
			options.Continue = next
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", k, err)
		}
		for i := range list.Items {
			if err := r.object(k, &list.Items[i]); err != nil {
				return err
			}
		}
		seen += len(list.Items)
		if err := r.to.Page(k.String(), seen); err != nil {
			return sinkError{err}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// mayBeProtected reports whether a protected attribute may apply to objects of the kind.
func (r *run) mayBeProtected(k *kind) bool {
	if !k.namespaced {
		return r.set.Active("", k.target) != 0
	}
	if r.Namespace != "" {
		return r.set.Active(r.Namespace, k.target) != 0
	}
	return true // any namespace may have a protected attribute
}

func (r *run) object(k *kind, obj *unstructured.Unstructured) error {
	namespace := obj.GetNamespace()
	if r.set.Active(namespace, k.target) == 0 {
		return nil
	}
	// A comparison with nil, as for a create, returns all labels and annotations of the object.
	decider := protect.NewDecider(r.set, namespace, k.target, nil, 0)
	carried, err := k.walker.Attributes(both, decider, nil, obj.Object)
	if err != nil {
		return fmt.Errorf("compare %s %s: %w", k, obj.GetName(), err)
	}
	if k.resource.Resource == "controllerrevisions" {
		carried = append(carried, change.Embedded(both, decider, change.Path{{Field: "data"}}, nil, obj.Object["data"])...)
	}
	for i := range carried {
		a := &carried[i]
		concerned := decider.Concerned(a)
		if len(concerned) == 0 {
			continue
		}
		err := r.to.Row(Row{
			Group: k.resource.Group, Resource: k.resource.Resource, Namespace: namespace, Name: obj.GetName(),
			Kind: a.Kind.String(), Field: a.String(), Key: a.Key, Value: a.New.Text, By: concerned,
		})
		if err != nil {
			return sinkError{err}
		}
	}
	return nil
}

// continuation returns the new continue token that the server's error for an expired token
// contains. It returns "" for other errors.
func continuation(err error) string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || !apierrors.IsResourceExpired(err) {
		return ""
	}
	return status.Status().ListMeta.Continue
}
