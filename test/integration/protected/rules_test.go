// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

func podBody(name, metadata string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"` + metadata + `},` + podSpec + `}`
}

// refused checks that an answer is a 403 with a certain text, and that it shows no protected
// value.
func refused(t *testing.T, got harness.Answer, says string) {
	t.Helper()
	if got.Code != http.StatusForbidden || !strings.Contains(string(got.Body), says) || strings.Contains(string(got.Body), "prod") {
		t.Errorf("got %s\nwanted 403 and %s", got, says)
	}
}

// granted checks that an answer is a success.
func granted(t *testing.T, got harness.Answer) {
	t.Helper()
	if got.Code >= 300 {
		t.Errorf("got %s", got)
	}
}

// TestBystanders checks that a request that changes no protected attribute is never refused,
// even if the object violates one already, and that deletions are not affected.
func TestBystanders(t *testing.T) {
	withPeople(t)
	namespace(t, "bystanders")
	pods := where("NS/pods", "bystanders")
	must(t, "POST", pods, "", podBody("p", `,"labels":{"env":"prod"},"annotations":{"example.com/net":"x"}`))
	must(t, "POST", pods, "", podBody("q", `,"labels":{"env":"prod"}`))
	protect(t, "bystanders-env", envLabel)
	protect(t, "bystanders-net", netAnno)
	for name, r := range map[string]request{
		"another label": {"PATCH", pods + "/p", "merge", `{"metadata":{"labels":{"a":"b"}}}`, nil},
		"the same value": {"PATCH", pods + "/p", "merge",
			`{"metadata":{"labels":{"env":"prod"},"annotations":{"example.com/net":"x"}}}`, nil},
		"a put": {"PUT", pods + "/p", "", "",
			func(o map[string]any) { harness.SetAt(o, "c", "metadata", "labels", "b") }},
		"an apply": {"PATCH", pods + "/p?fieldManager=m", "apply",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"env":"prod","d":"e"}}}`, nil},
		"the status":           {"PATCH", pods + "/p/status", "merge", `{"status":{"phase":"Running"}}`, nil},
		"a value that is free": {"POST", pods, "", podBody("dev", `,"labels":{"env":"dev"}`), nil},
	} {
		t.Run(name, func(t *testing.T) { granted(t, r.send(t, "other", "bystanders")) })
	}
	refused(t, send(t, "other", "PATCH", pods+"/p", "merge", `{"metadata":{"labels":{"env":"dev"}}}`), "labels[env]")
	granted(t, send(t, "other", "DELETE", pods+"/p?gracePeriodSeconds=0", "", ""))
	granted(t, send(t, "other", "DELETE", pods+"?gracePeriodSeconds=0", "", ""))
}

// TestWithoutLabels checks evictions, token requests and scales. They store no labels or
// annotations, so they need no role, even if their bodies contain protected ones.
//
// Attack: a protected label in an eviction, a token request, a scale
// Answer: 2xx, it is not stored
func TestWithoutLabels(t *testing.T) {
	withPeople(t)
	const ns = "operations"
	namespace(t, ns)
	protect(t, "operations-env", envLabel)
	protect(t, "operations-net", netAnno)
	must(t, "POST", where("NS/pods", ns), "", podBody("p", ""))
	must(t, "POST", where("NS/pods", ns), "", podBody("evicted", ""))
	must(t, "POST", where("NS/serviceaccounts", ns), "", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s"}}`)
	must(t, "POST", where("apps/deployments", ns), "", fixtures[5].body)
	metadata := func(name string) string {
		return `"metadata":{"name":"` + name + `","labels":{"env":"prod"},"annotations":{"example.com/net":"x"}}`
	}
	for name, tc := range map[string]struct{ method, path, way, body, stored string }{
		"eviction": {"POST", where("NS/pods/evicted/eviction", ns), "",
			`{"apiVersion":"policy/v1","kind":"Eviction",` + metadata("evicted") + `}`, ""},
		"dry eviction": {"POST", where("NS/pods/p/eviction", ns) + "?dryRun=All", "",
			`{"apiVersion":"policy/v1","kind":"Eviction",` + metadata("p") + `}`, where("NS/pods/p", ns)},
		"token": {"POST", where("NS/serviceaccounts/s/token", ns), "",
			`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",` + metadata("s") + `,"spec":{"audiences":[]}}`,
			where("NS/serviceaccounts/s", ns)},
		"scale": {"PUT", where("apps/deployments/x/scale", ns), "",
			`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"` + ns + `","labels":{"env":"prod"},"annotations":{"example.com/net":"x"}},"spec":{"replicas":2}}`,
			where("apps/deployments/x", ns)},
		"patch of scale": {"PATCH", where("apps/deployments/x/scale", ns), "merge",
			`{"metadata":{"labels":{"env":"prod"}},"spec":{"replicas":3}}`, where("apps/deployments/x", ns)},
	} {
		t.Run(name, func(t *testing.T) {
			granted(t, send(t, "other", tc.method, tc.path, tc.way, tc.body))
			if tc.stored == "" {
				return
			}
			if got := must(t, "GET", tc.stored, "", ""); strings.Contains(got, `"prod"`) || strings.Contains(got, "example.com/net") {
				t.Errorf("it is stored: %s", got)
			}
		})
	}
}

