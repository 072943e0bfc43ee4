// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/harness"
)

const (
	deploymentPath = "/apis/apps/v1/namespaces/default/deployments/shop"
	configMapPath  = "/api/v1/namespaces/default/configmaps/settings"
	scalerPath     = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/shop"
	asJSONPatch    = "application/json-patch+json"
	asStrategic    = "application/strategic-merge-patch+json"
	asApply        = "application/apply-patch+yaml"
)

// attackedObjects are those of exportedObjects, with what the attacks need besides.
const attackedObjects = exportedObjects + `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: shop, namespace: default, labels: {other.example/a: b}}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec: {selector: {matchLabels: {app: db}}, serviceName: db, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "registry.example/db:1"}]}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`

// later are bindings that the export does not know: of its role in another namespace, and to somebody else.
const later = `
apiVersion: v1
kind: Namespace
metadata: {name: mill}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: mill}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: robot-later, namespace: mill}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: robot}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: robot-later, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: robot}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: joe}]
`

// attackedRole is exportedRole, also for a group and a service account, and for a resource in two versions.
var attackedRole = strings.Replace(exportedRole, "name: jane}]",
	"name: jane}, {kind: Group, apiGroup: rbac.authorization.k8s.io, name: robots}, {kind: ServiceAccount, name: robot}]", 1) + `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scaler}
rules:
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [get, granular, "granular:label(super.safe.com)"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scaler}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scaler}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: annotator}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get, granular, "granular:annotations"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: annotator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: annotator}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ann}]
`

// attack is a request that must change nothing but what the role allows.
type attack struct {
	name, method, path, contentType, body string
	// as is jane if it has no name.
	as rest.ImpersonationConfig
	// ignored is set if the server answers 200 and keeps the object.
	ignored bool
}

