// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// everyPermission lists the general granular verbs that somebody might grant to a node.
var everyPermission = []string{"granular", "granular:metadata", "granular:specification", "granular:status",
	"granular:data"}

// abacLines are ABAC policies: all verbs on everything, all verbs on one resource, reading
// everything, and a policy for a group that nobody belongs to.
const abacLines = `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"abac-all","namespace":"*","resource":"*","apiGroup":"*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"abac-one","namespace":"default","resource":"vaults","apiGroup":"abac.example.com"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"abac-read","namespace":"*","resource":"*","apiGroup":"*","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"abac-nobody","namespace":"*","resource":"*","apiGroup":"*"}}
`

// sealed is the definition of a custom kind with an excluded field, seal: its permission is not
// part of `update`.
const sealed = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: vaults.abac.example.com}
spec:
  group: abac.example.com
  scope: Namespaced
  names: {plural: vaults, singular: vault, kind: Vault, listKind: VaultList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-permission-verb: specification
            properties:
              note: {type: string}
              seal: {type: string, x-kubernetes-permission-verb: abac.example.com/seal, x-kubernetes-permission-excluded: true}
`

// sending is one request of a user and the expected answer.
type sending struct {
	name, user   string
	groups       []string
	method, path string
	way, body    string
	status       int
	says         string
}

func (a sending) try(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	_, before, _ := harness.Request(c, harness.Admin, http.MethodGet, a.path, "", "")
	status, got, err := harness.RequestBy(c, "admin", rest.ImpersonationConfig{UserName: a.user, Groups: a.groups}, a.method, a.path, harness.ContentTypes[a.way], a.body)
	if err != nil {
		t.Fatal(err)
	}
	if status != a.status || !strings.Contains(got, a.says) {
		t.Errorf("got %d %s\nwanted %d and %q", status, got, a.status, a.says)
	}
	_, after, _ := harness.Request(c, harness.Admin, http.MethodGet, a.path, "", "")
	if a.status >= 400 && a.method != http.MethodPost && before != after {
		t.Errorf("it was refused and stored:\n%s\n%s", before, after)
	}
}

// TestAttackNodes tests a node whose credential also has granular permissions by RBAC, on a
// server with the authorizers Node, ABAC and RBAC. The permissions add to the rights that the
// Node authorizer gives, and the admission plugin NodeRestriction still limits the node to its
// own objects. ABAC policies know no verbs, so a policy grants all permissions or none.
//
// Attack: a node's credential with granular roles: other nodes, taints, restricted labels, pods
// of its own and of others
// Answer: 403 by NodeRestriction
//
// Attack: a node's credential with granular roles, on a secret that the node may not get
// Answer: 200, only the identity
//
// Attack: lines of ABAC that read, or name another resource or group
// Answer: 403
func TestAttackNodes(t *testing.T) {
	abac := filepath.Join(t.TempDir(), "abac.jsonl")
	if err := os.WriteFile(abac, []byte(abacLines), 0o600); err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t, "--", "--authorization-mode=Node,ABAC,RBAC", "--enable-admission-plugins=NodeRestriction", "--authorization-policy-file="+abac)
	client := harness.Administrator(t, c)
	harness.Create(t, client, "/api/v1/namespaces/default/serviceaccounts", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`)
	for _, name := range []string{"n1", "n2"} {
		harness.Create(t, client, "/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"`+name+`"}}`)
		harness.Create(t, client, "/api/v1/namespaces/default/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"of-`+name+`"},"stringData":{"a":"hunter2"}}`)
		harness.Create(t, client, "/api/v1/namespaces/default/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"on-`+name+`"},"spec":{"nodeName":"`+name+`","automountServiceAccountToken":false,"volumes":[{"name":"v","secret":{"secretName":"of-`+name+`"}}],"containers":[{"name":"a","image":"one"}]}}`)
	}
	harness.Define(t, c, "vaults.abac.example.com", sealed)
	harness.WaitServed(t, c, "/apis/abac.example.com/v1/namespaces/default/vaults")
	harness.Create(t, client, "/apis/abac.example.com/v1/namespaces/default/vaults", `{"apiVersion":"abac.example.com/v1","kind":"Vault","metadata":{"name":"v"},"spec":{"seal":"a"}}`)

	const (
		nodes  = "/api/v1/nodes/"
		pods   = "/api/v1/namespaces/default/pods"
		secret = "/api/v1/namespaces/default/secrets/"
		vault  = "/apis/abac.example.com/v1/namespaces/default/vaults/v"
		seal   = `needs the verb \"granular:abac.example.com/seal\"`
	)
	harness.Allow(t, client, "system:node:n1", rbacv1.PolicyRule{APIGroups: []string{""}, Verbs: everyPermission, Resources: []string{"nodes", "nodes/status", "pods", "pods/status", "secrets", "persistentvolumeclaims", "persistentvolumeclaims/status"}})
	for user, verbs := range map[string][]string{
		"rbac-editor": {"get", "patch"},
		"rbac-sealer": {"get", "patch", "granular:abac.example.com/seal"},
		"abac-read":   {"granular", "granular:specification"},
	} {
		harness.Allow(t, client, user, rbacv1.PolicyRule{APIGroups: []string{"abac.example.com"}, Resources: []string{"vaults"}, Verbs: verbs})
	}
	harness.Allow(t, client, "rbac-namer", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: everyPermission})

	n1 := []string{"system:nodes"}
	for _, a := range []sending{
		// If the Node authorizer allows a request, it is an ordinary request. Otherwise it may
		// be granular by RBAC. NodeRestriction restricts both.
		{name: "another node", user: "system:node:n1", groups: n1, path: nodes + "n2",
			body: `{"metadata":{"labels":{"a":"b"}}}`, status: 403, says: `is not allowed to modify node \"n2\"`},
		{name: "another node's status", user: "system:node:n1", groups: n1, path: nodes + "n2/status",
			body: `{"status":{"phase":"Running"}}`, status: 403, says: `is not allowed to modify node \"n2\"`},
		{name: "its own taints", user: "system:node:n1", groups: n1, path: nodes + "n1",
			body: `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`, status: 403,
			says: "is not allowed to modify taints"},
		{name: "its own restricted labels", user: "system:node:n1", groups: n1, path: nodes + "n1",
			body: `{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b"}}}`, status: 403,
			says: "is not allowed to modify labels"},
		{name: "its own owners", user: "system:node:n1", groups: n1, path: nodes + "n1",
			body:   `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n2","uid":"1"}]}}`,
			status: 403, says: "is not allowed to modify ownerReferences"},
		{name: "the twin, no node", user: "rbac-namer", path: nodes + "n2",
			body: `{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b"}}}`, status: 200},
		{name: "the labels of its own pod", user: "system:node:n1", groups: n1, path: pods + "/on-n1",
			body: `{"metadata":{"labels":{"a":"b"}}}`, status: 403, says: "unexpected operation"},
		{name: "the labels of another's pod", user: "system:node:n1", groups: n1, path: pods + "/on-n2",
			body: `{"metadata":{"labels":{"a":"b"}}}`, status: 403, says: "shown only to callers who may get the object"},
		{name: "the labels of its own pod through the status", user: "system:node:n1", groups: n1,
			path: pods + "/on-n1/status", body: `{"metadata":{"labels":{"a":"b"}}}`, status: 403,
			says: "cannot update labels through pod status"},
		{name: "the status of another's pod", user: "system:node:n1", groups: n1, path: pods + "/on-n2/status",
			body: `{"status":{"message":"m"}}`, status: 403,
			says: "can only update pod status for pods with spec.nodeName set to itself"},
		{name: "the status of its own pod", user: "system:node:n1", groups: n1, path: pods + "/on-n1/status",
			body: `{"status":{"message":"m"}}`, status: 200},
		{name: "a pod that is no mirror", user: "system:node:n1", groups: n1, method: http.MethodPost, path: pods,
			way:    "json",
			body:   `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"made"},"spec":{"nodeName":"n2","containers":[{"name":"a","image":"one"}]}}`,
			status: 403, says: "can only create mirror pods"},
		// RBAC grants these writes, and NodeRestriction does not restrict them. The node may
		// not get the secret of another node's pods, so the answer shows only its identity.
		{name: "a secret of its own pods", user: "system:node:n1", groups: n1, path: secret + "of-n1",
			body: `{"metadata":{"labels":{"a":"b"}}}`, status: 200, says: `"data"`},
		{name: "a secret of another's pods", user: "system:node:n1", groups: n1, path: secret + "of-n2",
			body: `{"metadata":{"labels":{"a":"b"}}}`, status: 200, says: `"metadata":{"name":"of-n2"`},
		{name: "a node without the grant", user: "system:node:n2", groups: n1, path: secret + "of-n2",
			body: `{"metadata":{"labels":{"a":"b"}}}`, status: 403, says: "cannot patch resource"},
		{name: "not in the group of nodes", user: "system:node:n1", path: pods + "/on-n2",
			body: `{"metadata":{"labels":{"by":"rbac"}}}`, status: 200},
		{name: "a node without a name", user: "system:node:", groups: n1, path: nodes + "n2",
			body: `{"metadata":{"labels":{"a":"b"}}}`, status: 403, says: "cannot patch resource"},
		// Users with rights by ABAC policies.
		{name: "a line without verbs holds what is excluded", user: "abac-all", path: vault,
			body: `{"spec":{"seal":"b"}}`, status: 200},
		{name: "and so does one of the resource", user: "abac-one", path: vault, body: `{"spec":{"seal":"c"}}`,
			status: 200},
		{name: "but of no other", user: "abac-one", path: nodes + "n2", body: `{"metadata":{"labels":{"a":"b"}}}`,
			status: 403, says: "cannot patch resource"},
		{name: "one that reads does not", user: "abac-read", path: vault, body: `{"spec":{"seal":"d"}}`,
			status: 403, says: seal},
		{name: "it adds to what RBAC grants", user: "abac-read", path: vault, body: `{"spec":{"note":"d"}}`,
			status: 200, says: `"seal":"c"`},
		{name: "update by RBAC does not", user: "rbac-editor", path: vault, body: `{"spec":{"seal":"d"}}`,
			status: 403, says: seal},
		{name: "its twin", user: "rbac-sealer", path: vault, body: `{"spec":{"seal":"d"}}`, status: 200},
		{name: "a line of a group that nobody gave", user: "rbac-editor", groups: []string{"abac-nobodys"},
			path: vault, body: `{"spec":{"seal":"e"}}`, status: 403, says: seal},
	} {
		if a.method == "" {
			a.method, a.way = http.MethodPatch, "merge"
		}
		t.Run(a.name, func(t *testing.T) { a.try(t, c) })
	}
	t.Run("what it may not get it does not see", func(t *testing.T) {
		status, got, err := harness.RequestBy(c, "admin", rest.ImpersonationConfig{UserName: "system:node:n1", Groups: n1}, http.MethodPatch, secret+"of-n2", harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"c"}}}`)
		if err != nil || status != http.StatusOK || strings.Contains(got, "\"data\"") {
			t.Errorf("got %d %s %v", status, got, err)
		}
	})
}
