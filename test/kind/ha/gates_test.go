// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// everyGate turns on all gates of the project.
const everyGate = "GranularAuthorization=true,MetadataReads=true,ProtectedAttributes=true,FieldPermissions=true," +
	"SelectedAuthority=true,AuthorityDelegation=true,PrunedFieldManagement=true,CompiledEquality=true"

// features has an object of each gate that protects something, in the namespace of the load.
const features = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: ha}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: ha}
---
apiVersion: ha.example.com/v1
kind: boilers
metadata: {name: a, namespace: ha}
valve: closed
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: writer, namespace: ha}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, update, patch]}
- {apiGroups: [ha.example.com], resources: [boilers], verbs: [get, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: writer, namespace: ha}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: writer}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: olga}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: rob}
- {kind: ServiceAccount, namespace: ha, name: agent}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ha-reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ha-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ha-reader}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: rob}]
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: ha-env}
spec: {attributeKind: Label, attributeName: ha-env, roleRef: {kind: ClusterRole, name: nobody}}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ProtectedAttribute
metadata: {name: team, namespace: ha}
spec: {attributeKind: Annotation, attributeName: team, roleRef: {kind: ClusterRole, name: nobody}}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: configmaps}
spec: {version: v1, mode: Enforce, fields: [{path: .immutable, permission: example.com/freeze, excluded: true}]}
`

// bound binds the account of features to a delegation of reads.
const bound = `
uid=$(kubectl get serviceaccount agent -n ha -o jsonpath={.metadata.uid})
kubectl apply -f - <<END
apiVersion: authority.kube-granular.dev/v1alpha1
kind: AuthorityDelegation
metadata: {name: ha-reads}
spec:
  delegates: [{kind: User, name: rob}, {kind: ServiceAccount, namespace: ha, name: agent, uid: $uid}]
  scope: {namespace: ha}
  rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