// TestVerbs checks an attribute without a role: the caller needs the verb for the key on the
// resource that it writes. Neither update nor permissions for labels include this verb.
//
// Attack: a protected key with `update`, with the permissions of labels and of metadata, with its verb on another resource, with the verb of another key
// Answer: 403; 201 with its verb
func TestVerbs(t *testing.T) {
	withPeople(t)
	const ns = "verbs"
	namespace(t, ns)
	protect(t, "verbs", `{"attributeKind":"Label","attributeName":"verbs.example.com/*"}`)
	grant(t, "verbs-pods", `[{"apiGroups":[""],"resources":["pods"],"verbs":["granular:protectedLabel(verbs.example.com/a)"]}]`, "verbs-holder")
	grant(t, "verbs-services", `[{"apiGroups":[""],"resources":["services"],"verbs":["granular:protectedLabel(verbs.example.com/a)"]}]`, "verbs-elsewhere")
	grant(t, "verbs-fields", `[{"apiGroups":[""],"resources":["pods"],"verbs":["granular","granular:labels","granular:metadata","granular:label(verbs.example.com/a)"]}]`, "verbs-fields")
	bind(t, "writer", "verbs-holder", "verbs-elsewhere", "verbs-fields")
	for _, user := range []string{"verbs-holder", "verbs-elsewhere", "verbs-fields"} {
		allowed(t, user, "create", "", "pods")
	}
	allowed(t, "verbs-holder", "granular:protectedLabel(verbs.example.com/a)", "", "pods")
	pods := where("NS/pods", ns)
	for _, user := range []string{"verbs-elsewhere", "verbs-fields", "other"} {
		refused(t, send(t, user, "POST", pods, "", podBody("p-"+user, `,"labels":{"verbs.example.com/a":"x"}`)), `needs the verb \"granular:protectedLabel(verbs.example.com/a)\"`)
	}
	granted(t, send(t, "verbs-holder", "POST", pods, "", podBody("p", `,"labels":{"verbs.example.com/a":"x"}`)))
	refused(t, send(t, "verbs-holder", "POST", pods, "", podBody("q", `,"labels":{"verbs.example.com/b":"x"}`)), `needs the verb \"granular:protectedLabel(verbs.example.com/b)\"`)
}

