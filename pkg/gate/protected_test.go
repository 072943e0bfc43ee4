// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/protect"
)

// places lists all built-in kinds that have labels or annotations outside their own metadata, and
// some kinds that have not. PLACE stands for the metadata that a test puts in.
var places = []struct {
	kind, resource, object string
}{
	{"/v1/Pod", "pods", `"metadata": PLACE`},
	{"/v1/Pod", "pods",
		`"spec": {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": PLACE, "spec": {}}}}]}`},
	{"/v1/Pod", "pods/status", `"metadata": PLACE`},
	{"/v1/Pod", "pods/ephemeralcontainers", `"metadata": PLACE`},
	{"/v1/Pod", "pods/resize", `"metadata": PLACE`},
	{"/v1/Namespace", "namespaces", `"metadata": PLACE`},
	{"/v1/Namespace", "namespaces/finalize", `"metadata": PLACE`},
	{"/v1/Namespace", "namespaces/status", `"metadata": PLACE`},
	{"/v1/Node", "nodes", `"metadata": PLACE`},
	{"/v1/Node", "nodes/status", `"metadata": PLACE`},
	{"/v1/Service", "services", `"metadata": PLACE`},
	{"/v1/ConfigMap", "configmaps", `"metadata": PLACE`},
	{"/v1/PodTemplate", "podtemplates", `"template": {"metadata": PLACE}`},
	{"/v1/ReplicationController", "replicationcontrollers", `"metadata": PLACE`},
	{"/v1/ReplicationController", "replicationcontrollers", `"spec": {"template": {"metadata": PLACE}}`},
	{"/v1/ReplicationController", "replicationcontrollers/status", `"metadata": PLACE`},
	{"apps/v1/Deployment", "deployments", `"metadata": PLACE`},
	{"apps/v1/Deployment", "deployments/status", `"metadata": PLACE`},
	{"apps/v1/Deployment", "deployments", `"spec": {"template": {"metadata": PLACE}}`},
	{"apps/v1/Deployment", "deployments",
		`"spec": {"template": {"spec": {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": PLACE, "spec": {}}}}]}}}`},
	{"apps/v1/ReplicaSet", "replicasets", `"spec": {"template": {"metadata": PLACE}}`},
	{"apps/v1/DaemonSet", "daemonsets", `"spec": {"template": {"metadata": PLACE}}`},
	{"apps/v1/StatefulSet", "statefulsets", `"spec": {"template": {"metadata": PLACE}}`},
	{"apps/v1/StatefulSet", "statefulsets", `"spec": {"volumeClaimTemplates": [{"metadata": PLACE, "spec": {}}]}`},
	{"apps/v1/ControllerRevision", "controllerrevisions", `"metadata": PLACE`},
	{"apps/v1/ControllerRevision", "controllerrevisions",
		`"data": {"spec": {"template": {"$patch": "replace", "metadata": PLACE}}}`},
	{"batch/v1/Job", "jobs", `"spec": {"template": {"metadata": PLACE}}`},
	{"batch/v1/Job", "jobs/status", `"metadata": PLACE`},
	{"batch/v1/CronJob", "cronjobs", `"spec": {"jobTemplate": {"metadata": PLACE}}`},
	{"batch/v1/CronJob", "cronjobs", `"spec": {"jobTemplate": {"spec": {"template": {"metadata": PLACE}}}}`},
	{"resource.k8s.io/v1/ResourceClaimTemplate", "resourceclaimtemplates", `"spec": {"metadata": PLACE}`},
}

func kindNamed(name string) gvk.GroupVersionKind {
	part := strings.Split(name, "/")
	return gvk.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}
}

// at returns an object of a kind, in which the given metadata replace PLACE.
func at(kind, object, metadata string) string {
	of := kindNamed(kind)
	name := `"name": "x"`
	if strings.HasPrefix(object, `"metadata"`) {
		metadata = `{"name": "x", ` + strings.TrimPrefix(metadata, "{")
		name = ""
	}
	text := `{"apiVersion": "` + strings.TrimPrefix(of.Group+"/"+of.Version, "/") + `", "kind": "` + of.Kind + `", `
	if name != "" {
		text += `"metadata": {` + name + `}, `
	}
	return text + strings.Replace(object, "PLACE", metadata, 1) + "}"
}