END
uid=$(kubectl get authoritydelegation ha-reads -o jsonpath={.metadata.uid})
kubectl annotate --overwrite serviceaccount agent -n ha authority.kube-granular.dev/acts-under='{"name":"ha-reads","uid":"'$uid'"}'
`

// unbound deletes what would be left of features and bound if the namespace ended on servers without gates.
const unbound = `
kubectl delete --ignore-not-found clusterprotectedattribute/ha-env fieldpermission/configmaps authoritydelegation/ha-reads
kubectl delete --ignore-not-found protectedattribute/team -n ha
kubectl delete --ignore-not-found clusterrole/ha-reader clusterrolebinding/ha-reader`

const (
	before   = "/etc/kubernetes/before-gates.yaml"
	settings = "/api/v1/namespaces/ha/configmaps/settings"
	label    = `{"metadata":{"labels":{"free":"1"}}}`
)

// closed are the requests that our server refuses with the objects of features. A stock server allows them.
var closed = []struct{ name, user, path, body, selection string }{
	{"an excluded field", "olga", "/apis/ha.example.com/v1/namespaces/ha/boilers/a", `{"valve":"open"}`, ""},
	{"a field that a FieldPermission closes", "olga", settings, `{"immutable":true}`, ""},
	{"a label that is protected in the cluster", "olga", settings, `{"metadata":{"labels":{"ha-env":"prod"}}}`, ""},
	{"an annotation that is protected in the namespace", "olga", settings, `{"metadata":{"annotations":{"team":"a"}}}`, ""},
	{"a selected role without the verb", "rob", settings, label,
		`{"authorityReference":{"kind":"ClusterRole","name":"ha-reader"}}`},
	{"a selected delegation without the verb", "rob", settings, label,
		`{"authorityReference":{"kind":"AuthorityDelegation","name":"ha-reads"}}`},
	{"a bound account", "system:serviceaccount:ha:agent", settings, label, ""},
}

// attempt sends one of the requests that must be refused to a node's server, as a dry run, and returns the status of
// the answer, or 0 if there is none.
func (s *set) attempt(ctx context.Context, node, which int) int {
	one, code := closed[which], 0
	request := s.direct[node].RESTClient().Patch(types.MergePatchType).AbsPath(one.path).Param("dryRun", "All").
		SetHeader("Impersonate-User", one.user).Body([]byte(one.body)).Timeout(3 * time.Second)
	if one.selection != "" {
		request.SetHeader("Authority-Selector", one.selection)
	}
	request.Do(ctx).StatusCode(&code)
	return code
}

// attempts sends all requests that must be refused to all servers, again and again.
type attempts struct {
	// shut tells for each node that its server is ours, or none, so nothing may be allowed.
	shut    [3]atomic.Bool
	refused [3]atomic.Int64

	mu      sync.Mutex
	allowed []string
}

// attempts starts to send the requests, until the test ends. All servers are shut.
func (s *set) attempts(t *testing.T) *attempts {
	a := &attempts{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for node := range s.nodes {
		a.shut[node].Store(true)
		all.Go(func() {
			for ctx.Err() == nil {
				for which := range closed {
					shut := a.shut[node].Load()
					code := s.attempt(ctx, node, which)
					switch {
					case code == http.StatusForbidden:
						a.refused[node].Add(1)
					case code == http.StatusOK && shut && a.shut[node].Load():
						a.mu.Lock()
						a.allowed = append(a.allowed, s.nodes[node]+" allowed "+closed[which].name)
						a.mu.Unlock()
					}
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	return a
}

// check fails the test if something was allowed while a server was shut, or if a server did not go on refusing.
func (a *attempts) check(t *testing.T, s *set, when string) {
	t.Helper()
	for node := range s.nodes {
		before := a.refused[node].Load()
		s.until(t, s.nodes[node]+" refuses "+when, func(context.Context) bool { return a.refused[node].Load() > before+int64(len(closed)) })
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.allowed) > 0 {
		t.Errorf("%s: %d requests were allowed, the first: %s", when, len(a.allowed), a.allowed[0])
	}
	a.allowed = nil
}

// answers waits until a node's server answers each of the requests with the code.
func (s *set) answers(t *testing.T, node, code int) {
	t.Helper()
	for which := range closed {
		s.until(t, fmt.Sprintf("%s answers %d to %s", s.nodes[node], code, closed[which].name),
			func(ctx context.Context) bool { return s.attempt(ctx, node, which) == code })
	}
}

// gates sets the gates of a node's server, and waits until the server reports them.
func (s *set) gates(t *testing.T, node int, gates string) {
	t.Helper()
	s.edit(t, node, "kube-apiserver.yaml", "s/--feature-gates=.*/--feature-gates="+gates+"/")
	const last = `kubernetes_feature_enabled{name="AuthorityDelegation",stage="ALPHA"} 1`
	s.until(t, s.nodes[node]+" has the gates "+gates, func(ctx context.Context) bool {
		data, err := s.direct[node].RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		return err == nil && strings.Contains(string(data), last) == (gates == everyGate)
	})
	s.ready(t, node)
}

// administer runs commands on the first node as an administrator, and reports whether all succeed.
func (s *set) administer(t *testing.T, script string) bool {
	t.Helper()
	out := s.on(t, 0, "export KUBECONFIG=/etc/kubernetes/admin.conf; set +e; (set -e; "+script+"\n) 2>&1; echo ended $?")
	done := strings.HasSuffix(out, "ended 0\n")
	if !done {
		t.Log(out)
	}
	return done
}

// TestEveryGate uses every gate on three servers under load. It turns the gates on, kills each server, replaces the
// servers by upstream's and puts them back, one after the other, as docs/upgrade.md says, and turns the gates off.
// No server of ours allows what is closed, from its first answer after a start, and no writer is refused.
func TestEveryGate(t *testing.T) {
	image, s := unpatched(t), open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	s.define(t, "boilers")
	former := strings.TrimSpace(s.on(t, 0, "grep -o 'feature-gates=.*' "+manifest+" | cut -d = -f 2-"))
	for node := range s.nodes {
		s.on(t, node, "cp "+manifest+" "+before)
		t.Cleanup(func() { s.on(t, node, "[ ! -e "+before+" ] || mv "+before+" "+manifest) })
		s.gates(t, node, everyGate)
		l.progress(t, s, "after "+s.nodes[node]+" has every gate", everybody)
	}
	t.Cleanup(func() { s.administer(t, unbound) })
	s.until(t, "the objects are made", func(context.Context) bool {
		return s.administer(t, "kubectl apply -f - <<'END'\n"+features+"\nEND\n"+bound)
	})
	for node := range s.nodes {
		s.answers(t, node, http.StatusForbidden)
	}
	a := s.attempts(t)
	a.check(t, s, "with three servers")

	for node := range s.nodes {
		s.on(t, node, "pkill -9 -x kube-apiserver")
		l.progress(t, s, "with one server gone", everybody)
		s.ready(t, node)
		a.check(t, s, "after "+s.nodes[node]+" was killed")
	}

	l.skewed(true)
	for node := range s.nodes {
		a.shut[node].Store(false)
		s.upstreams(t, node, image)
		s.answers(t, node, http.StatusOK)
		l.progress(t, s, "after "+s.nodes[node]+" was downgraded", ordinary)
	}
	for node := range s.nodes {
		s.ours(t, node)
		a.shut[node].Store(true)
		l.progress(t, s, "after "+s.nodes[node]+" was upgraded", ordinary)
	}
	l.skewed(false)
	l.progress(t, s, "with three servers of ours", everybody)
	a.check(t, s, "after three servers came back")
	for node := range s.nodes {
		s.answers(t, node, http.StatusForbidden)
		t.Logf("%s refused %d requests", s.nodes[node], a.refused[node].Load())
	}

	if !s.administer(t, unbound) {
		t.Error("the objects are still there")
	}
	for node := range s.nodes {
		a.shut[node].Store(false)
		s.gates(t, node, former)
		s.on(t, node, "rm "+before)
		l.progress(t, s, "after "+s.nodes[node]+" has its former gates", everybody)
	}
	l.check(t)
}
