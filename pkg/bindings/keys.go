// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// A key is a namespace, empty for what holds everywhere, whether the subject is a group,
// and its name. A service account is the user that it authenticates as.
const (
	userInfix  = "/user/"
	groupInfix = "/group/"
)

// subjectKeys gives the keys of a binding: whoever RBAC finds it to be about has one of
// them (appliesToUser in k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go).
func subjectKeys(namespace string, subjects []rbacv1.Subject) []string {
	out := make([]string, 0, len(subjects))
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			out = append(out, namespace+userInfix+s.Name)
		case rbacv1.GroupKind:
			out = append(out, namespace+groupInfix+s.Name)
		case rbacv1.ServiceAccountKind:
			of := s.Namespace
			if of == "" {
				of = namespace
			}
			if of != "" {
				out = append(out, namespace+userInfix+serviceaccount.MakeUsername(of, s.Name))
			}
		}
	}
	return out
}

// callerKeys are the keys of the subjects that a caller is. They are one text, since they
// are made for every question.
type callerKeys struct {
	namespace, text string
	// ends says where each key ends and the next one starts.
	ends []int
}

func keysOf(namespace string, caller user.Info) callerKeys {
	name, groups := caller.GetName(), caller.GetGroups()
	size := len(namespace) + len(userInfix) + len(name)
	for _, group := range groups {
		size += len(namespace) + len(groupInfix) + len(group)
	}
	text, ends := strings.Builder{}, make([]int, 0, 1+len(groups))
	text.Grow(size)
	add := func(infix, name string) {
		text.WriteString(namespace)
		text.WriteString(infix)
		text.WriteString(name)
		ends = append(ends, text.Len())
	}
	add(userInfix, name)
	for _, group := range groups {
		add(groupInfix, group)
	}
	return callerKeys{namespace, text.String(), ends}
}

// len is the number of keys.
func (k *callerKeys) len() int { return len(k.ends) }

// in gives one key, of the same caller in the namespace or everywhere.
func (k *callerKeys) in(everywhere bool, i int) string {
	start := 0
	if i > 0 {
		start = k.ends[i-1]
	}
	if everywhere {
		start += len(k.namespace)
	}
	return k.text[start:k.ends[i]]
}
