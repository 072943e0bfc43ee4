// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/manifest"
	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/cli/ui/snapshot"
)

// Files collects from files, without a cluster.
type Files struct {
	// Namespace is that of objects that name none.
	Namespace string
	// Now is the time.
	Now time.Time

	names []string
	in    snapshot.Input
	// tenants and requests are joined when all files are read.
	tenants  []*lnamespace
	requests []*sudoRequest
	// Ignored are the kinds of objects that the page does not show, with their number.
	Ignored map[string]int
}

// Add adds the objects of a YAML or JSON file.
func (f *Files) Add(file string, data []byte) error {
	f.names = append(f.names, file)
	return manifest.Each(file, data, f.add)
}

func (f *Files) add(o *manifest.Object) error {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	switch {
	case o.APIVersion == rbacv1.SchemeGroupVersion.String() && o.Kind == "ClusterRole":
		return decode(o, func(r *rbacv1.ClusterRole) { f.in.ClusterRoles = append(f.in.ClusterRoles, r) })
	case o.APIVersion == rbacv1.SchemeGroupVersion.String() && o.Kind == "ClusterRoleBinding":
		return decode(o, func(b *rbacv1.ClusterRoleBinding) { f.in.ClusterRoleBindings = append(f.in.ClusterRoleBindings, b) })
	case o.APIVersion == rbacv1.SchemeGroupVersion.String() && o.Kind == "Role":
		return decode(o, func(r *rbacv1.Role) {
			f.place(&r.Namespace)
			f.in.Roles = append(f.in.Roles, r)
		})
	case o.APIVersion == rbacv1.SchemeGroupVersion.String() && o.Kind == "RoleBinding":
		return decode(o, func(b *rbacv1.RoleBinding) {
			f.place(&b.Namespace)
			f.in.RoleBindings = append(f.in.RoleBindings, b)
		})
	case o.APIVersion == apiextensionsv1.SchemeGroupVersion.String() && o.Kind == "CustomResourceDefinition":
		return decode(o, func(d *apiextensionsv1.CustomResourceDefinition) { f.in.Definitions = append(f.in.Definitions, d) })
	case group == v1alpha1.GroupName && o.Kind == "ClusterProtectedAttribute":
		return decode(o, func(a *v1alpha1.ClusterProtectedAttribute) {
			f.in.Attributes = append(f.in.Attributes, protected.Attribute{Name: "clusterprotectedattribute/" + a.Name, Spec: &a.Spec})
		})
	case group == v1alpha1.GroupName && o.Kind == "ProtectedAttribute":
		return decode(o, func(a *v1alpha1.ProtectedAttribute) {
			f.place(&a.Namespace)
			found := protected.Attribute{Name: "protectedattribute/" + a.Name, Namespace: a.Namespace, Spec: &a.Spec}
			f.in.Attributes = append(f.in.Attributes, found)
		})
	case group == v1alpha1.GroupName && o.Kind == "AuthorityDelegation":
		return decode(o, func(d *v1alpha1.AuthorityDelegation) {
			if end := d.Status.ExpirationTimestamp; end == nil || end.After(f.Now) {
				f.in.Delegations = append(f.in.Delegations, d)
			}
		})
	case group == tenancyGroup && o.Kind == "LNamespace":
		return loose(o, func(t *lnamespace) { f.tenants = append(f.tenants, t) })
	case group == tenancyGroup && o.Kind == "SudoRequest":
		return loose(o, func(q *sudoRequest) {
			if f.place(&q.Namespace); q.isOpen() {
				f.requests = append(f.requests, q)
			}
		})
	case o.APIVersion == "v1" && o.Kind == "Namespace":
		f.in.Namespaces = append(f.in.Namespaces, o.Name)
		return nil
	}
	if f.Ignored == nil {
		f.Ignored = map[string]int{}
	}
	f.Ignored[o.Kind]++
	return nil
}

// place sets a missing namespace.
func (f *Files) place(namespace *string) {
	if *namespace == "" {
		*namespace = f.Namespace
	}
}

func decode[T any](o *manifest.Object, add func(*T)) error {
	out := new(T)
	if err := o.Decode(out); err != nil {
		return err
	}
	add(out)
	return nil
}

// loose decodes the part of an object that the page shows. No right follows from it.
func loose[T any](o *manifest.Object, add func(*T)) error {
	out := new(T)
	if err := json.Unmarshal(o.JSON, out); err != nil {
		return fmt.Errorf("%s: %s %s: %w", o.File, o.Kind, o.Name, err)
	}
	add(out)
	return nil
}

// Input returns what was collected. Files tell nothing about what they lack.
func (f *Files) Input() *snapshot.Input {
	input := f.in
	open := map[string][]model.SudoRequest{}
	for _, q := range f.requests {
		open[q.Namespace] = append(open[q.Namespace], q.model())
	}
	for _, t := range f.tenants {
		input.Tenants = append(input.Tenants, t.model(f.Now, open[t.Name]))
	}
	input.Builtin = true
	input.About = model.About{Cluster: strings.Join(f.names, ", "), Collected: f.Now.UTC().Format(time.RFC3339), Tenants: len(f.tenants) > 0}
	input.Unknown = []model.Unknown{{
		What: model.UnknownKinds, Why: "without a server, the kinds are those of Kubernetes and of the definitions in the files",
	}}
	for _, part := range []struct {
		what string
		have int
	}{
		{model.UnknownNamespaces, len(input.Namespaces)},
		{model.UnknownClusterRoles, len(input.ClusterRoles)}, {model.UnknownRoles, len(input.Roles)},
		{model.UnknownClusterRoleBindings, len(input.ClusterRoleBindings)}, {model.UnknownRoleBindings, len(input.RoleBindings)},
		{model.UnknownDelegations, len(input.Delegations)}, {model.UnknownProtected, len(input.Attributes)},
	} {
		if part.have == 0 {
			input.Unknown = append(input.Unknown, model.Unknown{What: part.what, Why: fmt.Sprintf("the files have no %s", part.what)})
		}
	}
	return &input
}
