// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	registry "kube-granular.dev/pkg/registry/authority"
)

// waiting is the context of a request. Something happens as soon as the request waits.
type waiting struct {
	context.Context
	meanwhile func()
}

func (w *waiting) Done() <-chan struct{} {
	w.meanwhile()
	return nil
}

// TestConfirmBind holds that exactly those bindings need the verb "bind" on their role that
// count for an attribute which refers to the role.
func TestConfirmBind(t *testing.T) {
	p := New()
	bindings := rbacv1.Resource("rolebindings")
	of := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "everywhere"}
	if err := p.ConfirmBind(ended(t), bindings, "b", "", of); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("nothing is known yet: %v", err)
	}
	p.SetKinds(registry.Kinds{})
	p.Observe(refers(attribute("", "a", "x", 1), "ClusterRole", "everywhere"), false)
	p.Observe(refers(attribute("n", "a", "y", 2), "ClusterRole", "edit"), false)
	p.Observe(refers(attribute("n", "b", "z", 3), "Role", "local"), false)
	for _, tc := range []struct {
		namespace, kind, name string
		takes                 bool
	}{
		{"", "ClusterRole", "everywhere", true},
		{"n", "ClusterRole", "everywhere", false},
		{"n", "ClusterRole", "edit", true},
		{"m", "ClusterRole", "edit", false},
		{"", "ClusterRole", "edit", false},
		{"n", "Role", "edit", false},
		{"n", "Role", "local", true},
		{"m", "Role", "local", false},
		{"n", "ClusterRole", "local", false},
		{"", "ClusterRole", "view", false},
	} {
		err := p.ConfirmBind(ended(t), bindings, "b", tc.namespace, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: tc.kind, Name: tc.name})
		if tc.takes != apierrors.IsForbidden(err) || !tc.takes && err != nil {
			t.Errorf("a binding of %s %q in %q: %v", tc.kind, tc.name, tc.namespace, err)
		}
		where := map[bool]string{true: "in the cluster", false: `in namespace "` + tc.namespace + `"`}[tc.namespace == ""]
		if tc.takes && (!strings.Contains(err.Error(), `"b"`) || !strings.Contains(err.Error(), `"bind" on `+tc.kind+` "`+tc.name+`" `+where)) {
			t.Errorf("the message is %v", err)
		}
	}
	late := New()
	during := &waiting{Context: t.Context(), meanwhile: func() {
		late.Observe(refers(attribute("", "a", "x", 1), "ClusterRole", "everywhere"), false)
		late.SetKinds(registry.Kinds{})
	}}
	if err := late.ConfirmBind(during, bindings, "b", "", of); !apierrors.IsForbidden(err) {
		t.Errorf("the attribute is known when the wait ends: %v", err)
	}
	p.Observe(attribute("", "a", "x", 4), true)
	if err := p.ConfirmBind(ended(t), bindings, "b", "", of); err != nil {
		t.Errorf("nothing refers to the role any more: %v", err)
	}
}
