// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"k8s.io/kubernetes/test/integration/etcd"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/test/integration/harness"
)

// closedField is a field of a built-in kind that an exclusion closes.
type closedField struct {
	source, version, path, permission string
	// collection is the path of the objects, and open an object without the value in field.
	collection, open, field string
	// immutable is set if the field can't change after the create.
	immutable bool
	// subresource is another way to write the object, and inSubresource is field as written there.
	subresource, inSubresource string
}

var closedFields = map[string]closedField{
	"external IPs": {"services", "v1", ".spec.externalIPs", "example.com/externalIPs", "/api/v1/namespaces/default/services",
		`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80}]}}`, `{"spec":{"externalIPs":["192.0.2.1"]}}`, false, "", ""},
	"a claim": {"persistentvolumes", "v1", ".spec.claimRef", "example.com/claimRef", "/api/v1/persistentvolumes",
		`{"apiVersion":"v1","kind":"PersistentVolume","spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}}`,
		`{"spec":{"claimRef":{"namespace":"default","name":"x"}}}`, false, "", ""},
	"rules of an ingress": {"ingresses.networking.k8s.io", "v1", ".spec.rules", "example.com/rules", "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
		`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","spec":{"defaultBackend":{"service":{"name":"a","port":{"number":80}}}}}`,
		`{"spec":{"rules":[{"host":"a.example.com"}]}}`, false, "", ""},
	"data": {"configmaps", "v1", ".data", "example.com/data", "/api/v1/namespaces/default/configmaps",
		`{"apiVersion":"v1","kind":"ConfigMap"}`, `{"data":{"a":"b"}}`, false, "", ""},
	"data of a secret by another field": {"secrets", "v1", ".data", "example.com/data", "/api/v1/namespaces/default/secrets",
		`{"apiVersion":"v1","kind":"Secret"}`, `{"stringData":{"a":"b"}}`, false, "", ""},
	"finalizers": {"configmaps", "v1", ".metadata.finalizers", "example.com/finalizers", "/api/v1/namespaces/default/configmaps",
		`{"apiVersion":"v1","kind":"ConfigMap"}`, `{"metadata":{"finalizers":["example.com/a"]}}`, false, "", ""},
	"owners": {"configmaps", "v1", ".metadata.ownerReferences", "example.com/owners", "/api/v1/namespaces/default/configmaps",
		`{"apiVersion":"v1","kind":"ConfigMap"}`, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1"}]}}`, false, "", ""},
	"finalizers through the status": {"services", "v1", ".metadata.finalizers", "example.com/finalizers", "/api/v1/namespaces/default/services",
		`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80}]}}`, `{"metadata":{"finalizers":["example.com/a"]}}`, false, "/status", `{"metadata":{"finalizers":["example.com/a"]}}`},
	"replicas": {"deployments.apps", "v1", ".spec.replicas", "example.com/replicas", "/apis/apps/v1/namespaces/default/deployments",
		deployment, `{"spec":{"replicas":3}}`, false, "/scale", `{"spec":{"replicas":3}}`},
	"a template": {"deployments.apps", "v1", ".spec.template.spec.hostNetwork", "example.com/hostNetwork", "/apis/apps/v1/namespaces/default/deployments",
		deployment, `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`, false, "", ""},
	"the network of a pod":     {"pods", "v1", ".spec.hostNetwork", "example.com/hostNetwork", "/api/v1/namespaces/default/pods", runningPod, `{"spec":{"hostNetwork":true}}`, true, "", ""},
	"the account of a pod":     {"pods", "v1", ".spec.serviceAccountName", "example.com/account", "/api/v1/namespaces/default/pods", runningPod, `{"spec":{"serviceAccount":"default"}}`, true, "", ""},
	"the deadline of a pod":    {"pods", "v1", ".spec.activeDeadlineSeconds", "example.com/deadline", "/api/v1/namespaces/default/pods", runningPod, `{"spec":{"activeDeadlineSeconds":9}}`, false, "", ""},
	"ephemeral containers":     {"pods", "v1", ".spec.ephemeralContainers", "example.com/debug", "/api/v1/namespaces/default/pods", runningPod, `{}`, true, "/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`},
	"resources of a container": {"pods", "v1", ".spec.containers[*].resources.limits", "example.com/limits", "/api/v1/namespaces/default/pods", runningPod, `{}`, true, "/resize", `{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}}`},
	"finalizers of a pod by its status": {"pods", "v1", ".metadata.finalizers", "example.com/finalizers", "/api/v1/namespaces/default/pods", runningPod,
		`{"metadata":{"finalizers":["example.com/a"]}}`, false, "/status", `{"metadata":{"finalizers":["example.com/a"]}}`},
	"metrics in another version": {"horizontalpodautoscalers.autoscaling", "v2", ".spec.metrics", "example.com/metrics",
		"/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
		`{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":5,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"x"}}}`,
		`{"spec":{"targetCPUUtilizationPercentage":60}}`, false, "", ""},
	"the maximum": {"horizontalpodautoscalers.autoscaling", "v2", ".spec.maxReplicas", "example.com/maximum", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
		`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":5,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"x"}}}`,
		`{"spec":{"maxReplicas":7}}`, false, "", ""},
}

const (
	deployment = `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	runningPod = `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}}]}}`
)

// parsed returns an object with a name.
func parsed(t *testing.T, text, name string) map[string]any {
	t.Helper()
	out := harness.FromYAML(t, text)
	if name != "" {
		harness.SetAt(out, name, "metadata", "name")
	}
	return out
}

// withChange returns base with what change has.
func withChange(base, change map[string]any) map[string]any {
	out := maps.Clone(base)
	for name, value := range change {
		below, isObject := value.(map[string]any)
		if inner, ok := out[name].(map[string]any); ok && isObject {
			value = withChange(inner, below)
		}
		if list, ok := value.([]any); ok && len(list) == 1 {
			if old, ok := out[name].([]any); ok && len(old) == 1 {
				if item, ok := old[0].(map[string]any); ok {
					value = []any{withChange(item, list[0].(map[string]any))}
				}
			}
		}
		out[name] = value
	}
	return out
}

// TestBuiltinExclusionHolds holds that holders of the ordinary verbs need the verb of an entry of a built-in kind, in each
// way to write the field.
//
// Attack: writing a closed field of a built-in kind by a create, any patch, an apply, a subresource, or its other name
// Answer: 403, and the refusal names the FieldPermission
func TestBuiltinExclusionHolds(t *testing.T) {
	account(t)
	for name, f := range closedFields {
		t.Run(name, func(t *testing.T) {
			put(t, server, f.source, v1alpha1.ModeEnforce, f.version, excluded(f.path, f.permission))
			for way, send := range f.ways(t) {
				t.Run(way, func(t *testing.T) {
					object := fmt.Sprintf("x%d", harness.Unique())
					path := f.collection + "/" + object
					if !strings.HasPrefix(way, "create") {
						server.MustSend(t, http.MethodPost, f.collection, harness.ContentTypes["json"], parsed(t, f.open, object))
					}
					server.Twins(t, path, "(excluded by FieldPermission "+f.source+")", []string{f.verb(), "create", "update", "patch", "get"},
						func(user string) harness.Answer { return send(t, user, object, path) })
				})
			}
		})
	}
}

// TestBuiltinOtherFields holds that holders of the ordinary verbs need nothing more for objects without the closed field: a
// create, an update of what was read, and a label.
func TestBuiltinOtherFields(t *testing.T) {
	account(t)
	user := caller(server, "create", "update", "patch", "get")
	for name, f := range closedFields {
		if strings.HasSuffix(f.path, ".limits") || f.path == ".spec.maxReplicas" {
			continue // the object has them
		}
		t.Run(name, func(t *testing.T) {
			put(t, server, f.source, v1alpha1.ModeEnforce, f.version, excluded(f.path, f.permission))
			object := fmt.Sprintf("x%d", harness.Unique())
			path := f.collection + "/" + object
			for _, a := range []harness.Answer{
				server.Send(t, user, http.MethodPost, f.collection, harness.ContentTypes["json"], parsed(t, f.open, object)),
				server.Update(t, user, path, unchanged),
				server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}}}`),
			} {
				if a.Code >= 300 || len(a.Warnings()) > 0 {
					t.Errorf("%s %q", a, a.Warnings())
				}
			}
		})
	}
}