const (
	bare     = `{"labels": {"a": "b"}}`
	envDev   = `{"labels": {"a": "b", "env": "dev"}}`
	envProd  = `{"labels": {"a": "b", "env": "prod"}}`
	envProd2 = `{"labels": {"a": "c", "env": "prod"}}`
	netA     = `{"labels": {"a": "b"}, "annotations": {"example.com/net": "a"}}`
	netB     = `{"labels": {"a": "b"}, "annotations": {"example.com/net": "b"}}`
)

// TestProtectedPlaces sets, changes, keeps and removes a protected label and annotation in every
// place, with callers that are admitted and callers that are not.
func TestProtectedPlaces(t *testing.T) {
	const verb = "granular:protectedAnnotation(example.com/net)"
	changes := []struct {
		name, old, new string
		role, verb     bool
	}{
		{"set", bare, envProd, true, false},
		{"created with it", "", envProd, true, false},
		{"changed to it", envDev, envProd, true, false},
		{"changed from it", envProd, envDev, true, false},
		{"removed", envProd, bare, true, false},
		{"kept", envProd, envProd2, false, false},
		{"another value", bare, envDev, false, false},
		{"created with another value", "", envDev, false, false},
		{"another value removed", envDev, bare, false, false},
		{"annotation set", bare, netA, false, true},
		{"annotation changed", netA, netB, false, true},
		{"annotation removed", netB, bare, false, true},
		{"annotation created", "", netA, false, true},
		{"both", envProd, netA, true, true},
	}
	for _, place := range places {
		target := endpoint(t, kindNamed(place.kind), place.resource)
		for _, c := range changes {
			if c.old == "" && (target.Subresource != "" || strings.HasPrefix(place.object, `"data"`) && c.verb) {
				continue
			}
			t.Run(place.kind+" "+place.object[:8]+" "+target.Subresource+" "+c.name, func(t *testing.T) {
				for _, holds := range []struct{ role, verb bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
					p := &inForce{set: protect.New(env, net)}
					g := &questioned{grants: grants{allow: []string{"get"}}}
					if holds.role {
						p.holds = []string{"ClusterRole/releaser"}
					}
					if holds.verb {
						g.allow = append(g.allow, verb)
					}
					ctx := contextOf("update", target, "n", "x")
					w := New(g, WithProtection(p)).Begin(ctx, target)
					if w == nil {
						t.Fatal("nothing to verify")
					}
					var old apiruntime.Object
					if c.old != "" {
						old = stored(t, at(place.kind, place.object, c.old))
					}
					err := goThrough(t, w, ctx, sentObject(t, at(place.kind, place.object, c.new)), old)
					says := ""
					switch {
					case c.role && !holds.role:
						says = `a protected label: needs ClusterRole "releaser", for it is protected in the cluster`
					case c.verb && !holds.verb:
						says = `a protected annotation: needs the verb "` + verb + `", for it is protected in the cluster`
					}
					if c.name == "both" && !holds.role && !holds.verb {
						says = "a protected" // label or annotation, whichever comes first
					}
					judged(t, err, nil, says)
					if err != nil && (strings.Contains(err.Error(), "prod") || strings.Contains(err.Error(), `"b"`)) {
						t.Errorf("the refusal shows a value: %v", err)
					}
				}
			})
		}
	}
}

// goThrough observes and verifies a change, and returns the result of Verify.
func goThrough(t *testing.T, w granular.Write, ctx context.Context, sent, old apiruntime.Object) error {
	t.Helper()
	if err := w.Submitted(ctx, sent, old); err != nil {
		t.Fatal(err)
	}
	return verify(t, w, ctx, sent, old)
}