// TestBypass checks that the verb bypass exempts a caller only if the caller holds it in the
// whole cluster. In a namespace, even cluster-admin does not exempt.
//
// Attack: `bypass`, or all of `cluster-admin`, bound in a namespace
// Answer: 403, the caller must hold it in the whole cluster
func TestBypass(t *testing.T) {
	withPeople(t)
	const ns = "bypass"
	namespace(t, ns)
	protect(t, "bypass-env", envLabel)
	grant(t, "bypassing", `[{"apiGroups":["authority.kube-granular.dev"],"resources":["protectedattributes"],"verbs":["bypass"]}]`, "controller")
	bind(t, "writer", "controller")
	allowed(t, "controller", "bypass", "authority.kube-granular.dev", "protectedattributes")
	allowed(t, "controller", "create", "", "pods")
	must(t, "POST", rbacPath+"/namespaces/"+ns+"/rolebindings", "", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"tenant"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"tenant"}]}`)
	pods := where("NS/pods", ns)
	harness.Until(t, "the tenant may write", func() bool {
		return send(t, "tenant", "POST", pods+"?dryRun=All", "", podBody("dry", "")).Code < 300
	})
	refused(t, send(t, "tenant", "POST", pods, "", podBody("p", `,"labels":{"env":"prod"}`)), `ClusterRole \"releaser\"`)
	granted(t, send(t, "controller", "POST", pods, "", podBody("p", `,"labels":{"env":"prod"}`)))
	// A RoleBinding to the role does not count for an attribute of the cluster.
	must(t, "POST", rbacPath+"/namespaces/"+ns+"/rolebindings", "", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"self"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"releaser"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"tenant"}]}`)
	harness.Until(t, "the binding is known", func() bool {
		body := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"tenant","resourceAttributes":{"namespace":"` + ns + `","verb":"get","group":"example.com","resource":"probe"}}}`
		return strings.Contains(must(t, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", body), `"allowed":true`)
	})
	refused(t, send(t, "tenant", "POST", pods, "", podBody("q", `,"labels":{"env":"prod"}`)), `ClusterRole \"releaser\"`)
}

// TestNamespaced checks an attribute of a namespace: it acts only on objects in that namespace,
// and every binding of its role there counts. It does not act on the Namespace object, and does
// not weaken an attribute of the cluster.
//
// Attack: a key that a namespace protects, on another namespace's objects and on the Namespace itself
// Answer: 201, 200: it acts only in its namespace
func TestNamespaced(t *testing.T) {
	withPeople(t)
	const ns = "namespaced"
	namespace(t, ns)
	namespace(t, ns+"-other")
	must(t, "POST", authority+"/namespaces/"+ns+"/protectedattributes", "", `{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"ProtectedAttribute","metadata":{"name":"tier"},"spec":{"attributeKind":"Label","attributeName":"tier","roleRef":{"kind":"ClusterRole","name":"releaser"}}}`)
	pods := where("NS/pods", ns)
	refused(t, send(t, "other", "POST", pods, "", podBody("p", `,"labels":{"tier":"x"}`)), `for it is protected in namespace \"`+ns+`\"`)
	granted(t, send(t, "holder", "POST", pods, "", podBody("p", `,"labels":{"tier":"x"}`)))
	granted(t, send(t, "other", "POST", where("NS/pods", ns+"-other"), "", podBody("p", `,"labels":{"tier":"x"}`)))
	granted(t, send(t, "other", "PATCH", "/api/v1/namespaces/"+ns, "merge", `{"metadata":{"labels":{"tier":"x"}}}`))
	must(t, "POST", rbacPath+"/namespaces/"+ns+"/rolebindings", "", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"late"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"releaser"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"other"}]}`)
	harness.Until(t, "a binding in the namespace counts", func() bool {
		return send(t, "other", "POST", pods+"?dryRun=All", "", podBody("q", `,"labels":{"tier":"x"}`)).Code < 300
	})
	protect(t, "namespaced-tier", `{"attributeKind":"Label","attributeName":"tier","roleRef":{"kind":"ClusterRole","name":"nobody"}}`)
	for _, user := range []string{"other", "holder"} {
		refused(t, send(t, user, "POST", pods, "", podBody("r", `,"labels":{"tier":"x"}`)), `ClusterRole \"nobody\"`)
	}
}

// TestAuditMode checks that an attribute in mode Audit refuses nothing, and warns callers that
// would be refused.
func TestAuditMode(t *testing.T) {
	withPeople(t)
	const ns = "audit"
	namespace(t, ns)
	protect(t, "would-be", `{"mode":"Audit",`+envLabel[1:])
	pods := where("NS/pods", ns)
	got := send(t, "other", "POST", pods, "", podBody("p", `,"labels":{"env":"prod"}`))
	granted(t, got)
	if all := strings.Join(got.Warnings(), "\n"); strings.Contains(all, "prod") ||
		!strings.Contains(all, ".metadata.labels[env] is a protected label: this change would be refused if would-be were enforced") {
		t.Errorf("warned: %s", all)
	}
	for user, body := range map[string]string{
		"holder": podBody("q", `,"labels":{"env":"prod"}`), "other": podBody("r", `,"labels":{"env":"dev"}`),
		harness.Admin: podBody("s", `,"labels":{"env":"prod"}`),
	} {
		if got := send(t, user, "POST", pods, "", body); got.Code >= 300 || len(got.Warnings()) > 0 {
			t.Errorf("%s: %d, warned %q", user, got.Code, got.Warnings())
		}
	}
}

