// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/controllers"
	"kube-granular.dev/test/integration/harness"
)

// rules is the manifest of a namespace that alice and bob may edit. The label env is protected
// in the whole cluster, and only alice may set it.
const rules = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: shop}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editors, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: env-setter}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: env-setters}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: env-setter}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: env}
spec: {attributeKind: Label, attributeName: env, roleRef: {kind: ClusterRole, name: env-setter}}
`

const pod = `metadata: {labels: {app: NAME, env: prod}}
    spec: {restartPolicy: RESTART, containers: [{name: c, image: i}]}`

// workloads are objects of several resources. The templates in them, or the object itself, have
// the label env.
var workloads = []struct{ resource, manifest string }{
	{"deployments", `
apiVersion: apps/v1
kind: Deployment
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    ` + pod},
	{"statefulsets", `
apiVersion: apps/v1
kind: StatefulSet
spec:
  serviceName: NAME
  selector: {matchLabels: {app: NAME}}
  volumeClaimTemplates:
  - metadata: {name: data, labels: {env: prod}}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
  template:
    ` + pod},
	{"daemonsets", `
apiVersion: apps/v1
kind: DaemonSet
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    ` + pod},
	{"replicationcontrollers", `
apiVersion: v1
kind: ReplicationController
spec:
  selector: {app: NAME}
  template:
    ` + pod},
	{"jobs", `
apiVersion: batch/v1
kind: Job
spec:
  template:
    ` + strings.ReplaceAll(pod, "RESTART", "Never")},
	{"cronjobs", `
apiVersion: batch/v1
kind: CronJob
spec:
  schedule: "@every 1s"
  jobTemplate:
    metadata: {labels: {env: prod}}
    spec:
      template:
        metadata: {labels: {app: NAME, env: prod}}
        spec: {restartPolicy: Never, containers: [{name: c, image: i}]}`},
	{"services", `
