// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityclient "kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/cli/pages"
)

// ErrNotServed means that a server has no protected attributes.
var ErrNotServed = errors.New("the server does not serve protected attributes; its feature gate ProtectedAttributes may be off")

// Attribute is a protected attribute in force.
type Attribute struct {
	// Name is in kubectl's format, such as protectedattribute/env.
	Name string
	// Namespace is "" for a ClusterProtectedAttribute.
	Namespace string
	Spec      *v1alpha1.ProtectedAttributeSpec
}

// Attributes returns all protected attributes in force: those of the cluster and those of the namespace, or of
// all namespaces if namespace is "". If it can't read those of namespaces, it returns the others with an error.
func Attributes(
	ctx context.Context, client authorityclient.Interface, core kubernetes.Interface, namespace string,
) (out []Attribute, err error) {
	cluster := client.AuthorityV1alpha1().ClusterProtectedAttributes()
	err = pages.Each(ctx, cluster.List, func(a *v1alpha1.ClusterProtectedAttribute) error {
		out = append(out, Attribute{"clusterprotectedattribute/" + a.Name, "", &a.Spec})
		return nil
	})
	if err != nil {
		return nil, readError("clusterprotectedattributes", err)
	}
	namespaces := namespaceUIDs{core: core, cache: map[string]types.UID{}}
	namespaced := client.AuthorityV1alpha1().ProtectedAttributes(namespace)
	err = pages.Each(ctx, namespaced.List, func(a *v1alpha1.ProtectedAttribute) error {
		live, err := namespaces.of(ctx, a.Namespace)
		if err != nil {
			return err
		}
		// An attribute has no effect if it was created in an earlier namespace of the same name,
		// which has another UID.
		if uid := a.Status.NamespaceUID; uid == live || uid == "" || live == "" {
			out = append(out, Attribute{"protectedattribute/" + a.Name, a.Namespace, &a.Spec})
		}
		return nil
	})
	if err != nil {
		return out, readError("protectedattributes", err)
	}
	return out, nil
}

func readError(resource string, err error) error {
	if apierrors.IsNotFound(err) {
		return ErrNotServed
	}
	return fmt.Errorf("read %s: %w", resource, err)
}

// Includes reports whether the name of a protected attribute, a key or example.com/*, includes a key.
func Includes(name, key string) bool {
	if domain, ok := strings.CutSuffix(name, "*"); ok && strings.HasSuffix(domain, "/") {
		return strings.HasPrefix(key, domain)
	}
	return name == key
}

// Selects reports whether the attribute is about a resource.
func (a *Attribute) Selects(resource v1alpha1.GroupResource) bool {
	named := len(a.Spec.Resources) == 0 || slices.Contains(a.Spec.Resources, resource)
	return named && !slices.Contains(a.Spec.ExcludeResources, resource)
}

// Field returns "labels" or "annotations", and the permission of the verb that the attribute requires unless it has a role.
func (a *Attribute) Field() (field, reserved string) {
	if a.Spec.AttributeKind == v1alpha1.AttributeAnnotation {
		return "annotations", permission.ProtectedAnnotation
	}
	return "labels", permission.ProtectedLabel
}

// Verb returns the verb that the attribute requires for a key, unless it has a role.
func (a *Attribute) Verb(key string) permission.Verb {
	_, reserved := a.Field()
	return permission.Verb{Permission: reserved, Parameter: key, Parameterized: true}
}

// String returns the name with the namespace, for messages.
func (a *Attribute) String() string {
	if a.Namespace == "" {
		return a.Name
	}
	return a.Name + " in namespace " + a.Namespace
}

// Entry returns the entry of a protected attribute. The entry shares slices with the attribute.
func Entry(name, namespace string, spec *v1alpha1.ProtectedAttributeSpec) protect.Entry {
	e := protect.Entry{
		Name: name, Namespace: namespace,
		Kind: protect.KindOf(string(spec.AttributeKind)), Key: spec.AttributeName,
		ProtectedValues: spec.ProtectedValues, AllowedValues: spec.AllowedValues,
		Mode: protect.Mode(spec.Mode),
	}
	if spec.RoleRef != nil {
		e.Role = protect.RoleRef{Kind: spec.RoleRef.Kind, Name: spec.RoleRef.Name}
	}
	for _, r := range spec.Resources {
		e.Resources = append(e.Resources, protect.Resource(r))
	}
	for _, r := range spec.ExcludeResources {
		e.ExcludeResources = append(e.ExcludeResources, protect.Resource(r))
	}
	return e
}

// namespaceUIDs caches the UIDs of namespaces. The UID is "" for a namespace that does not exist
// or that the caller may not read.
type namespaceUIDs struct {
	core  kubernetes.Interface
	cache map[string]types.UID
}

func (u namespaceUIDs) of(ctx context.Context, namespace string) (types.UID, error) {
	if uid, ok := u.cache[namespace]; ok {
		return uid, nil
	}
	live, err := u.core.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		u.cache[namespace] = ""
	case err != nil:
		return "", fmt.Errorf("read namespace %s: %w", namespace, err)
	default:
		u.cache[namespace] = live.UID
	}
	return u.cache[namespace], nil
}
