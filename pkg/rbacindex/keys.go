// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// An index key consists of the namespace (empty for cluster role bindings), an infix that shows
// whether the subject is a user or a group, and the name of the subject. A service account has
// the key of its user name. A binding with more than maxSubjects subjects gets only one key, the
// namespace and manySuffix, because indexing it by each subject would lock the index for long.
// Every lookup in the namespace returns such a binding.
const (
	userInfix   = "/user/"
	groupInfix  = "/group/"
	manySuffix  = "/many"
	maxSubjects = 64
)

// subjectKeys returns the index keys of a binding. For every caller that the binding includes, at
// least one of these keys is among those that a lookup for the caller uses. Upstream's function
// appliesToUser in k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go decides whom a binding
// includes.
func subjectKeys(namespace string, subjects []rbacv1.Subject) []string {
	if len(subjects) > maxSubjects {
		return []string{namespace + manySuffix}
	}
	out := make([]string, 0, len(subjects))
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			out = append(out, namespace+userInfix+s.Name)
		case rbacv1.GroupKind:
			out = append(out, namespace+groupInfix+s.Name)
		case rbacv1.ServiceAccountKind:
			accountNamespace := s.Namespace
			if accountNamespace == "" {
				accountNamespace = namespace
			}
			if accountNamespace != "" {
				out = append(out, namespace+userInfix+serviceaccount.MakeUsername(accountNamespace, s.Name))
			}
		}
	}
	return out
}

// maxGroups is the largest number of groups of a caller for whom the index is used, because each
// group takes one lookup. For a caller with more groups, RBAC lists all bindings. The number needs
// a limit, because an access review can ask about a user with any number of groups.
const maxGroups = 64

// callerKeys are the index keys of a caller, without duplicates. All keys are parts of one string,
// which saves allocations: the keys are built for every request.
type callerKeys struct {
	namespace, text string
	// ends has the end of each key within text.
	ends []int
}

func keysOfCaller(namespace string, caller user.Info) callerKeys {
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
	for i, group := range groups {
		if !slices.Contains(groups[:i], group) {
			add(groupInfix, group)
		}
	}
	return callerKeys{namespace, text.String(), ends}
}

// key returns the key with index i: the key for bindings in the namespace, or, if everywhere is
// true, the key for cluster role bindings.
func (k *callerKeys) key(everywhere bool, i int) string {
	start := 0
	if i > 0 {
		start = k.ends[i-1]
	}
	if everywhere {
		start += len(k.namespace)
	}
	return k.text[start:k.ends[i]]
}
