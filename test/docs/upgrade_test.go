// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// upgraded is the cluster of the page's reader: the files in the repository, and what is only in the cluster.
var upgraded = map[string]string{
	"definitions/boxes.yaml": strings.ReplaceAll(upgradedDefinition, "PLURAL", "boxes"),
	"definitions/lids.yaml":  strings.ReplaceAll(upgradedDefinition, "PLURAL", "lids"),
	"roles/data.yaml": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: data}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, granular, "granular:data"]}]
`,
	"objects.yaml": `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: data}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: data}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: env}
spec: {attributeKind: Label, attributeName: env, roleRef: {kind: ClusterRole, name: data}}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ProtectedAttribute
metadata: {name: team, namespace: shop}
spec: {attributeKind: Label, attributeName: team, roleRef: {kind: ClusterRole, name: data}}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: configmaps}
spec: {version: v1, mode: Enforce, fields: [{path: .immutable, permission: example.com/freeze, excluded: true}]}
`,
	// The delegation names the account by its UID, and the account the delegation.
	"bind.sh": `
uid=$(kubectl get serviceaccount agent -n shop -o jsonpath={.metadata.uid})
kubectl create -f - <<END
apiVersion: authority.kube-granular.dev/v1alpha1
kind: AuthorityDelegation
metadata: {name: reads}
spec:
  delegates: [{kind: ServiceAccount, namespace: shop, name: agent, uid: $uid}]
  scope: {namespace: shop}
  rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
END
uid=$(kubectl get authoritydelegation reads -o jsonpath={.metadata.uid})
kubectl annotate serviceaccount agent -n shop authority.kube-granular.dev/acts-under='{"name":"reads","uid":"'$uid'"}'
`,
}

const upgradedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: PLURAL, kind: PLURAL}
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
            properties:
              danger: {type: string, x-kubernetes-permission-verb: example.com/danger, x-kubernetes-permission-excluded: true}
`

// runbook is the page, with the servers to which its commands go.
type runbook struct {
	text, unpatched, endpoint string
	reader                    *reader
	flags                     []string
	// server is the patched server that runs, or ran last.
	server *cluster.Cluster
}

// TestUpgrade runs the commands of the page about upgrades on servers that share one etcd: on a patched server, on one without
// the patches after that has ended, and on another patched one. The page's objects are encrypted in etcd all the time. In the end
// there is no trace of kube-granular in etcd.
func TestUpgrade(t *testing.T) {
	b := &runbook{text: read(t, "upgrade.md"), unpatched: harness.Unpatched(t), endpoint: etcd.Start(t)}
	dir := t.TempDir()
	for name, content := range upgraded {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.flags = []string{"--encryption-provider-config=" + filepath.Join(dir, "encryption.yaml")}
	b.reader = &reader{dir: dir}
	b.steps(t, "Encryption at rest", "")

	b.patched(t)
	b.must(t, "kubectl apply -f definitions/ -f roles/ -f objects.yaml && sh bind.sh")
	b.steps(t, "Before you go back", "")
	b.stock(t, func(t *testing.T) {
		b.steps(t, "After you went back", "")
		b.must(t, "kubectl label customresourcedefinition boxes.example.com written-by=stock")
	})
	b.patched(t)
	b.steps(t, "Forward again", "")
	prefix := regexp.MustCompile(`etcdctl del --prefix (\S+)`).FindStringSubmatch(b.text)[1]
	stored := b.stored(t, prefix)
	for _, kind := range []string{"/clusterprotectedattributes/", "/protectedattributes/", "/fieldpermissions/", "/authoritydelegations/"} {
		found := false
		for key, value := range stored {
			found = found || strings.Contains(key, kind) && bytes.HasPrefix(value, []byte("k8s:enc:aescbc:v1:first:"))
		}
		if !found {
			t.Errorf("no %s are encrypted below %s, of %d keys", kind, prefix, len(stored))
		}
	}
	b.steps(t, "For good", "")
	b.stock(t, func(t *testing.T) { b.steps(t, "After you went back", "kubectl apply") })
	for key := range b.stored(t, "/registry/") {
		if strings.Contains(key, "kube-granular") {
			t.Errorf("etcd still has %s", key)
		}
	}
}

// patched runs a patched server with all gates. The flag for them is given twice: the server merges them.
func (b *runbook) patched(t *testing.T) {
	t.Helper()
	b.server = harness.Start(t, append([]string{"--etcd-servers", b.endpoint, "--demo=false", "--",
		"--feature-gates=ProtectedAttributes=true,FieldPermissions=true,MetadataReads=true",
		"--feature-gates=SelectedAuthority=true,AuthorityDelegation=true"}, b.flags...)...)
	b.reader.env = newReader(t, b.server, t.TempDir(), nil).env
	const gates = "GranularAuthorization ProtectedAttributes FieldPermissions MetadataReads SelectedAuthority AuthorityDelegation"
	for _, gate := range strings.Fields(gates) {
		b.must(t, `kubectl get --raw /metrics | grep -q 'kubernetes_feature_enabled{name="`+gate+`",stage="ALPHA"} 1'`)
	}
	// The server makes them a moment after its start.
	b.must(t, "kubectl get lease -n kube-system kube-granular-field-permissions kube-granular-protected-attributes")
}

// stock starts a server without the patches beside the patched one, ends the patched one, and runs do.
func (b *runbook) stock(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	ok := t.Run("stock", func(t *testing.T) {
		client := harness.StartUnpatched(t, b.unpatched, b.endpoint, b.server, b.flags...)
		file := kubeconfigFor(t, b.server, client.URL)
		if err := b.server.Stop(); err != nil {
			t.Fatal(err)
		}
		b.reader.env = append(b.reader.env, "KUBECONFIG="+file)
		do(t)
	})
	if !ok {
		t.FailNow()
	}
}

// steps runs the steps of a section, except commands that begin with a text.
func (b *runbook) steps(t *testing.T, heading, except string) {
	t.Helper()
	_, text, ok := strings.Cut(b.text, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("the page has no section %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	steps, err := parse(text)
	if err != nil || len(steps) == 0 {
		t.Fatalf("%q has %d steps: %v", heading, len(steps), err)
	}
	for _, s := range steps {
		if except != "" && strings.HasPrefix(s.command, except) {
			continue
		}
		if err := b.reader.do(s); err != nil {
			t.Fatalf("%s: %v", heading, err)
		}
	}
}

// must runs a command that is not on the page, until it succeeds: a server that has just started may not serve all kinds.
func (b *runbook) must(t *testing.T, command string) {
	t.Helper()
	var last error
	harness.Until(t, command, func() bool {
		last = b.reader.do(step{command: command, want: []string{"..."}})
		if last != nil {
			t.Log(last)
		}
		return last == nil
	})
}

// stored returns what etcd has below a prefix.
func (b *runbook) stored(t *testing.T, prefix string) map[string][]byte {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{b.endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, kv := range got.Kvs {
		out[string(kv.Key)] = kv.Value
	}
	return out
}
