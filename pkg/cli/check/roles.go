// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/learn"
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

// Add adds the roles and bindings of a YAML or JSON file. Like kubectl, it refuses unknown fields: a
// misspelled resourceNames would make a rule wider.
func (r *Roles) Add(file string, data []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		document, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if string(document) == "null" {
			continue
		}
		if err := r.add(file, document); err != nil {
			return err
		}
	}
}

func (r *Roles) add(file string, document []byte) error {
	var head struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Items             []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return fmt.Errorf("%s: not an object of Kubernetes", file)
	}
	if head.Kind == "" {
		return fmt.Errorf("%s: an object has no kind", file)
	}
	if strings.HasSuffix(head.Kind, "List") {
		for _, item := range head.Items {
			if err := r.add(file, item); err != nil {
				return err
			}
		}
		return nil
	}
	var object runtime.Object
	switch {
	case head.APIVersion != rbacv1.SchemeGroupVersion.String():
	case head.Kind == "Role":
		object = &rbacv1.Role{}
	case head.Kind == "ClusterRole":
		object = &rbacv1.ClusterRole{}
	case head.Kind == "RoleBinding":
		object = &rbacv1.RoleBinding{}
	case head.Kind == "ClusterRoleBinding":
		object = &rbacv1.ClusterRoleBinding{}
	}
	if object == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %s %s does not count: it is no role or binding of %s", file, head.Kind, head.Name,
			rbacv1.SchemeGroupVersion))
		return nil
	}
	strict := json.NewDecoder(bytes.NewReader(document))
	strict.DisallowUnknownFields()
	if err := strict.Decode(object); err != nil {
		return fmt.Errorf("%s: %s %s: %w", file, head.Kind, head.Name, err)
	}
	switch o := object.(type) {
	case *rbacv1.Role:
		if o.Namespace == "" {
			o.Namespace = r.namespace
		}
	case *rbacv1.RoleBinding:
		if o.Namespace == "" {
			o.Namespace = r.namespace
		}
	case *rbacv1.ClusterRole:
		if o.AggregationRule != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: ClusterRole %s is aggregated from others: only the rules in the file count", file, o.Name))
		}
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
