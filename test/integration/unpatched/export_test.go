// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// exportedRole has a binding in one namespace.
const exportedRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: robot}
rules:
- apiGroups: [apps]
  resources: [deployments, deployments/status]
  verbs: [get, granular, "granular:label(super.safe.com)", "granular:finalizer(super.safe.com)", "granular:condition(SuperSafe)",
    "granular:podTemplateImageFrom(registry.example/team)"]
- {apiGroups: [apps], resources: [deployments/scale], verbs: [get, granular, "granular:replicas"]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, granular, "granular:metadata", "granular:data"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: robot, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: robot}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]
`

const exportedObjects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: default, finalizers: [other.example/hold]}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "registry.example/team/shop:1"}, {name: side, image: "registry.example/other:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {color: blue}
`

// exportedRequests are requests of jane, as arguments of kubectl, and whether they are allowed.
var exportedRequests = []struct {
	name    string
	args    string
	allowed bool
}{
	{"its own label", `patch deployment shop --type=merge -p {"metadata":{"labels":{"super.safe.com/a":"1"}}}`, true},
	{"another label", `patch deployment shop --type=merge -p {"metadata":{"labels":{"safe.com/a":"1"}}}`, false},
	{"its own finalizer", `patch deployment shop --type=json -p [{"op":"add","path":"/metadata/finalizers/-","value":"super.safe.com/x"}]`, true},
	{"another finalizer away", `patch deployment shop --type=merge -p {"metadata":{"finalizers":null}}`, false},
	{"its own condition", `patch deployment shop --subresource=status -p {"status":{"conditions":[{"type":"SuperSafe","status":"True"}]}}`, true},
	{"another condition", `patch deployment shop --subresource=status -p {"status":{"conditions":[{"type":"Other","status":"True"}]}}`, false},
	{"the rest of the status", `patch deployment shop --subresource=status -p {"status":{"replicas":7}}`, false},
	{"an image of the repository", `patch deployment shop -p {"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"registry.example/team/shop:2"}]}}}}`, true},
	{"an image from elsewhere", `patch deployment shop -p {"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"registry.example/team-b/shop:2"}]}}}}`, false},
	{"an image that was from elsewhere", `patch deployment shop -p {"spec":{"template":{"spec":{"containers":[{"name":"side","image":"registry.example/team/shop:2"}]}}}}`, false},
	{"a command", `patch deployment shop -p {"spec":{"template":{"spec":{"containers":[{"name":"shop","command":["sh"]}]}}}}`, false},
	{"a further container", `patch deployment shop -p {"spec":{"template":{"spec":{"containers":[{"name":"more","image":"registry.example/team/shop:2"}]}}}}`, false},
	{"replicas by scale", `scale deployment shop --replicas=3`, true},
	{"replicas", `patch deployment shop -p {"spec":{"replicas":4}}`, false},
	{"a field that no permission is for", `patch deployment shop -p {"spec":{"minReadySeconds":4}}`, false},
	{"data", `patch configmap settings -p {"data":{"color":"red"}}`, true},
	{"immutability", `patch configmap settings -p {"immutable":true}`, false},
	{"a new config map", `create configmap fresh --from-literal=a=b`, true},
	{"a new config map elsewhere", `create configmap fresh --from-literal=a=b -n kube-system`, false},
	{"a deletion", `delete configmap settings`, false},
}

// TestExportedPolicies checks that a server without permissions, with the exported policies, decides each request as ours
// does with the role itself. If there is no build without patches, our server with all gates off stands in for it.
func TestExportedPolicies(t *testing.T) {
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	_, ours := startOurs(t, etcd.Start(t))
	theirs := startStock(t)
	stock := theirs.Cluster
	run := func(c *cluster.Cluster, command, stdin string, args ...string) (string, error) {
		if c == stock {
			return theirs.run(t, command, stdin, args...)
		}
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, command), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig("admin"), "HOME="+t.TempDir())
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	must := func(c *cluster.Cluster, command, stdin string, args ...string) string {
		out, err := run(c, command, stdin, args...)
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", command, args, err, out)
		}
		return out
	}
	exported := must(stock, "kubectl-granular", exportedRole, "export", "vap", "-f", "-")
	for c, roles := range map[*cluster.Cluster]string{ours: exportedRole, stock: exported} {
		must(c, "kubectl", roles+"---"+exportedObjects, "apply", "-f", "-")
	}
	jane := func(c *cluster.Cluster, args string) (string, error) {
		return run(c, "kubectl", "", append(strings.Fields(args), "--as=jane", "--dry-run=server")...)
	}
	harness.Until(t, "the policies are in force", func() bool {
		out, err := jane(stock, `patch configmap settings -p {"immutable":true}`)
		return err != nil && strings.Contains(out, "robot-configmaps.core")
	})
	harness.Until(t, "the role is in force", func() bool {
		_, err := jane(ours, `patch configmap settings -p {"data":{"color":"green"}}`)
		return err == nil
	})
	for _, tc := range exportedRequests {
		t.Run(tc.name, func(t *testing.T) {
			for name, c := range map[string]*cluster.Cluster{"ours": ours, "stock": stock} {
				out, err := jane(c, tc.args)
				if (err == nil) != tc.allowed || err != nil && !strings.Contains(out, "orbidden") {
					t.Errorf("%s: allowed %v, wanted %v: %s", name, err == nil, tc.allowed, out)
				}
			}
		})
	}
	file := filepath.Join(t.TempDir(), "exported.yaml")
	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(stock, "kubectl-granular", exportedRole, "export", "vap", "-f", "-", "--check", file); err != nil || out != "" {
		t.Errorf("the export differs from itself: %v\n%s", err, out)
	}
	narrower := strings.Replace(exportedRole, `, "granular:data"`, "", 1)
	if out, err := run(stock, "kubectl-granular", narrower, "export", "vap", "-f", "-", "--check", file); err == nil ||
		!strings.Contains(out, "ValidatingAdmissionPolicy robot-configmaps.core would be another now") {
		t.Errorf("another export is not noticed: %v\n%s", err, out)
	}
}
