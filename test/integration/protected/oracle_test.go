// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	library "kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/protect/protecttest"
	"kube-granular.dev/test/integration/harness"
)

// oracleObject adds to a random object of the oracle what the server requires of its kind.
func oracleObject(c *protecttest.Case, content map[string]any, name, version string) map[string]any {
	for _, text := range []string{completions[c.Resource].object, `{"metadata":{"name":"` + name + `"}}`} {
		more := map[string]any{}
		if err := json.Unmarshal([]byte(text), &more); err != nil {
			panic(err)
		}
		complete(content, more)
	}
	if version != "" {
		harness.SetAt(content, version, "metadata", "resourceVersion")
	}
	return content
}

// complete merges the fields of more into an object.
func complete(into, more map[string]any) {
	for k, v := range more {
		below, ok := into[k].(map[string]any)
		if from, isMap := v.(map[string]any); ok && isMap {
			complete(below, from)
		} else {
			into[k] = v
		}
	}
}

const oraclePodSpec = `"spec":{"restartPolicy":"Never","automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}`

// completions maps each resource to its path and to the fields that its objects need.
var completions = map[string]struct{ path, object string }{
	"configmaps": {"NS/configmaps", `{"apiVersion":"v1","kind":"ConfigMap"}`},
	"namespaces": {"", `{"apiVersion":"v1","kind":"Namespace"}`},
	"deployments.apps": {"apps/deployments",
		`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},` + podSpec + `}}}`},
	"cronjobs.batch": {"batch/cronjobs",
		`{"apiVersion":"batch/v1","kind":"CronJob","spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{` + oraclePodSpec + `}}}}}`},
	"fleets.example.com": {"example.com/fleets", `{"apiVersion":"example.com/v1","kind":"Fleet"}`},
}

// attributeOf returns an entry of the oracle as an attribute of the API, and the path to create
// it at.
func attributeOf(t *testing.T, e library.Entry) (path, body string) {
	t.Helper()
	s := v1alpha1.ProtectedAttributeSpec{
		AttributeKind: v1alpha1.AttributeKind(e.Kind.String()), AttributeName: e.Key,
		ProtectedValues: e.ProtectedValues, AllowedValues: e.AllowedValues, Mode: v1alpha1.Mode(e.Mode),
	}
	if e.Role != (library.RoleRef{}) {
		s.RoleRef = &v1alpha1.RoleReference{Kind: e.Role.Kind, Name: e.Role.Name}
	}
	for _, r := range e.Resources {
		s.Resources = append(s.Resources, v1alpha1.GroupResource(r))
	}
	for _, r := range e.ExcludeResources {
		s.ExcludeResources = append(s.ExcludeResources, v1alpha1.GroupResource(r))
	}
	kind, path := "ClusterProtectedAttribute", authority+"/clusterprotectedattributes"
	if e.Namespace != "" {
		kind, path = "ProtectedAttribute", authority+"/namespaces/"+e.Namespace+"/protectedattributes"
	}
	out, err := json.Marshal(map[string]any{"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": kind, "metadata": map[string]any{"name": e.Name}, "spec": s})
	if err != nil {
		t.Fatal(err)
	}
	return path, string(out)
}

// oracleRoles creates the roles of the oracle. It binds each to a group, and the name of the
// group is the oracle's name for what its members hold.
func oracleRoles(t *testing.T) {
	t.Helper()
	post := func(path, kind, rest string) {
		must(t, http.MethodPost, path, "", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"`+kind+`",`+rest+`}`)
	}
	binding := func(kind, role, group string) string {
		name := strings.ToLower(strings.ReplaceAll(group, " ", "-"))
		return `"metadata":{"name":"` + name + `"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"` + kind + `","name":"` + role + `"},"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"` + group + `"}]`
	}
	const inDefault = rbacPath + "/namespaces/default"
	for _, name := range []string{"a", "b", "c"} {
		post(rbacPath+"/clusterroles", "ClusterRole", `"metadata":{"name":"`+name+`"},"rules":[]`)
		post(inDefault+"/roles", "Role", `"metadata":{"name":"`+name+`"},"rules":[{"apiGroups":["example.com"],"resources":["oracle"],"verbs":["get"]}]`)
		post(rbacPath+"/clusterrolebindings", "ClusterRoleBinding", binding("ClusterRole", name, "ClusterRole "+name))
		post(inDefault+"/rolebindings", "RoleBinding", binding("ClusterRole", name, "ClusterRole "+name+" in default"))
		post(inDefault+"/rolebindings", "RoleBinding", binding("Role", name, "Role "+name+" in default"))
	}
	n := 0
	for _, kind := range []string{"Label", "Annotation"} {
		for _, key := range []string{"env", "example.com/a", "example.com/b", "team"} {
			n++
			name, verb := fmt.Sprintf("oracle-verb-%d", n), "granular:protected"+kind+"("+key+")"
			post(rbacPath+"/clusterroles", "ClusterRole", `"metadata":{"name":"`+name+`"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["`+verb+`"]}]`)
			post(rbacPath+"/clusterrolebindings", "ClusterRoleBinding", `"metadata":{"name":"`+name+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+name+`"},"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"`+verb+`"}]`)
		}
	}
}