// attacks are the requests. %s in a body is the object as it is, without its last brace.
var attacks = []attack{
	{name: "PUT", method: "PUT", path: deploymentPath, body: `EDIT spec.paused`},
	{name: "a merge patch", path: deploymentPath, body: `{"spec":{"paused":true}}`},
	{name: "a merge patch beside an allowed label", path: deploymentPath, body: `{"metadata":{"labels":{"super.safe.com/a":"1"}},"spec":{"paused":true}}`},
	{name: "a JSON patch", path: deploymentPath, contentType: asJSONPatch, body: `[{"op":"add","path":"/spec/paused","value":true}]`},
	{name: "a JSON patch that moves", path: deploymentPath, contentType: asJSONPatch, body: `[{"op":"move","from":"/spec/replicas","path":"/spec/revisionHistoryLimit"}]`},
	{name: "a strategic patch", path: deploymentPath, contentType: asStrategic, body: `{"spec":{"strategy":{"$patch":"replace","type":"Recreate"}}}`},
	{name: "a strategic patch that deletes an element", path: deploymentPath, contentType: asStrategic,
		body: `{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}`},
	{name: "a strategic patch of the primitive list of finalizers", path: deploymentPath, contentType: asStrategic,
		body: `{"metadata":{"$deleteFromPrimitiveList/finalizers":["other.example/hold"]}}`},
	{name: "server-side apply", path: deploymentPath + "?fieldManager=m&force=true", contentType: asApply,
		body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"shop"},"spec":{"replicas":9}}`},
	{name: "server-side apply of a foreign label", path: deploymentPath + "?fieldManager=m&force=true", contentType: asApply,
		body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"shop","labels":{"safe.com/a":"1"}}}`},
	{name: "the body in YAML", method: "PUT", path: deploymentPath, contentType: "application/yaml", body: `EDIT spec.paused`},
	{name: "a key twice", path: deploymentPath, body: `{"spec":{"paused":false},"spec":{"paused":true}}`},
	{name: "an unknown field that the server drops", path: deploymentPath + "?fieldValidation=Ignore", body: `{"spec":{"unknown":1}}`, ignored: true},
	{name: "null for the template", path: deploymentPath, body: `{"spec":{"template":null}}`},
	{name: "null for all labels", path: configMapPath, body: `{"immutable":true,"metadata":{"labels":null}}`},
	{name: "null for all finalizers", path: deploymentPath, body: `{"metadata":{"finalizers":null}}`},
	{name: "an empty list of finalizers", path: deploymentPath, body: `{"metadata":{"finalizers":[]}}`},
	{name: "a domain that begins like the allowed one", path: deploymentPath, body: `{"metadata":{"labels":{"super.safe.com.evil/a":"1"}}}`},
	{name: "a domain that ends like the allowed one", path: deploymentPath, body: `{"metadata":{"labels":{"x.super.safe.com/a":"1"}}}`},
	{name: "an annotation of the allowed domain", path: deploymentPath, body: `{"metadata":{"annotations":{"super.safe.com/a":"1"}}}`},
	{name: "the annotation of a rollback", path: deploymentPath, body: `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`},
	{name: "an owner", path: deploymentPath, body: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"web","uid":"1"}]}}`},
	{name: "generateName", path: deploymentPath, body: `{"metadata":{"generateName":"x"}}`},
	{name: "another namespace", path: deploymentPath, body: `{"metadata":{"namespace":"kube-system"}}`},
	{name: "another name", path: deploymentPath, body: `{"metadata":{"name":"other"}}`},
	{name: "a deletion timestamp", path: deploymentPath, body: `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`},
	{name: "a generation", path: deploymentPath, body: `{"metadata":{"generation":99,"creationTimestamp":"2026-01-01T00:00:00Z"}}`, ignored: true},
	{name: "no managed fields", path: deploymentPath, body: `{"metadata":{"managedFields":[{}]}}`, ignored: true},
	{name: "labels of the template", path: deploymentPath, body: `{"spec":{"template":{"metadata":{"labels":{"super.safe.com/a":"1"}}}}}`},
	{name: "an image of a repository that begins like the allowed one", path: deploymentPath, contentType: asStrategic,
		body: `{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"registry.example/teams/shop:2"}]}}}}`},
	{name: "an image with a path that goes up", path: deploymentPath, contentType: asStrategic,
		body: `{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"registry.example/team/../other:2"}]}}}}`},
	{name: "an image after a line break", path: deploymentPath, contentType: asStrategic,
		body: `{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"evil.example/x\nregistry.example/team/shop:2"}]}}}}`},
	{name: "an allowed image beside a command", path: deploymentPath, contentType: asStrategic,
		body: `{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"registry.example/team/shop:2","command":["sh"]}]}}}}`},
	{name: "a container renamed", path: deploymentPath, contentType: asJSONPatch,
		body: `[{"op":"replace","path":"/spec/template/spec/containers/0/name","value":"other"}]`},
	{name: "a container twice", path: deploymentPath, contentType: asJSONPatch,
		body: `[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"shop","image":"registry.example/team/shop:1","command":["sh"]}}]`},
	{name: "an init container", path: deploymentPath, contentType: asStrategic,
		body: `{"spec":{"template":{"spec":{"initContainers":[{"name":"i","image":"registry.example/team/shop:1"}]}}}}`},
	{name: "the status through the main resource", path: deploymentPath, body: `{"status":{"replicas":9}}`, ignored: true},
	{name: "the specification through the status", path: deploymentPath + "/status", body: `{"spec":{"paused":true}}`, ignored: true},
	{name: "a foreign label through the status", path: deploymentPath + "/status", body: `{"metadata":{"labels":{"safe.com/a":"1"}}}`, ignored: true},
	{name: "the rest of the status", path: deploymentPath + "/status", body: `{"status":{"readyReplicas":0,"observedGeneration":99}}`},
	{name: "a foreign condition", path: deploymentPath + "/status", body: `{"status":{"conditions":[{"type":"Other","status":"True"}]}}`},
	{name: "a foreign condition beside the own one", path: deploymentPath + "/status",
		body: `{"status":{"conditions":[{"type":"SuperSafe","status":"True"},{"type":"Other","status":"True"}]}}`},
	{name: "a condition without a type", path: deploymentPath + "/status", body: `{"status":{"conditions":[{"status":"True"}]}}`},
	{name: "the own condition twice", path: deploymentPath + "/status",
		body: `{"status":{"conditions":[{"type":"SuperSafe","status":"True"},{"type":"SuperSafe","status":"False"}]}}`},
	{name: "metadata through scale", path: deploymentPath + "/scale", body: `{"metadata":{"labels":{"safe.com/a":"1"}}}`, ignored: true},
	{name: "the scale of another kind", path: "/apis/apps/v1/namespaces/default/statefulsets/db/scale", body: `{"spec":{"replicas":9}}`},
	{name: "another version of the API, an allowed label", path: strings.Replace(scalerPath, "v2", "v1", 1), body: `{"metadata":{"labels":{"super.safe.com/a":"1"}}}`},
	{name: "the role by a binding in another namespace", path: "/api/v1/namespaces/mill/configmaps/settings", body: `{"immutable":true}`},
	{name: "the role by a binding in another namespace, an allowed field", path: "/api/v1/namespaces/mill/configmaps/settings", body: `{"data":{"a":"b"}}`},
	{name: "the role by a later binding", path: configMapPath, body: `{"immutable":true}`, as: rest.ImpersonationConfig{UserName: "joe"}},
	{name: "a deployment by a later binding", path: deploymentPath, body: `{"spec":{"paused":true}}`, as: rest.ImpersonationConfig{UserName: "joe"}},
	{name: "a new object by a later binding", method: "POST", path: "/api/v1/namespaces/default/configmaps", body: `{"metadata":{"name":"more"},"immutable":true}`,
		as: rest.ImpersonationConfig{UserName: "joe"}},
	{name: "the rollback annotation, with all annotations", path: deploymentPath, body: `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`,
		as: rest.ImpersonationConfig{UserName: "ann"}},
	{name: "a quantity written differently beside another one", path: deploymentPath, contentType: asStrategic,
		body: `{"spec":{"template":{"spec":{"containers":[{"name":"side","resources":{"limits":{"cpu":"1000m"}}}]}}}}`},
	{name: "another version of the API", path: strings.Replace(scalerPath, "v2", "v1", 1), body: `{"spec":{"maxReplicas":9}}`},
	{name: "the version of the policy", path: scalerPath, body: `{"spec":{"maxReplicas":9}}`},
	{name: "a foreign label in another version", path: strings.Replace(scalerPath, "v2", "v1", 1), body: `{"metadata":{"labels":{"other.example/a":null}}}`},
	{name: "a create", method: "POST", path: "/apis/apps/v1/namespaces/default/deployments", body: `EDIT metadata.name`},
	{name: "a create with generateName", method: "POST", path: "/apis/apps/v1/namespaces/default/deployments", body: `EDIT metadata.generateName`},
	{name: "a create by apply", path: strings.Replace(deploymentPath, "shop", "other", 1) + "?fieldManager=m", contentType: asApply,
		body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"other"},"spec":{}}`},
	{name: "a config map with more than data", method: "POST", path: "/api/v1/namespaces/default/configmaps",
		body: `{"metadata":{"name":"more"},"data":{"a":"b"},"immutable":true}`},
	{name: "a config map with more than data, by generateName", method: "POST", path: "/api/v1/namespaces/default/configmaps",
		body: `{"metadata":{"generateName":"more"},"data":{"a":"b"},"immutable":true}`},
	{name: "a deletion", method: "DELETE", path: deploymentPath},
	{name: "a deletion with options", method: "DELETE", path: deploymentPath, body: `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan","gracePeriodSeconds":0}`},
	{name: "a deletion of all", method: "DELETE", path: "/apis/apps/v1/namespaces/default/deployments"},
	{name: "ephemeral containers", path: "/api/v1/namespaces/default/pods/web/ephemeralcontainers", body: `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`},
	{name: "an eviction", method: "POST", path: "/api/v1/namespaces/default/pods/web/eviction", body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}`},
	{name: "exec", method: "POST", path: "/api/v1/namespaces/default/pods/web/exec?command=sh"},
	{name: "finalize of a namespace", method: "PUT", path: "/api/v1/namespaces/default/finalize", body: `{"metadata":{"name":"default"},"spec":{"finalizers":[]}}`},
	{name: "a dry run", path: deploymentPath + "?dryRun=All", body: `{"spec":{"paused":true}}`},
	{name: "a service account", path: deploymentPath, body: `{"spec":{"paused":true}}`, as: rest.ImpersonationConfig{UserName: "system:serviceaccount:default:robot"}},
	{name: "a service account of its name in another namespace", path: deploymentPath, body: `{"metadata":{"labels":{"super.safe.com/a":"1"}}}`,
		as: rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:robot"}},
	{name: "a member of the group", path: deploymentPath, body: `{"spec":{"paused":true}}`, as: rest.ImpersonationConfig{UserName: "joe", Groups: []string{"a", "robots"}}},
	{name: "a member of the group with another case", path: deploymentPath, body: `{"metadata":{"labels":{"super.safe.com/a":"1"}}}`,
		as: rest.ImpersonationConfig{UserName: "Jane", Groups: []string{"Robots"}}},
	{name: "a user whose name is that of the group", path: deploymentPath, body: `{"metadata":{"labels":{"super.safe.com/a":"1"}}}`, as: rest.ImpersonationConfig{UserName: "robots"}},
	{name: "a member of the group who is a master", path: deploymentPath, body: `{"spec":{"paused":true}}`,
		as: rest.ImpersonationConfig{UserName: "joe", Groups: []string{"robots", "system:masters"}}},
	{name: "a foreign label among many allowed ones", path: deploymentPath, body: `MANY safe.com/a`},
	{name: "roles of one's own", path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/robot", body: `{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`},
	{name: "the policy itself", path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/robot-deployments.apps", body: `{"spec":{"failurePolicy":"Ignore"}}`},
	{name: "the binding of the policy", method: "DELETE", path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/robot-deployments.apps"},
}

// TestAttackExported tries to change something else than an exported role allows, on a server without patches. After each
// request, all that the role does not allow is as it was.
//
// Attack: on a server without patches, another field than an exported role allows: by PUT, each kind of patch, apply, YAML, a key
// twice, null, an unknown field, a directive of a strategic patch
// Answer: 403 of the policy, or 200 and nothing stored
//
// Attack: on a server without patches, what is beside or looks like the allowed domain, repository, condition or finalizer
// Answer: 403 of the policy, or 422
//
// Attack: on a server without patches, another field through status, scale, or another version of the API; a new object with more
// than the role allows; deletions, ephemeral containers, exec
// Answer: 403, or 200 and nothing stored
//
// Attack: on a server without patches, an exported role by a binding that is not in the export: later, in another namespace, to
// somebody else
// Answer: 403 of the policy, until the roles are exported again
//
// Attack: on a server without patches, the annotation that restores an old template, with the permission of all annotations
// Answer: 403 of the policy
//
// Attack: on a server without patches, an exported role as a service account, by a group, as a master in the group, or as somebody
// whose name looks like one of the subjects
// Answer: 403
func TestAttackExported(t *testing.T) {
	s := startStock(t)
	exported := s.must(t, "kubectl-granular", attackedRole, "export", "vap", "-f", "-", "--name", "robot")
	s.must(t, "kubectl", attackedObjects, "apply", "-f", "-")
	s.must(t, "kubectl", exported+"---"+later, "apply", "-f", "-")
	jane := rest.ImpersonationConfig{UserName: "jane"}
	harness.Until(t, "the policies are in force", func() bool {
		refused := func(path, body, policy string) bool {
			code, answer := s.send(t, harness.Call{As: jane, Method: http.MethodPatch, Path: path + "?dryRun=All", ContentType: asMerge, Body: body})
			return code == http.StatusForbidden && strings.Contains(answer, policy)
		}
		return refused(configMapPath, `{"immutable":true}`, "robot-configmaps.core") && refused(scalerPath, `{"spec":{"maxReplicas":8}}`, "horizontalpodautoscalers") &&
			refused(deploymentPath, `{"spec":{"paused":true}}`, "robot-deployments.apps") &&
			refused(deploymentPath+"/status", `{"status":{"replicas":7}}`, "robot-deployments-status.apps")
	})
	harness.Until(t, "the later bindings are in force", func() bool {
		byBinding := func(user, path string) bool {
			code, answer := s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: user}, Method: http.MethodPatch, Path: path + "?dryRun=All",
				ContentType: asMerge, Body: `{"data":{"a":"b"}}`})
			return code == http.StatusForbidden && strings.Contains(answer, "by a binding that is not in the export")
		}
		return byBinding("joe", configMapPath) && byBinding("jane", "/api/v1/namespaces/mill/configmaps/settings")
	})
	watched := []string{deploymentPath, configMapPath, "/api/v1/namespaces/mill/configmaps/settings", scalerPath, "/apis/apps/v1/namespaces/default/statefulsets/db", "/api/v1/namespaces/default/pods/web",
		"/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/configmaps", "/apis/rbac.authorization.k8s.io/v1/clusterroles/robot",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/robot-deployments.apps",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/robot-deployments.apps", "/api/v1/namespaces/default"}
	closed := func() map[string]any {
		out := map[string]any{}
		for _, path := range watched {
			code, answer := s.send(t, harness.Call{Method: http.MethodGet, Path: path})
			var object map[string]any
			if err := json.Unmarshal([]byte(answer), &object); code != http.StatusOK || err != nil {
				t.Fatalf("%s: %d %s", path, code, answer)
			}
			out[path] = withoutAllowed(object)
		}
		return out
	}
	before := closed()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			call := harness.Call{As: a.as, Method: a.method, Path: a.path, ContentType: a.contentType, Body: a.body}
			if call.As.UserName == "" {
				call.As = jane
			}
			if call.Method == "" {
				call.Method = http.MethodPatch
			}
			if call.ContentType == "" {
				call.ContentType = map[bool]string{true: asMerge, false: asJSON}[call.Method == http.MethodPatch]
			}
			call.Body = s.attackBody(t, a.body)
			code, answer := s.send(t, call)
			if a.ignored != (code == http.StatusOK) || code >= http.StatusInternalServerError {
				t.Errorf("%d %.400s", code, answer)
			}
			if after := closed(); !reflect.DeepEqual(before, after) {
				t.Errorf("something changed: %d %.200s", code, answer)
			}
		})
	}
}

// attackBody returns the body of an attack.
func (s *stock) attackBody(t *testing.T, text string) string {
	t.Helper()
	what, field, _ := strings.Cut(text, " ")
	switch what {
	case "EDIT":
		_, answer := s.send(t, harness.Call{Method: http.MethodGet, Path: deploymentPath})
		var object map[string]any
		if err := json.Unmarshal([]byte(answer), &object); err != nil {
			t.Fatal(err)
		}
		metadata := object["metadata"].(map[string]any)
		switch field {
		case "spec.paused":
			object["spec"].(map[string]any)["paused"] = true
		default:
			delete(metadata, "name")
			delete(metadata, "resourceVersion")
			delete(metadata, "uid")
			metadata[strings.TrimPrefix(field, "metadata.")] = "other"
		}
		return string(marshal(t, object))
	case "MANY":
		labels := map[string]any{field: "1"}
		for i := range 500 {
			labels[fmt.Sprintf("super.safe.com/a%d", i)] = "1"
		}
		return string(marshal(t, map[string]any{"metadata": map[string]any{"labels": labels}}))
	}
	return text
}

// withoutAllowed removes what jane may change, and what the server writes.
func withoutAllowed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"managedFields", "resourceVersion", "generation", "observedGeneration"} {
			delete(v, name)
		}
		for name, value := range v {
			if strings.HasPrefix(name, "super.safe.com/") {
				delete(v, name)
				continue
			}
			v[name] = withoutAllowed(value)
		}
		// An object without labels may get an empty map.
		if labels, ok := v["labels"].(map[string]any); ok && len(labels) == 0 {
			delete(v, "labels")
		}
	case []any:
		for i := range v {
			v[i] = withoutAllowed(v[i])
		}
	}
	return v
}