// TestAuditViolations checks that the status counts the writes that would have been refused,
// without dry runs.
func TestAuditViolations(t *testing.T) {
	withPeople(t)
	const ns = "violations"
	namespace(t, ns)
	path := protect(t, "violations", `{"mode":"Audit","attributeKind":"Label","attributeName":"violations.example.com/x"}`)
	must(t, "POST", where("NS/pods", ns), "", podBody("there", ""))
	pods, body := where("NS/pods", ns), podBody("p", `,"labels":{"violations.example.com/x":"y"}`)
	patch := `{"metadata":{"labels":{"violations.example.com/x":"y"}}}`
	for _, r := range []request{
		{"POST", pods + "?dryRun=All", "", body, nil},
		{"PATCH", pods + "/there?dryRun=All", "merge", patch, nil},
		{"PATCH", pods + "/there?dryRun=All&fieldManager=m", "apply",
			`{"apiVersion":"v1","kind":"Pod",` + patch[1:], nil},
		{"PUT", pods + "/there?dryRun=All", "", "",
			func(o map[string]any) { harness.SetAt(o, "y", "metadata", "labels", "violations.example.com/x") }},
		{"POST", pods + "/there/binding?dryRun=All", "",
			`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"there","labels":{"violations.example.com/x":"y"}},"target":{"kind":"Node","name":"n"}}`,
			nil},
		{"POST", pods, "", body, nil},
		{"PATCH", pods + "/there", "merge", patch, nil},
	} {
		got := r.send(t, "other", ns)
		granted(t, got)
		if len(got.Warnings()) != 1 {
			t.Errorf("%s %s: warned of %q", r.method, r.path, got.Warnings())
		}
	}
	counted := func() (n int64) {
		var a struct {
			Status struct {
				AuditViolations int64 `json:"auditViolations"`
			} `json:"status"`
		}
		if err := json.Unmarshal([]byte(must(t, "GET", path, "", "")), &a); err != nil {
			t.Fatal(err)
		}
		return a.Status.AuditViolations
	}
	// Violations enter the status in the order in which they were counted, so an early dry run
	// would show in the number by now.
	harness.Until(t, "both are counted", func() bool { return counted() >= 2 })
	if n := counted(); n != 2 {
		t.Errorf("%d are counted, of 2 and some dry runs", n)
	}
}

// TestMetricOfAttributes checks which result of the metric each kind of write increases.
func TestMetricOfAttributes(t *testing.T) {
	withPeople(t)
	const ns = "metric"
	namespace(t, ns)
	protect(t, "metric-env", envLabel)
	protect(t, "metric-audit", `{"mode":"Audit","attributeKind":"Label","attributeName":"metric.example.com/x"}`)
	grant(t, "metric-bypass", `[{"apiGroups":["authority.kube-granular.dev"],"resources":["protectedattributes"],"verbs":["bypass"]}]`, "metric-bypass")
	bind(t, "writer", "metric-bypass")
	allowed(t, "metric-bypass", "bypass", "authority.kube-granular.dev", "protectedattributes")
	allowed(t, "metric-bypass", "create", "", "pods")
	pods := where("NS/pods", ns)
	all := []string{"admitted", "refused", "audited", "bypassed", "error"}
	const prod = `,"labels":{"env":"prod"}`
	for i, tc := range []struct {
		user, metadata, adds string
		code                 int
	}{
		{"holder", prod, "admitted", http.StatusCreated},
		{"other", `,"labels":{"env":"dev"}`, "admitted", http.StatusCreated},
		{"other", prod, "refused", http.StatusForbidden},
		{"other", `,"labels":{"metric.example.com/x":"y"}`, "audited", http.StatusCreated},
		{"metric-bypass", prod, "bypassed", http.StatusCreated},
		{"other", `,"labels":{"a":"b"}`, "", http.StatusCreated},
		{harness.Admin, prod, "", http.StatusCreated},
	} {
		before := harness.Metrics(t, server)
		if got := send(t, tc.user, "POST", pods, "", podBody(fmt.Sprintf("p%d", i), tc.metadata)); got.Code != tc.code {
			t.Errorf("%+v: %s", tc, got)
		}
		after := harness.Metrics(t, server)
		for _, result := range all {
			name, want := `protected_attribute_decisions_total{result="`+result+`"}`, 0.0
			if result == tc.adds {
				want = 1
			}
			if grown := after[name] - before[name]; grown != want {
				t.Errorf("%+v: %s%s grew by %v", tc, harness.MetricsPrefix, name, grown)
			}
		}
	}
}