// TestOracleOnTheServer compares the server with an oracle, a second implementation of the
// rules that shares no code with the server. Both judge random writes with random attributes
// and holders, also of custom resources.
func TestOracleOnTheServer(t *testing.T) {
	const cases = 400
	withPeople(t)
	withFleets(t)
	if send(t, harness.Admin, http.MethodGet, "/api/v1/namespaces/default", "", "").Code != http.StatusOK {
		namespace(t, "default")
	}
	namespace(t, "other")
	oracleRoles(t)
	var resources []string
	for _, r := range protecttest.Resources() {
		if _, ok := completions[r]; ok {
			resources = append(resources, r)
		}
	}
	grant(t, "oracle", writing, "oracle")
	allowed(t, "oracle", "update", "apps", "deployments")
	// If the last binding of each kind is known to the server, so are those before it.
	for group, where := range map[string]string{"granular:protectedAnnotation(team)": `"verb":"granular:protectedAnnotation(team)","resource":"pods"`, "Role c in default": `"namespace":"default","verb":"get","group":"example.com","resource":"oracle"`} {
		harness.Until(t, group+" is known", func() bool {
			body := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"oracle-probe","groups":["` + group + `"],"resourceAttributes":{` + where + `}}}`
			return strings.Contains(must(t, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", body), `"allowed":true`)
		})
	}
	refused := 0
	for seed := range uint64(cases) {
		c := protecttest.RandomWithoutAdmission(rand.New(rand.NewPCG(seed, 21)), resources...)
		name := fmt.Sprintf("oracle-%d", seed)
		collection := where(completions[c.Resource].path, c.Namespace)
		if c.Resource == "namespaces" {
			collection = "/api/v1/namespaces"
		}
		method, path, version := http.MethodPost, collection, ""
		if c.Old != nil {
			body, err := json.Marshal(oracleObject(c, c.Old, name, ""))
			if err != nil {
				t.Fatal(err)
			}
			must(t, http.MethodPost, collection, "", string(body))
			method, path = http.MethodPut, collection+"/"+name
			version = versionOf(t, path)
		}
		var made []string
		// The server rejects some random entries as invalid: for example a namespaced attribute
		// for a cluster-scoped resource, or one that selects and excludes the same resource.
		c.Entries = slices.DeleteFunc(c.Entries, func(e library.Entry) bool {
			at, body := attributeOf(t, e)
			got := send(t, harness.Admin, http.MethodPost, at, "", body)
			if said := string(got.Body); got.Code == http.StatusUnprocessableEntity &&
				(strings.Contains(said, "has no namespace") || strings.Contains(said, "is in resources as well")) {
				return true
			}
			if got.Code != http.StatusCreated {
				t.Fatalf("%s: %s", body, got)
			}
			made = append(made, at+"/"+e.Name)
			return false
		})
		holds := c.Holds
		for _, h := range c.Holds {
			if role, ok := strings.CutPrefix(h, "ClusterRole "); ok && !strings.Contains(role, " in ") {
				holds = append(holds, h+" in default", h+" in other")
			}
		}
		want, found := c.Verdict(holds)
		warns := false
		for _, f := range found {
			warns = warns || f && !want
		}
		body, err := json.Marshal(oracleObject(c, c.Sent, name, version))
		if err != nil {
			t.Fatal(err)
		}
		got := send(t, "oracle", method, path, "", string(body), c.Holds...)
		isRefused := got.Code == http.StatusForbidden && strings.Contains(string(got.Body), "a protected ")
		if isRefused != want || !isRefused && got.Code >= 300 {
			t.Errorf("seed %d: %s: %s, by the oracle: refused: %t", seed, c.Resource, got, want)
		}
		if warned := strings.Contains(strings.Join(got.Warnings(), "\n"), "were enforced"); warned != warns {
			t.Errorf("seed %d: %s: warned of %q, by the oracle: %v", seed, c.Resource, got.Warnings(), found)
		}
		if want {
			refused++
		}
		for _, path := range made {
			must(t, http.MethodDelete, path, "", "")
		}
	}
	t.Logf("%d of %d cases are refused", refused, cases)
	if refused < cases/20 || refused > cases/2 {
		t.Errorf("%d of %d cases are refused, which is too one-sided for a test", refused, cases)
	}
}
