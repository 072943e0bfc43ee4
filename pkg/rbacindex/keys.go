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

// A key is a namespace, empty for what holds everywhere, whether the subject is a group,
// and its name. A service account is the user that it authenticates as. A binding with
// more subjects than maxSubjects has but one key, and is listed to every caller: it is
// indexed while all questions wait.
const (
	userInfix   = "/user/"
	groupInfix  = "/group/"
	manySuffix  = "/many"
	maxSubjects = 64
)

// subjectKeys gives the keys of a binding: whoever RBAC finds it to be about has one of
// them (appliesToUser in k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go).
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

// maxGroups is of how many groups a caller may be to be looked for: each is a look. Access
// reviews ask about whatever groups their author likes.
const maxGroups = 64

// callerKeys are the keys of the subjects that a caller is, each once. They are one text,
// since they are made for every question.
type callerKeys struct {
	namespace, text string
	// ends says where each key ends and the next one starts.
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

// key gives one key, of the same caller in the namespace or everywhere.
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
