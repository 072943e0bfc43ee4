// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"encoding/json"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ParseSubject parses a subject: user:jane, group:developers, serviceaccount:shop/deployer, or
// the user name of a service account.
func ParseSubject(text string) (rbacv1.Subject, error) {
	kind, name, found := strings.Cut(text, ":")
	switch strings.ToLower(kind) {
	case "user":
		return user(name)
	case "group":
		if name == "" {
			break
		}
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}, nil
	case "serviceaccount", "sa":
		namespace, account, ok := strings.Cut(name, "/")
		if !ok || namespace == "" || account == "" {
			break
		}
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}, nil
	default:
		if !found || kind == "system" {
			return user(text)
		}
	}
	return rbacv1.Subject{}, fmt.Errorf("subject %q: write user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME", text)
}

// ParseSubjects parses subjects. An error begins with the label, which names where they are written.
func ParseSubjects(label string, texts []string) ([]rbacv1.Subject, error) {
	var out []rbacv1.Subject
	for _, text := range texts {
		subject, err := ParseSubject(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", label, err)
		}
		out = append(out, subject)
	}
	return out, nil
}

// FormatSubject returns a subject in the form that ParseSubject parses.
func FormatSubject(subject rbacv1.Subject) string {
	if subject.Kind == rbacv1.ServiceAccountKind {
		return "serviceaccount:" + subject.Namespace + "/" + subject.Name
	}
	return strings.ToLower(subject.Kind) + ":" + subject.Name
}

// user returns the subject for a user name: a ServiceAccount if the name is that of a service
// account, and a User otherwise.
func user(name string) (rbacv1.Subject, error) {
	if rest, ok := strings.CutPrefix(name, "system:serviceaccount:"); ok {
		if namespace, account, ok := strings.Cut(rest, ":"); ok && namespace != "" && account != "" {
			return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}, nil
		}
	}
	if name == "" {
		return rbacv1.Subject{}, fmt.Errorf("the name of the user is empty")
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}, nil
}

// Objects returns the Role or ClusterRole of a grant, and its binding if there are subjects.
func (g *Grant) Objects(name string, subjects []rbacv1.Subject) []runtime.Object {
	meta := metav1.ObjectMeta{Name: name, Namespace: g.Namespace}
	kind, role := "Role", runtime.Object(&rbacv1.Role{TypeMeta: typeMeta("Role"), ObjectMeta: meta, Rules: g.Rules})
	if g.Namespace == "" {
		kind, role = "ClusterRole", &rbacv1.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: meta, Rules: g.Rules}
	}
	if len(subjects) == 0 {
		return []runtime.Object{role}
	}
	return []runtime.Object{role, Binding(name, g.Namespace, kind, name, subjects)}
}

// Binding returns a RoleBinding of a role, or a ClusterRoleBinding if the namespace is "". kind is that of the role.
func Binding(name, namespace, kind, role string, subjects []rbacv1.Subject) runtime.Object {
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{TypeMeta: typeMeta("ClusterRoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{TypeMeta: typeMeta("RoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// Content returns an object as a map, without empty fields and the time of its creation.
func Content(o runtime.Object) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(out, "metadata", "creationTimestamp")
	return out, nil
}

// Contents returns the Content of each object.
func Contents(objects []runtime.Object) (out []any, err error) {
	for _, o := range objects {
		content, err := Content(o)
		if err != nil {
			return nil, err
		}
		out = append(out, content)
	}
	return out, nil
}