// account creates the service account that pods have by default, because no controller does.
func account(t *testing.T) {
	t.Helper()
	server.MustSend(t, http.MethodPatch, "/api/v1/namespaces/default/serviceaccounts/default?fieldManager=test", harness.ContentTypes["apply"],
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`)
}

// verb returns the verb of the permission. Inside a pod template it has the scope's prefix.
func (f closedField) verb() string {
	if strings.HasPrefix(f.path, ".spec.template.") {
		return "granular:" + permission.Scoped("podTemplate", f.permission)
	}
	return "granular:" + f.permission
}

// ways returns the ways to write the field of an object.
func (f closedField) ways(t *testing.T) map[string]func(t *testing.T, user, name, path string) harness.Answer {
	t.Helper()
	type send = func(t *testing.T, user, name, path string) harness.Answer
	change := parsed(t, f.field, "")
	merge := func(contentType, subresource, body string) send {
		return func(t *testing.T, user, _, path string) harness.Answer {
			return server.Send(t, user, http.MethodPatch, path+subresource, harness.ContentTypes[contentType], body)
		}
	}
	update := func(subresource, text string) send {
		return func(t *testing.T, user, _, path string) harness.Answer {
			return server.Send(t, user, http.MethodPut, path+subresource, harness.ContentTypes["json"],
				withChange(server.LiveObject(t, path+subresource), parsed(t, text, "")))
		}
	}
	all := map[string]send{}
	if len(change) > 0 {
		all["create"] = func(t *testing.T, user, name, _ string) harness.Answer {
			return server.Send(t, user, http.MethodPost, f.collection, harness.ContentTypes["json"], withChange(parsed(t, f.open, name), change))
		}
		all["create, dry run"] = func(t *testing.T, user, name, _ string) harness.Answer {
			return server.Send(t, user, http.MethodPost, f.collection+"?dryRun=All", harness.ContentTypes["json"], withChange(parsed(t, f.open, name), change))
		}
		if f.source == "services" { // the other kinds can't be created by an update
			all["create by update"] = func(t *testing.T, user, name, path string) harness.Answer {
				return server.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], withChange(parsed(t, f.open, name), change))
			}
		}
		all["create by apply"] = func(t *testing.T, user, name, path string) harness.Answer {
			return server.Send(t, user, http.MethodPatch, path+"?fieldManager=m", harness.ContentTypes["apply"], withChange(parsed(t, f.open, name), change))
		}
	}
	if !f.immutable {
		all["update"] = update("", f.field)
		all["merge patch"] = merge("merge", "", f.field)
		all["strategic merge patch"] = merge("strategic", "", f.field)
		all["JSON patch"] = func(t *testing.T, user, _, path string) harness.Answer {
			before := server.LiveObject(t, path)
			return server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["jsonpatch"], harness.JSONPatch(before, withChange(before, change)))
		}
		all["apply"] = func(t *testing.T, user, name, path string) harness.Answer {
			return server.Send(t, user, http.MethodPatch, path+"?fieldManager=m&force=true", harness.ContentTypes["apply"], withChange(parsed(t, f.open, name), change))
		}
	}
	if f.subresource != "" {
		all["update of "+f.subresource] = update(f.subresource, f.inSubresource)
		all["strategic merge patch of "+f.subresource] = merge("strategic", f.subresource, f.inSubresource)
	}
	return all
}

// TestBuiltinNotHeld holds who passes an exclusion of a built-in kind: holders of bypass on that very FieldPermission, and
// members of system:masters.
func TestBuiltinNotHeld(t *testing.T) {
	put(t, server, "services", v1alpha1.ModeEnforce, "v1", excluded(".spec.externalIPs", "example.com/externalIPs"))
	const services = "/api/v1/namespaces/default/services"
	body := func() map[string]any {
		return withChange(parsed(t, closedFields["external IPs"].open, fmt.Sprintf("x%d", harness.Unique())), parsed(t, closedFields["external IPs"].field, ""))
	}
	for name, want := range map[string]int{"services": http.StatusCreated, "pods": http.StatusForbidden} {
		user := fmt.Sprintf("controller-%d", harness.Unique())
		server.Callers.AddCallerFunc(user, func(q harness.Question) bool {
			return q.Verb == "create" || q.Verb == "bypass" && q.Name == name && q.Group == v1alpha1.GroupName && q.Resource == "fieldpermissions"
		})
		if a := server.Send(t, user, http.MethodPost, services, harness.ContentTypes["json"], body()); a.Code != want {
			t.Errorf("bypass on %s: %s", name, a)
		}
	}
	server.MustSend(t, http.MethodPost, services, harness.ContentTypes["json"], body())
}

// TestDocumentedExclusions stores the objects that the page about FieldPermissions shows for built-in kinds, enforces them,
// and checks that each closed field is refused to a holder of the ordinary verbs.
func TestDocumentedExclusions(t *testing.T) {
	page, err := os.ReadFile("../../../docs/field-permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Fields of built-in kinds\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	closed := map[string]bool{}
	for _, text := range strings.Split(block, "\n---\n") {
		p := harness.FromYAML(t, text)
		harness.SetAt(p, "Enforce", "spec", "mode")
		name := harness.Metadata(t, p)["name"].(string)
		server.MustSend(t, http.MethodPatch, fieldPermissions+"/"+name+"?fieldManager=test&force=true", harness.ContentTypes["apply"], p)
		t.Cleanup(func() { remove(t, server, name) })
		closed[name] = true
	}
	user := caller(server, "create", "update", "patch", "get")
	for _, name := range []string{"external IPs", "a claim", "rules of an ingress", "finalizers through the status"} {
		f := closedFields[name]
		if !closed[f.source] {
			t.Fatalf("the page does not close %s", f.source)
		}
		create := func(o map[string]any) harness.Answer {
			return server.Send(t, user, http.MethodPost, f.collection+"?dryRun=All", harness.ContentTypes["json"], o)
		}
		if a := create(parsed(t, f.open, "documented")); a.Code != http.StatusCreated {
			t.Errorf("%s: %s", name, a)
		}
		if a := create(withChange(parsed(t, f.open, "documented"), parsed(t, f.field, ""))); a.Code != http.StatusForbidden ||
			!strings.Contains(a.Message(), "(excluded by FieldPermission "+f.source+")") {
			t.Errorf("%s: %s", name, a)
		}
	}
}

// TestMetadataOfEveryKind closes finalizers and owners of every built-in resource that takes exclusions. Its objects can be
// created without them, read, written back and labelled by holders of the ordinary verbs, and get neither of them.
//
// Attack: finalizers or owners of some kind stay open, or closing them stops ordinary writes of some kind
// Answer: one test for every built-in resource
func TestMetadataOfEveryKind(t *testing.T) {
	account(t)
	data := etcd.GetEtcdStorageDataForNamespace("default")
	user := caller(server, "create", "update", "patch", "get", "attest")
	closed := 0
	for resource, stub := range data {
		source := strings.TrimSuffix(resource.Resource+"."+resource.Group, ".")
		a := server.Send(t, "", http.MethodPatch, fieldPermissions+"/"+source+"?fieldManager=test&force=true", harness.ContentTypes["apply"],
			object(source, v1alpha1.ModeEnforce, "", excluded(".metadata.finalizers", "example.com/finalizers"), excluded(".metadata.ownerReferences", "example.com/owners")))
		if a.Code >= 300 {
			if a.Code != http.StatusUnprocessableEntity || !strings.Contains(a.Message(), "no exclusion is possible here") && !strings.Contains(a.Message(), "preferred version") {
				t.Errorf("%s: %s", source, a)
			}
			continue
		}
		t.Cleanup(func() { remove(t, server, source) })
		if stored(t, server, source).Spec.Version != resource.Version {
			continue // the test data of another version is used
		}
		closed++
		t.Run(source, func(t *testing.T) {
			checkMetadata(t, user, resource.Group, resource.Version, resource.Resource, stub.Stub)
		})
	}
	if closed < 30 {
		t.Errorf("only %d resources", closed)
	}
}

func checkMetadata(t *testing.T, user, group, version, resource, stub string) {
	t.Helper()
	root := "/apis/" + group
	if group == "" {
		root = "/api"
	}
	root += "/" + version
	var list struct {
		Resources []struct {
			Name, Kind string
			Namespaced bool
		}
	}
	if err := json.Unmarshal(server.MustSend(t, http.MethodGet, root, "", nil).Body, &list); err != nil {
		t.Fatal(err)
	}
	o := parsed(t, stub, "")
	collection := root + "/" + resource
	for _, r := range list.Resources {
		if r.Name == resource {
			o["apiVersion"], o["kind"] = strings.TrimPrefix(group+"/"+version, "/"), r.Kind
			if r.Namespaced {
				collection = root + "/namespaces/default/" + resource
			}
		}
	}
	metadata := harness.Metadata(t, o)
	delete(metadata, "finalizers")
	delete(metadata, "ownerReferences")
	one := collection + "/" + metadata["name"].(string)
	if a := server.Send(t, user, http.MethodPost, collection, harness.ContentTypes["json"], o); a.Code != http.StatusCreated {
		t.Fatalf("create: %s", a)
	}
	t.Cleanup(func() {
		server.Send(t, "", http.MethodPatch, one, harness.ContentTypes["merge"], `{"metadata":{"finalizers":null}}`)
		server.Send(t, "", http.MethodDelete, one+"?gracePeriodSeconds=0", "", nil)
	})
	for _, a := range []harness.Answer{
		server.Update(t, user, one, unchanged),
		server.Send(t, user, http.MethodPatch, one, harness.ContentTypes["merge"], `{"metadata":{"labels":{"example.com/a":"b"}}}`),
		server.Send(t, user, http.MethodPatch, one+"?fieldManager=l", harness.ContentTypes["apply"],
			map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": map[string]any{"name": metadata["name"], "labels": map[string]any{"example.com/c": "d"}}}),
	} {
		if a.Code >= 300 {
			t.Errorf("without the fields: %s", a)
		}
	}
	live := server.LiveObject(t, one)
	before := fmt.Sprint(harness.ValueAt(live, "metadata", "finalizers"), harness.ValueAt(live, "metadata", "ownerReferences"))
	for _, change := range []string{`{"metadata":{"finalizers":["example.com/a"]}}`, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1"}]}}`} {
		changed := func(live map[string]any) map[string]any { return withChange(live, parsed(t, change, "")) }
		another := metadata["name"].(string) + "1" // some kinds refuse names of another form
		create := withChange(parsed(t, text(t, o), another), parsed(t, change, ""))
		attempts := map[string]harness.Answer{
			"create":      server.Send(t, user, http.MethodPost, collection+"?dryRun=All", harness.ContentTypes["json"], create),
			"update":      server.Update(t, user, one, changed),
			"merge patch": server.Send(t, user, http.MethodPatch, one, harness.ContentTypes["merge"], change),
			"apply": server.Send(t, user, http.MethodPatch, one+"?fieldManager=m&force=true", harness.ContentTypes["apply"],
				withChange(parsed(t, change, metadata["name"].(string)), map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"]})),
		}
		for _, r := range list.Resources {
			if r.Name == resource+"/status" {
				attempts["merge patch of the status"] = server.Send(t, user, http.MethodPatch, one+"/status", harness.ContentTypes["merge"], change)
				attempts["update of the status"] = server.Update(t, user, one+"/status", changed)
			}
		}
		for way, a := range attempts {
			ignored := a.Code == http.StatusOK && strings.HasSuffix(way, "status") // some strategies keep the stored metadata
			if !ignored && (a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "(excluded by FieldPermission")) {
				t.Errorf("%s of %s: %s", way, change, a)
			}
		}
	}
	live = server.LiveObject(t, one)
	if after := fmt.Sprint(harness.ValueAt(live, "metadata", "finalizers"), harness.ValueAt(live, "metadata", "ownerReferences")); after != before {
		t.Errorf("stored %s, was %s", after, before)
	}
}

func unchanged(live map[string]any) map[string]any { return live }

func text(t *testing.T, object any) string {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
