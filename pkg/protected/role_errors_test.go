// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/granular/protect"
)

// answers is a lister of ClusterRoles. Each element is the error of one Get, in order; the last one is that of
// all later ones.
type answers struct {
	rbaclisters.ClusterRoleLister
	errs []error
}

func (l *answers) Get(name string) (*rbacv1.ClusterRole, error) {
	err := l.errs[0]
	if len(l.errs) > 1 {
		l.errs = l.errs[1:]
	}
	return &rbacv1.ClusterRole{}, err
}

// TestHoldsWhereARoleCannotBeRead holds that nobody holds a role that can't be read, that the error says so, and
// that one binding by which the role is held suffices.
func TestHoldsWhereARoleCannotBeRead(t *testing.T) {
	roles, _ := known(t, role("", "setter"),
		binding("", "a", "ClusterRole", "setter", person("jane")), binding("", "b", "ClusterRole", "setter", person("jane")))
	failed, gone := errors.New("no answer"), apierrors.NewNotFound(rbacv1.Resource("clusterroles"), "setter")
	for name, tc := range map[string]struct {
		errs []error
		held bool
		says string
	}{
		"it can be read":         {errs: []error{nil}, held: true},
		"it can't be read":       {errs: []error{failed}, says: "no answer"},
		"at first it can't":      {errs: []error{failed, nil}, held: true},
		"it appears":             {errs: []error{gone, nil}, held: true},
		"it disappears":          {errs: []error{nil, gone}, held: true},
		"afterwards it can't":    {errs: []error{nil, failed}, held: true},
		"it is gone":             {errs: []error{gone}},
		"it can't, then is gone": {errs: []error{failed, gone}, says: "no answer"},
	} {
		roles.clusterRoles = &answers{errs: tc.errs}
		held, err := roles.Holds(t.Context(), &user.DefaultInfo{Name: "jane"}, protect.Reference{Kind: protect.ClusterRole, Name: "setter"})
		if held != tc.held || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %t, %v, want %t, %q", name, held, err, tc.held, tc.says)
		}
	}
}

// TestBindingsWithoutIndex holds that bindings which can't be looked up are an error, and not none.
func TestBindingsWithoutIndex(t *testing.T) {
	bare := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	local, everywhere := protect.Reference{Kind: protect.Role, Namespace: "n", Name: "setter"}, protect.Reference{Kind: protect.ClusterRole, Name: "setter"}
	inNamespace := protect.Reference{Kind: protect.ClusterRole, Namespace: "n", Name: "setter"}
	for name, tc := range map[string]struct {
		ref             protect.Reference
		bindings, wider bool // whether the RoleBindings and the ClusterRoleBindings have an index
	}{
		"bindings of a role":                         {local, false, true},
		"bindings of a cluster role in a namespace":  {inNamespace, false, true},
		"bindings of a cluster role":                 {everywhere, true, false},
		"both of a cluster role":                     {inNamespace, false, false},
		"cluster role bindings, seen by a namespace": {inNamespace, true, false},
	} {
		roles, _ := known(t, role("", "setter"), role("n", "setter"))
		if !tc.bindings {
			roles.bindings = bare
		}
		if !tc.wider {
			roles.clusterBindings = bare
		}
		if _, _, err := roles.Bindings(tc.ref); err == nil {
			t.Errorf("%s: no error", name)
		}
		if held, err := roles.Holds(t.Context(), &user.DefaultInfo{Name: "jane"}, tc.ref); held || err == nil {
			t.Errorf("%s: held: %t, %v", name, held, err)
		}
	}
}

// TestIndexOfBindings holds that the index of bindings by role has nothing but bindings.
func TestIndexOfBindings(t *testing.T) {
	roles, _ := known(t, binding("", "a", "ClusterRole", "setter"), binding("n", "a", "Role", "setter"))
	for key, indexer := range map[string]cache.Indexer{
		roleKey("", "ClusterRole", "setter"): roles.clusterBindings, roleKey("n", "Role", "setter"): roles.bindings,
	} {
		if err := indexer.Add(role("n", "setter")); err != nil {
			t.Fatal(err)
		}
		if keys := indexer.ListIndexFuncValues(byRole); len(keys) != 1 || keys[0] != key {
			t.Errorf("keys %q, want only %q", keys, key)
		}
	}
}
