// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/manifest"
	"kube-granular.dev/pkg/cli/roles"
)

// Roles are the roles and bindings of files. A role counts where, and for whom, a binding in the files
// says so. A role to which no binding in the files refers counts for everybody: a Role in its namespace,
// a ClusterRole everywhere.
type Roles struct {
	// Notes say which objects of the files do not count, or not as they stand there.
	Notes []string

	namespace string
	objects   []runtime.Object
	rbac      *access.RBAC
}

// NewRoles returns Roles without any. namespace is that of objects whose files name none.
func NewRoles(namespace string) *Roles { return &Roles{namespace: namespace} }

// Add adds the roles and bindings of a YAML or JSON file.
func (r *Roles) Add(file string, data []byte) error { return manifest.Each(file, data, r.add) }

func (r *Roles) add(found *manifest.Object) error {
	object, err := roles.Decode(found, r.namespace)
	if err != nil {
		return err
	}
	if object == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %s %s does not count: it is no role or binding of %s", found.File, found.Kind, found.Name,
			rbacv1.SchemeGroupVersion))
		return nil
	}
	if o, ok := object.(*rbacv1.ClusterRole); ok && o.AggregationRule != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: ClusterRole %s is aggregated from others: only the rules in the file count",
			found.File, o.Name))
	}
	r.objects = append(r.objects, object)
	return nil
}

// Complete must be called after the last Add. It returns an error if the files have no role.
func (r *Roles) Complete() error {
	var lost []string
	r.rbac, lost = access.NewRBAC(r.objects)
	for _, binding := range lost {
		r.Notes = append(r.Notes, binding+" does not count: its role is not in the files")
	}
	if !r.rbac.HasRoles() {
		return errors.New("the files have no Role and no ClusterRole")
	}
	return nil
}

// Bind reports whether a binding in the files names a user, or one of its groups.
func (r *Roles) Bind(name string, groups []string) bool { return r.rbac.Names(name, groups) }

// HasBindings reports whether the files have bindings of their roles.
func (r *Roles) HasBindings() bool { return r.rbac.HasBindings() }

// Verbs returns the verbs that the roles grant for a request.
func (r *Roles) Verbs(d *learn.Demand) []string {
	target := access.Target{Group: d.Key.Group, Namespace: d.Key.Namespace, Name: d.Name}
	target.Resource, target.Subresource, _ = strings.Cut(d.Key.Resource, "/")
	var out []string
	count := func(namespace string, rule rbacv1.PolicyRule) {
		if namespace == "" || namespace == d.Key.Namespace {
			out = append(out, access.VerbsOn(rule, target)...)
		}
	}
	for _, h := range r.rbac.HeldBy(d.User, d.Groups) {
		count(h.Namespace, h.Rule)
	}
	for _, h := range r.rbac.Unbound() {
		count(h.Namespace, h.Rule)
	}
	return out
}
