// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/export"
	"kube-granular.dev/pkg/modelstest"
)

// configMaps are kinds with config maps alone.
type configMaps struct{ tree *schema.Tree }

func (m configMaps) Target(group, resource, subresource string) (*export.Target, error) {
	if group+resource+subresource != "configmaps" {
		return nil, nil
	}
	return &export.Target{Resource: kubeschema.GroupVersionResource{Version: "v1", Resource: resource}, Tree: m.tree, Namespaced: true}, nil
}

func (m configMaps) TargetWith(*overlay.Entries, string, string) (*export.Target, error) {
	return nil, nil
}

func treeOfMaps(t *testing.T) *schema.Tree {
	t.Helper()
	tree, err := schema.Compile(modelstest.BuiltIn(), "io.k8s.api.core.v1.ConfigMap")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func clusterRole(name, rule string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ` + name + `, uid: "1", resourceVersion: "7"}, rules: [` + rule + `]}`
}

func roleBinding(name, role, namespace string, users ...string) string {
	subjects := ""
	for _, user := range users {
		subjects += `{kind: User, apiGroup: rbac.authorization.k8s.io, name: ` + user + `}, `
	}
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: ` + name + `, namespace: ` + namespace + `}, roleRef: ` +
		`{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + role + `}, subjects: [` + subjects + `]}`
}

// TestStandIns checks for what something stands in, that the reason is known for the rest, and that the file has nothing that does
// not change.
func TestStandIns(t *testing.T) {
	client := cluster(t, "",
		clusterRole("painter", `{apiGroups: [""], resources: [configmaps], verbs: [get, granular, "granular:labels"]}`), roleBinding("painter", "painter", "shop", "pia"),
		clusterRole("writer", `{apiGroups: [""], resources: [configmaps], verbs: [update, patch]}`), roleBinding("writer", "writer", "mill", "pia", "will"),
		clusterRole("half", `{apiGroups: [""], resources: [configmaps], verbs: [granular, "granular:data"]}`), roleBinding("half", "half", "shop", "hal"),
		clusterRole("patcher", `{apiGroups: [""], resources: [configmaps], verbs: [patch]}`), roleBinding("patcher", "patcher", "shop", "hal"),
		clusterRole("nobodys", `{apiGroups: [""], resources: [configmaps], verbs: [granular, "granular:data"]}`),
		clusterRole("elsewhere", `{apiGroups: [other.example], resources: [things], verbs: [granular, "granular:labels"]}`), roleBinding("elsewhere", "elsewhere", "shop", "eva"),
		`{apiVersion: authority.kube-granular.dev/v1alpha1, kind: ClusterProtectedAttribute, metadata: {name: env, uid: "2"}, status: {}, spec: {attributeKind: Label, attributeName: env, roleRef: {kind: ClusterRole, name: keeper}}}`,
		roleBinding("keeper", "keeper", "shop", "kim"),
		`{apiVersion: authority.kube-granular.dev/v1alpha1, kind: ClusterProtectedAttribute, metadata: {name: all}, spec: {attributeKind: Label, attributeName: all.example/*}}`,
	)
	tree := treeOfMaps(t)
	found, err := StandInsOf(t.Context(), client, func(*export.Roles) export.Kinds { return configMaps{tree} })
	if err != nil {
		t.Fatal(err)
	}
	for object, reason := range map[string]string{
		"clusterroles/painter": "", "clusterprotectedattributes/env": "",
		"clusterroles/half": "a PUT from a PATCH", "clusterroles/nobodys": "nobody has it", "clusterprotectedattributes/all": "name a role",
	} {
		got, ok := found.reasons[object]
		if !ok || (reason == "") != (got == "") || !strings.Contains(got, reason) {
			t.Errorf("%s: %q, wanted %q", object, got, reason)
		}
	}
	if got, ok := found.reasons["clusterroles/writer"]; ok {
		t.Errorf("an ordinary role has a reason: %q", got)
	}
	var out bytes.Buffer
	if err := found.Write(&out, "v1"); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, has := range []string{"name: rollback-configmaps.core", "name: rollback-protected-attributes\n", "name: painter", "stand-in:rollback", command} {
		if !strings.Contains(text, has) {
			t.Errorf("the file lacks %q:\n%s", has, text)
		}
	}
	for _, not := range []string{"name: writer", "name: half", "kind: RoleBinding\n", "resourceVersion: \"7\"", `granular:labels"`} {
		if strings.Contains(text, not) {
			t.Errorf("the file has %q:\n%s", not, text)
		}
	}
	// pia holds update in another namespace, which stays so.
	if !strings.Contains(text, `request.namespace == \"mill\"`) && !strings.Contains(text, `request.namespace == "mill"`) {
		t.Errorf("the policy does not know the other role of pia:\n%s", text)
	}
	explained := found.Explain([]Finding{{Lost, "clusterroles/painter", "a"}, {Open, "clusterroles/half", "b"}, {Left, "clusterprotectedattributes/env", "c"}, {Lost, "x", "d"}})
	for i, want := range []string{"a; the file has what stands in", "b; nothing stands in: ", "c", "d"} {
		if !strings.HasPrefix(explained[i].What, want) {
			t.Errorf("%q, wanted %q", explained[i].What, want)
		}
	}
}

// TestNoStandIns checks that a cluster without anything is an error and no empty file, and that an unreadable one is an error.
func TestNoStandIns(t *testing.T) {
	kindsOf := func(*export.Roles) export.Kinds { return configMaps{} }
	found, err := StandInsOf(t.Context(), cluster(t, ""), kindsOf)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Write(&bytes.Buffer{}, "v1"); err == nil {
		t.Error("no error")
	}
	for _, resource := range []string{"rolebindings", "clusterroles", "fieldpermissions"} {
		client := cluster(t, "")
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(kubeschema.GroupResource{Resource: resource}, "", errors.New("no"))
		})
		if _, err := StandInsOf(t.Context(), client, kindsOf); err == nil {
			t.Errorf("%s can't be read, and there is no error", resource)
		}
	}
}
