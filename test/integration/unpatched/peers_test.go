// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"net/http"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

const allGates = "ProtectedAttributes=true,FieldPermissions=true,SelectedAuthority=true,AuthorityDelegation=true,MetadataReads=true"

// eachFeature has an object of each feature, and users with the ordinary verbs.
const eachFeature = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writer}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, update, patch]}
- {apiGroups: [example.com], resources: [boxes], verbs: [get, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: data}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, granular, "granular:data"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: names}
rules: [{apiGroups: [""], resources: [secrets], verbs: [readmetadata]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writer}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: olga}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: rob}
- {kind: ServiceAccount, namespace: shop, name: agent}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: rob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: data}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: data}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: names}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: names}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: mia}]
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: env}
spec: {attributeKind: Label, attributeName: env, roleRef: {kind: ClusterRole, name: nobody}}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ProtectedAttribute
metadata: {name: team, namespace: shop}
spec: {attributeKind: Label, attributeName: team, roleRef: {kind: ClusterRole, name: nobody}}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: configmaps}
spec: {version: v1, mode: Enforce, fields: [{path: .immutable, permission: example.com/freeze, excluded: true}]}
`

// prepareFeatures makes the objects of eachFeature and a definition with an excluded field, and binds an account.
func prepareFeatures(t *testing.T, s *stock) {
	t.Helper()
	s.must(t, "kubectl", string(boxesDefinition(t)), "apply", "-f", "-")
	s.must(t, "kubectl", "", "wait", "--for=condition=Established", "--timeout=120s", "crd/boxes.example.com")
	s.must(t, "kubectl", eachFeature, "apply", "-f", "-")
	harness.Until(t, "a box is made", func() bool {
		_, err := s.run(t, "kubectl",
			`{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"a","namespace":"shop"},"spec":{"danger":"none"}}`, "apply", "-f", "-")
		return err == nil
	})
	account := s.must(t, "kubectl", "", "get", "serviceaccount", "agent", "-n", "shop", "-o", "jsonpath={.metadata.uid}")
	s.must(t, "kubectl", `
apiVersion: authority.kube-granular.dev/v1alpha1
kind: AuthorityDelegation
metadata: {name: reads}
spec:
  delegates: [{kind: User, name: rob}, {kind: ServiceAccount, namespace: shop, name: agent, uid: `+account+`}]
  scope: {namespace: shop}
  rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