// TestGranular checks that a granular caller needs both the permission for the label and the
// role of the attribute.
//
// Attack: a protected label with only the permission of labels; with only the role
// Answer: 403; 200 with both
// Attack: learning the protected keys of an object that the caller may not get, from a refusal
// Answer: 403, which names only keys of the request
func TestGranular(t *testing.T) {
	withPeople(t)
	const ns = "granular"
	namespace(t, ns)
	must(t, "POST", where("NS/pods", ns), "", podBody("p", ""))
	protect(t, "granular-env", envLabel)
	grant(t, "labeller", `[{"apiGroups":[""],"resources":["pods"],"verbs":["get","granular","granular:labels"]}]`, "labeller", "labeller-released")
	grant(t, "blind", `[{"apiGroups":[""],"resources":["pods"],"verbs":["granular","granular:labels"]}]`, "blind")
	bind(t, "releaser", "labeller-released", "releaser-alone")
	grant(t, "entering", `[{"apiGroups":[""],"resources":["pods"],"verbs":["get","granular"]}]`, "releaser-alone")
	for _, user := range []string{"labeller", "labeller-released", "releaser-alone", "blind"} {
		allowed(t, user, "granular", "", "pods")
	}
	allowed(t, "labeller-released", "get", "example.com", "probe")
	path := where("NS/pods/p", ns)
	prod := `{"metadata":{"labels":{"env":"prod"}}}`
	refused(t, send(t, "labeller", "PATCH", path, "merge", prod), `needs ClusterRole \"releaser\"`)
	refused(t, send(t, "releaser-alone", "PATCH", path, "merge", prod), `granular:label(env)`)
	refused(t, send(t, "blind", "PATCH", path, "merge", prod), `labels[env]`)
	granted(t, send(t, "labeller", "PATCH", path, "merge", `{"metadata":{"labels":{"a":"b"}}}`))
	granted(t, send(t, "labeller-released", "PATCH", path, "merge", prod))
	hidden := send(t, "blind", "PATCH", path, "jsonpatch", `[{"op":"remove","path":"/metadata/labels"}]`)
	if said := string(hidden.Body); hidden.Code != http.StatusForbidden ||
		strings.Contains(said, "env") || !strings.Contains(said, "a protected label") {
		t.Errorf("got %s", hidden)
	}
}

// TestOneServer checks that every write that begins after an attribute was acknowledged is
// judged by it, and none after its removal was.
//
// Attack: writing a protected label right after this server acknowledged the attribute
// Answer: 403; 201 right after its removal
func TestOneServer(t *testing.T) {
	withPeople(t)
	const ns = "fresh"
	namespace(t, ns)
	pods := where("NS/pods", ns) + "?dryRun=All"
	body := podBody("p", `,"labels":{"fresh":"x"}`)
	for range 50 {
		must(t, "POST", authority+"/clusterprotectedattributes", "", `{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"ClusterProtectedAttribute","metadata":{"name":"fresh"},"spec":{"attributeKind":"Label","attributeName":"fresh"}}`)
		if got := send(t, "other", "POST", pods, "", body); got.Code != http.StatusForbidden {
			t.Fatalf("created: %d", got.Code)
		}
		must(t, "DELETE", authority+"/clusterprotectedattributes/fresh", "", "")
		if got := send(t, "other", "POST", pods, "", body); got.Code >= 300 {
			t.Fatalf("deleted: %s", got)
		}
	}
}