apiVersion: v1
kind: Service
metadata: {labels: {env: prod}}
spec: {selector: {app: deployments}, ports: [{port: 80}]}`},
}

func manifest(text, name string) string {
	text = strings.NewReplacer("NAME", name, "RESTART", "Always").Replace(text)
	if strings.Contains(text, "\nmetadata: {") {
		return strings.Replace(text, "\nmetadata: {", fmt.Sprintf("\nmetadata: {name: %s, namespace: shop, ", name), 1)
	}
	return text + fmt.Sprintf("\nmetadata: {name: %s, namespace: shop}", name)
}

// cascade lists the objects that the controllers make from the workloads, each by a selector
// for labels that they copy.
var cascade = []string{
	"replicasets -l env=prod,app=deployments", "pods -l env=prod,app=deployments",
	"pods -l env=prod,app=statefulsets", "persistentvolumeclaims -l app=statefulsets",
	"controllerrevisions -l env=prod,app=statefulsets", "controllerrevisions -l env=prod,app=daemonsets",
	"pods -l env=prod,app=daemonsets", "pods -l env=prod,app=replicationcontrollers", "pods -l env=prod,app=jobs",
	"pods -l env=prod,app=cronjobs", "jobs -l env=prod", "endpointslices -l env=prod",
}

// TestControllersGoOn checks that upstream's controllers copy a protected label from the
// templates of a user that may set it. A user that may not set it is refused at the workload
// already, so no such template exists.
//
// Attack: a protected label in the template of a workload, so that its controller writes it
// Answer: 403 for the workload; a caller that may set the label gets pods with it
func TestControllersGoOn(t *testing.T) {
	c := run(t)
	for _, w := range workloads {
		if out, err := kubectl(t, c, manifest(w.manifest, w.resource+"-of-bob"), "--as", "bob", "create", "-f", "-"); err == nil || !strings.Contains(out, "orbidden") || !strings.Contains(out, "[env]") || strings.Contains(out, "prod") {
			t.Errorf("bob: %s: %s", w.resource, out)
		}
		must(t, c, manifest(w.manifest, w.resource), "--as", "alice", "create", "-f", "-")
	}
	for _, made := range cascade {
		args := append([]string{"get", "-n", "shop", "-o", "name"}, strings.Fields(made)...)
		harness.UntilSeen(t, made, func() (bool, string) {
			out, err := kubectl(t, c, "", args...)
			return err == nil && strings.Contains(out, "/"), out
		})
	}
	if out := must(t, c, "", "get", "all,pvc", "-n", "shop", "-o", "name"); strings.Contains(out, "of-bob") {
		t.Errorf("bob made something:\n%s", out)
	}
	// A user that may not set the label can still change other fields of a workload that has
	// it.
	must(t, c, "", "--as", "bob", "scale", "-n", "shop", "deployment/deployments", "--replicas=2")
	harness.UntilSeen(t, "the second pod", func() (bool, string) {
		out, err := kubectl(t, c, "", "get", "pods", "-n", "shop", "-l", "env=prod,app=deployments", "-o", "name")
		return err == nil && strings.Count(out, "pod/") == 2, out
	})
	must(t, c, "", "--as", "bob", "set", "image", "-n", "shop", "deployment/deployments", "c=other")
	harness.UntilSeen(t, "the second replica set", func() (bool, string) {
		out, err := kubectl(t, c, "", "get", "replicasets", "-n", "shop", "-l", "env=prod,app=deployments", "-o", "name")
		return err == nil && strings.Count(out, "replicaset") == 2, out
	})
}

// binding is the ClusterRoleBinding that exempts the controllers, and that an administrator may
// edit.
const binding = "system:kube-granular:protected-attributes-controllers"

// TestControllersByTheBinding is the twin of TestControllersGoOn: a controller that is not in
// the binding is refused like everybody, and the deployment's status says so. Back in the
// binding, the controller goes on.
//
// Attack: pretending to be a controller
// Answer: 403: only the bootstrap binding exempts, and an administrator sees and edits it
func TestControllersByTheBinding(t *testing.T) {
	c := run(t)
	subjects := must(t, c, "", "get", "clusterrolebinding", binding, "-o", "jsonpath={.subjects}")
	must(t, c, "", "patch", "clusterrolebinding", binding, "--type=merge", "-p", `{"subjects":[]}`)
	must(t, c, manifest(workloads[0].manifest, "late"), "--as", "alice", "create", "-f", "-")
	harness.UntilSeen(t, "the refusal in the status", func() (bool, string) {
		out, err := kubectl(t, c, "", "get", "deployment", "late", "-n", "shop", "-o", "jsonpath={.status.conditions}")
		return err == nil && strings.Contains(out, "ReplicaSetCreateError") && strings.Contains(out, "forbidden"), out
	})
	if out := must(t, c, "", "get", "replicasets", "-n", "shop", "-o", "name"); out != "" {
		t.Errorf("there are %s", out)
	}
	must(t, c, "", "patch", "clusterrolebinding", binding, "--type=merge", "-p", `{"subjects":`+subjects+`}`)
	harness.UntilSeen(t, "the pod", func() (bool, string) {
		out, err := kubectl(t, c, "", "get", "pods", "-n", "shop", "-l", "env=prod,app=late", "-o", "name")
		return err == nil && strings.Contains(out, "pod/"), out
	})
}

// run starts a server with the objects of rules, and the controllers.
func run(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := harness.Start(t, "--demo=false", "--feature-gates", "ProtectedAttributes=true")
	must(t, c, rules, "create", "-f", "-")
	must(t, c, "", "taint", "node", "n1", "node.kubernetes.io/not-ready:NoSchedule-") // otherwise no daemon pod is made for this node
	// The controllers end before the server: the context of a test ends before its clean-up begins.
	if err := controllers.Run(t.Context(), harness.Config(t, c, "admin")); err != nil {
		t.Fatal(err)
	}
	return c
}

// kubectl runs kubectl as the administrator, with a cache for all calls to the same server.
func kubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) (string, error) {
	t.Helper()
	return harness.Kubectl(t, c, stdin, cached(c, args)...)
}

func must(t *testing.T, c *cluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	return harness.MustKubectl(t, c, stdin, cached(c, args)...)
}

func cached(c *cluster.Cluster, args []string) []string {
	return append([]string{"--cache-dir", filepath.Join(c.Dir, "cache")}, args...)
}