`, "apply", "-f", "-")
	uid := s.must(t, "kubectl", "", "get", "authoritydelegation", "reads", "-o", "jsonpath={.metadata.uid}")
	s.must(t, "kubectl", "", "annotate", "serviceaccount", "agent", "-n", "shop",
		`authority.kube-granular.dev/acts-under={"name":"reads","uid":"`+uid+`"}`)
}

// TestStockBesidePatched sends the same requests to a patched server and to one without the patches, both on one etcd. It has the
// rows of the table in docs/upgrade.md about what such a server enforces: nothing of ours, and everything of upstream's.
//
// Attack: reaching a server without the patches beside patched ones, for what granular roles, exclusions, protected attributes,
// FieldPermissions, selections and bindings close
// Answer: it is open there: docs/upgrade.md says so for each; granular callers and readers of metadata get 403
func TestStockBesidePatched(t *testing.T) {
	path, endpoint := harness.Unpatched(t), etcd.Start(t)
	c := harness.Start(t, "--etcd-servers", endpoint, "--demo=false", "--feature-gates", allGates)
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	ours := &stock{c, harness.Connect(t, c, "admin"), bin}
	prepareFeatures(t, ours)
	theirs := &stock{c, startTheirs(t, path, endpoint, c).Client, bin}
	const settings, box = "/api/v1/namespaces/shop/configmaps/settings", "/apis/example.com/v1/namespaces/shop/boxes/a"
	selecting := func(kind, name string) http.Header {
		return http.Header{"Authority-Selector": {`{"authorityReference":{"kind":"` + kind + `","name":"` + name + `"}}`}}
	}
	const free = `{"metadata":{"labels":{"free":"1"}}}`
	for _, tc := range []struct {
		name, user, path, body string
		header                 http.Header
		patched, unpatched     int
	}{
		{"a granular role", "jane", settings, `{"data":{"a":"b"}}`, nil, 200, 403},
		{"a granular role, another field", "jane", settings, free, nil, 403, 403},
		{"an excluded field", "olga", box, `{"spec":{"danger":"much"}}`, nil, 403, 200},
		{"a field that a FieldPermission closes", "olga", settings, `{"immutable":true}`, nil, 403, 200},
		{"a label that is protected in the cluster", "olga", settings, `{"metadata":{"labels":{"env":"prod"}}}`, nil, 403, 200},
		{"a label that is protected in the namespace", "olga", settings, `{"metadata":{"labels":{"team":"a"}}}`, nil, 403, 200},
		{"another label", "olga", settings, free, nil, 200, 200},
		{"a selected role that does not allow it", "rob", settings, free, selecting("ClusterRole", "reader"), 403, 200},
		{"a selected delegation that does not allow it", "rob", settings, free, selecting("AuthorityDelegation", "reads"), 403, 200},
		{"a bound account", "system:serviceaccount:shop:agent", settings, free, nil, 403, 200},
		{"somebody without permissions", "nobody", settings, free, nil, 403, 403},
	} {
		for server, want := range map[*stock]int{ours: tc.patched, theirs: tc.unpatched} {
			var got harness.Answer
			harness.Until(t, tc.name, func() bool { // until the informers of both servers have the roles
				got, err = server.client.Do(t.Context(), harness.Call{As: rest.ImpersonationConfig{UserName: tc.user}, Method: http.MethodPatch,
					Path: tc.path + "?dryRun=All", ContentType: asMerge, Body: tc.body, Header: tc.header})
				if err != nil {
					t.Fatal(err)
				}
				return got.Code == want
			})
		}
	}
	read := harness.Call{As: rest.ImpersonationConfig{UserName: "mia"}, Method: http.MethodGet, Path: "/api/v1/namespaces/shop/secrets",
		Accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
	for server, want := range map[*stock]int{ours: 200, theirs: 403} {
		if got, err := server.client.Do(t.Context(), read); err != nil || got.Code != want {
			t.Errorf("metadata: %v, wanted %d (%v)", got, want, err)
		}
	}
	t.Run("namespaces", func(t *testing.T) { testNamespacesEnd(t, ours, theirs) })
}

// testNamespacesEnd deletes namespaces as the controller manager does behind a load balancer: it asks one server for the resources,
// and deletes at another. No namespace may hang. What the deleting server does not serve stays in etcd.
func testNamespacesEnd(t *testing.T, ours, theirs *stock) {
	configOf := func(s *stock) *rest.Config {
		config := rest.CopyConfig(harness.Config(t, s.Cluster, "admin"))
		config.Host, config.WarningHandler = s.client.URL, rest.NoWarnings{}
		return config
	}
	for name, tc := range map[string]struct{ asked, deleting *stock }{
		"all-patched": {ours, ours}, "all-stock": {theirs, theirs}, "asks-patched": {ours, theirs}, "asks-stock": {theirs, ours},
	} {
		ours.must(t, "kubectl", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`, "create", "-f", "-")
		ours.must(t, "kubectl", `
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ProtectedAttribute
metadata: {name: a, namespace: `+name+`}
spec: {attributeKind: Label, attributeName: a, roleRef: {kind: ClusterRole, name: nobody}}
`, "create", "-f", "-")
		theirs.must(t, "kubectl", "", "delete", "namespace", name, "--wait=false")
		asked, err := discovery.NewDiscoveryClientForConfig(configOf(tc.asked))
		if err != nil {
			t.Fatal(err)
		}
		config := configOf(tc.deleting)
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := metadata.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		deleter := deletion.NewNamespacedResourcesDeleter(t.Context(), client.CoreV1().Namespaces(), objects, client.CoreV1(),
			asked.ServerPreferredNamespacedResources, "kubernetes")
		harness.Until(t, name+" ends", func() bool { return deleter.Delete(t.Context(), name) == nil })
		if out, err := theirs.run(t, "kubectl", "", "get", "namespace", name); err == nil {
			t.Errorf("%s: the namespace hangs: %s", name, out)
		}
		left := ours.must(t, "kubectl", "", "get", "protectedattributes", "--namespace", name, "-o", "jsonpath={.items[*].metadata.name}")
		if gone := left == ""; gone != (name == "all-patched") {
			t.Errorf("%s: left behind: %q", name, left)
		}
	}
}
