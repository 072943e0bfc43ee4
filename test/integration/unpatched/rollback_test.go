// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// rolledBack has what an administrator of a patched server wrote. The last role can't be exported, because its subject also
// holds update and not patch.
const rolledBack = exportedRole + `
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: env}
spec: {attributeKind: Label, attributeName: env, roleRef: {kind: ClusterRole, name: release-manager}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: release-manager}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: release-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: release-manager}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: rita}]
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: deployments.apps}
spec: {version: v1, mode: Enforce, fields: [{path: .spec.replicas, permission: example.com/size, excluded: true}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writer}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, update, patch]}
- {apiGroups: [apps], resources: [deployments], verbs: [get, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writer}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: olga}, {kind: User, apiGroup: rbac.authorization.k8s.io, name: rita}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: half}
rules: [{apiGroups: [apps], resources: [statefulsets], verbs: [get, update, granular, "granular:labels"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: half}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: half}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: hal}]
`

// TestRollbackStandIns rolls a cluster back: it writes what stands in on the patched server, and applies that on a server without
// the patches that has the same objects.
//
// Attack: after a rollback to upstream's servers, what granular roles, protected attributes or FieldPermissions close
// Answer: 403 of what `kube-granular preflight rollback --stand-ins` wrote; the command says for what nothing stands in
func TestRollbackStandIns(t *testing.T) {
	path, endpoint := harness.Unpatched(t), etcd.Start(t)
	c := harness.Start(t, "--etcd-servers", endpoint, "--demo=false", "--feature-gates", "ProtectedAttributes=true,FieldPermissions=true")
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	ours := &stock{c, harness.Connect(t, c, "admin"), bin}
	ours.must(t, "kubectl", rolledBack+"---"+exportedObjects, "apply", "-f", "-")
	file := filepath.Join(t.TempDir(), "stand-ins.yaml")
	list := exec.CommandContext(t.Context(), filepath.Join(bin, "kube-granular"), "preflight", "rollback", "-o", "wide", "--stand-ins", file)
	list.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig("admin"), "HOME="+t.TempDir())
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, says := range [][]string{
		{"clusterroles/robot", "its granular verbs allow nothing", "; the file has what stands in"},
		{"clusterprotectedattributes/env", "may set and remove it; the file has what stands in"},
		{"fieldpermissions/deployments.apps", "may change it; the file has what stands in"},
		{"clusterroles/half", "; nothing stands in: ", "a policy can't tell a PUT from a PATCH"},
	} {
		found := false
		for line := range strings.Lines(string(out)) {
			there := true
			for _, text := range says {
				there = there && strings.Contains(line, text)
			}
			found = found || there
		}
		if !found {
			t.Errorf("no line says %q:\n%s", says, out)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"name: half", "name: writer", "kind: RoleBinding\n"} {
		if strings.Contains(string(text), not) {
			t.Errorf("the file has %q, which does not change", not)
		}
	}
	theirs := startTheirs(t, path, endpoint, c)
	s := &stock{c, theirs.Client, bin}
	s.must(t, "kubectl", string(text), "apply", "-f", "-")
	patch := func(user, path, body string) (int, string) {
		return s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: user}, Method: http.MethodPatch, Path: path + "?dryRun=All", ContentType: asMerge, Body: body})
	}
	harness.Until(t, "the policies are in force", func() bool {
		one, first := patch("jane", configMapPath, `{"immutable":true}`)
		two, second := patch("olga", configMapPath, `{"metadata":{"labels":{"env":"prod"}}}`)
		three, third := patch("olga", deploymentPath, `{"spec":{"replicas":9}}`)
		four, fourth := patch("jane", deploymentPath, `{"spec":{"paused":true}}`)
		return one == http.StatusForbidden && two == one && three == one && four == one &&
			strings.Contains(first, "rollback-configmaps.core") && strings.Contains(second, "rollback-protected-attributes") &&
			strings.Contains(third, "rollback-field-permission-deployments.apps") && strings.Contains(fourth, "rollback-deployments.apps")
	})
	for _, tc := range []struct {
		name, user, path, body string
		allowed                bool
	}{
		{"the own label", "jane", deploymentPath, `{"metadata":{"labels":{"super.safe.com/a":"1"}}}`, true},
		{"another label", "jane", deploymentPath, `{"metadata":{"labels":{"safe.com/a":"1"}}}`, false},
		{"data", "jane", configMapPath, `{"data":{"a":"b"}}`, true},
		{"a protected label", "jane", configMapPath, `{"metadata":{"labels":{"env":"prod"}}}`, false},
		{"a protected label, by who updates", "olga", configMapPath, `{"metadata":{"labels":{"env":"prod"}}}`, false},
		{"a protected label, by its role", "rita", configMapPath, `{"metadata":{"labels":{"env":"prod"}}}`, true},
		{"a closed field, by who updates", "olga", deploymentPath, `{"spec":{"replicas":9}}`, false},
		{"another field, by who updates", "olga", deploymentPath, `{"spec":{"paused":true}}`, true},
	} {
		if code, answer := patch(tc.user, tc.path, tc.body); (code == http.StatusOK) != tc.allowed || !tc.allowed && code != http.StatusForbidden {
			t.Errorf("%s: %d, wanted allowed %v: %.500s", tc.name, code, tc.allowed, answer)
		}
	}
}
