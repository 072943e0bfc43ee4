// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/granular/protect"
	registry "kube-granular.dev/pkg/registry/authority"
)

// TestHolderOfWhat holds that a user holds roles only, and none before the server knows who holds
// them: what can't be told is an error, which refuses the request.
func TestHolderOfWhat(t *testing.T) {
	jane := &user.DefaultInfo{Name: "jane"}
	setter := protect.Reference{Kind: protect.ClusterRole, Name: "setter"}
	p := New()
	ask := func(what string, ref protect.Reference, want bool, problem string) {
		t.Helper()
		held, err := p.Holds(t.Context(), jane, ref)
		if held != want || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, %v, want %v, %q", what, held, err, want, problem)
		}
	}
	ask("before the server reads roles", setter, false, "has not read yet who holds")
	factory := informers.NewSharedInformerFactory(fake.NewClientset(
		role("", "setter"), role("n", "setter"),
		binding("", "a", "ClusterRole", "setter", person("jane")), binding("n", "b", "Role", "setter", person("jane")),
		binding("", "c", "Group", "setter", person("jane")), binding("", "d", "", "setter", person("jane")),
	), 0)
	if err := p.UseInformers(factory); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	ask("before it knows the attributes", setter, false, "has not read yet who holds")
	p.SetKinds(registry.Kinds{})
	ask("a cluster role", setter, true, "")
	ask("a role", protect.Reference{Kind: protect.Role, Namespace: "n", Name: "setter"}, true, "")
	ask("another role", protect.Reference{Kind: protect.ClusterRole, Name: "other"}, false, "")
	if held, err := p.Holds(t.Context(), nil, setter); held || err == nil || !strings.Contains(err.Error(), "has no user") {
		t.Errorf("no user: %v, %v", held, err)
	}
	for _, kind := range []string{"Group", "User", "", "clusterrole"} {
		ask("the kind "+kind, protect.Reference{Kind: kind, Name: "setter"}, false, "is no role")
	}
	alone := New()
	alone.SetKinds(registry.Kinds{})
	if held, err := alone.Holds(t.Context(), jane, setter); held || err == nil {
		t.Errorf("a server without informers: %v, %v", held, err)
	}
}

// TestRolesAndBindings holds which UID a role has and by which bindings users hold it, as a status
// shows them.
func TestRolesAndBindings(t *testing.T) {
	roles, _ := known(t,
		role("", "setter"), role("n", "setter"),
		binding("", "a", "ClusterRole", "setter", person("jane")),
		binding("n", "b", "ClusterRole", "setter", person("jane")),
		binding("m", "c", "ClusterRole", "setter", person("jane")),
		binding("n", "d", "Role", "setter", person("jane")),
		binding("", "e", "ClusterRole", "other", person("jane")),
	)
	for name, tc := range map[string]struct {
		ref              protect.Reference
		exists           bool
		here, everywhere int
	}{
		"a cluster role":                 {protect.Reference{Kind: protect.ClusterRole, Name: "setter"}, true, 0, 1},
		"a cluster role, in a namespace": {protect.Reference{Kind: protect.ClusterRole, Namespace: "n", Name: "setter"}, true, 1, 1},
		"a role":                         {protect.Reference{Kind: protect.Role, Namespace: "n", Name: "setter"}, true, 1, 0},
		"a role of another namespace":    {protect.Reference{Kind: protect.Role, Namespace: "m", Name: "setter"}, false, 0, 0},
		"a cluster role without":         {protect.Reference{Kind: protect.ClusterRole, Name: "none"}, false, 0, 0},
	} {
		if _, exists := roles.Role(tc.ref); exists != tc.exists {
			t.Errorf("%s: exists: %v", name, exists)
		}
		here, everywhere, err := roles.Bindings(tc.ref)
		if err != nil || len(here) != tc.here || len(everywhere) != tc.everywhere {
			t.Errorf("%s: %d bindings here, %d everywhere, %v", name, len(here), len(everywhere), err)
		}
	}
}
