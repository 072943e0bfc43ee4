// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

const policies = "/apis/authority.kube-granular.dev/v1alpha1/authoritydelegationpolicies"

// policy describes an AuthorityDelegationPolicy that the administrator creates.
type policy struct {
	// resource has the form GROUP/RESOURCE. If it is empty, it is /configmaps.
	resource, namespace, rules string
	// more holds further fields of the specification in JSON, each after a comma.
	more string
}

func (p policy) group() (group, resource string) {
	if p.resource == "" {
		p.resource = "/configmaps"
	}
	group, resource, _ = strings.Cut(p.resource, "/")
	return group, resource
}

func (p policy) body(name string) string {
	group, resource := p.group()
	what := `"rules":[` + p.rules + `]`
	if strings.HasPrefix(p.rules, `"`) {
		what = p.rules
	}
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"resource":{"group":%q,"resource":%q},"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":%q}},"delegates":[%s],%s%s}}`,
		name, group, resource, p.namespace, toBot, what, p.more)
}

// made creates a policy that exists until the test ends. It returns the name of the policy and
// the key of its stamp, the annotation that names the delegation.
func (p policy) made(t *testing.T) (name, stamp string) {
	t.Helper()
	name = fmt.Sprintf("p-%d", unique.Add(1))
	apply(t, policies, p.body(name))
	t.Cleanup(func() {
		if got, err := (request{as: "root", method: "DELETE", path: policies + "/" + name}).do(context.Background()); err != nil || got.status != http.StatusOK {
			t.Errorf("%s, %v", got, err)
		}
	})
	group, resource := p.group()
	return name, strings.TrimSuffix(resource+"."+group, ".") + selection.StampSuffix + "/" + name
}

// annotations returns the annotations of the object in a response.
func (r response) annotations(t *testing.T) map[string]string {
	t.Helper()
	var obj struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal([]byte(r.body), &obj); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	return obj.Metadata.Annotations
}

// stamped returns the value of the stamp on a stored object.
func stamped(t *testing.T, path, stamp string) string {
	t.Helper()
	return (request{as: "root", method: "GET", path: path}).want(t, 200).annotations(t)[stamp]
}

// caused returns the delegations that a policy has made.
func caused(t *testing.T, name string) []v1alpha1.AuthorityDelegation {
	t.Helper()
	got := request{as: "root", method: "GET",
		path: delegations + "?fieldSelector=" + url.QueryEscape("status.cause.policy="+name)}.want(t, 200)
	var list v1alpha1.AuthorityDelegationList
	if err := json.Unmarshal([]byte(got.body), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

const (
	getPods = `{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}`
	both    = configMaps + "," + getPods
)

func pods(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }

// configMap returns the body of a ConfigMap with data and annotations.
func configMap(name, data string, annotations ...string) string {
	all := map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		all[annotations[i]] = annotations[i+1]
	}
	text, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "annotations": all}, "data": map[string]string{"k": data}})
	return string(text)
}

// TestPolicy checks that the author of an object delegates the rights of the policy to its
// delegates, and that a delegate can select the delegation that the object's stamp names. If
// the author lacks any of these rights, nothing is stored. Equal writes make just one
// delegation.
//
// Attack: an author without the rights that a policy delegates writes the object nevertheless
// Answer: 403, nothing is stored
func TestPolicy(t *testing.T) {
	n, _ := stage(t, both)
	name, stamp := policy{namespace: n, rules: getPods}.made(t)
	var stamps []string
	for i := range 5 {
		got := request{as: "alice", method: "POST", path: maps(n), body: configMap(fmt.Sprintf("c%d", i), "x")}.want(t, 201)
		stamps = append(stamps, got.annotations(t)[stamp])
	}
	request{as: "alice", method: "POST", path: maps(n), body: `{"metadata":{"generateName":"c-"}}`}.want(t, 201, stamp)
	all := caused(t, name)
	if len(all) != 1 {
		t.Fatalf("%d delegations, wanted one", len(all))
	}
	d := all[0]
	if d.Status.Delegator.Username != "alice" || d.Spec.Scope.Namespace != n || !strings.HasPrefix(d.Name, v1alpha1.PolicyPrefix) || len(d.Status.History) != 0 {
		t.Errorf("%+v", d)
	}
	for _, value := range stamps {
		if value != stamps[0] || !strings.Contains(value, string(d.UID)) {
			t.Errorf("stamped %q, wanted one that names %s", value, d.UID)
		}
	}
	request{as: "bot", method: "GET", path: pods(n), under: stamps[0]}.want(t, 200)
	request{as: "bot", method: "GET", path: pods(n)}.want(t, 403)
	request{as: "bot", method: "GET", path: maps(n), under: stamps[0]}.want(t, 403)
	request{as: "other", method: "GET", path: pods(n), under: stamps[0]}.want(t, 403)

	// The twin: a user that may write ConfigMaps but may not list pods, as the policy requires.
	grant(t, n, "other", configMaps)
	create := request{as: "other", method: "POST", path: maps(n), body: configMap("others", "x")}
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "other", n, "create", [2]string{"", "configmaps"})
	create.want(t, 403, name, "pods", `configmaps \"others\" is forbidden`)
	request{as: "root", method: "GET", path: maps(n) + "/others"}.want(t, 404)
	grant(t, n, "other", getPods)
	create.eventually(t, 201)
	if got := caused(t, name); len(got) != 2 {
		t.Errorf("%d delegations, wanted one for each author", len(got))
	}
}

// TestPolicyDryRun checks that a dry run is refused like the real write, and that it makes no
// delegation.
func TestPolicyDryRun(t *testing.T) {
	n, _ := stage(t, both)
	name, stamp := policy{namespace: n, rules: getPods}.made(t)
	request{as: "alice", method: "POST", path: maps(n) + "?dryRun=All", body: configMap("c", "x")}.want(t, 201, stamp)
	grant(t, n, "other", configMaps)
	request{as: "other", method: "POST", path: maps(n) + "?dryRun=All", body: configMap("c", "x")}.eventually(t, 403)
	if got := caused(t, name); len(got) != 0 {
		t.Errorf("made %v", got)
	}
}

const editors = `{"apiGroups":["apps"],"resources":["deployments","deployments/scale"],"verbs":["create","get","update","patch"]}`

// TestPolicyTriggers checks that a user that changes the specification of an object delegates
// its own rights, or is refused. Changes of metadata, status and neutral fields, such as
// replicas, make no delegation and leave the stamp.
//
// Attack: an editor changes inconspicuous fields, so that they run with the author's authority
// Answer: 403, or the editor's authority
func TestPolicyTriggers(t *testing.T) {
	n, _ := stage(t, editors+","+getPods)
	name, stamp := policy{resource: "apps/deployments", namespace: n, rules: getPods}.made(t)
	path := "/apis/apps/v1/namespaces/" + n + "/deployments"
	request{as: "alice", method: "POST", path: path,
		body: `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`}.want(t, 201)
	alices := stamped(t, path+"/d", stamp)
	grant(t, n, "other", editors)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "other", n, "create", [2]string{"apps", "deployments"})
	patch := func(as, sub, body string, status int) {
		t.Helper()
		request{as: as, method: "PATCH", path: path + "/d" + sub, contentType: "application/merge-patch+json",
			body: body}.want(t, status)
	}
	// With this value of the annotation, a user asks to become the author.
	renew := fmt.Sprintf(`{"metadata":{"annotations":{%q:"renew"}}}`, stamp)
	for _, body := range []string{
		`{"spec":{"paused":true}}`, `{"spec":{"minReadySeconds":3}}`, `{"spec":{"replicas":3,"paused":true}}`, renew,
		`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`, `{"spec":{"template":{"metadata":{"labels":{"more":"x"}}}}}`,
	} {
		patch("other", "", body, 403)
	}
	patch("other", "/scale", `{"spec":{"replicas":2}}`, 200)
	patch("other", "", `{"spec":{"replicas":3},"metadata":{"labels":{"x":"y"}}}`, 200)
	patch("other", "", `{"metadata":{"annotations":{"x":"y"}}}`, 200)
	patch("root", "/status", `{"status":{"observedGeneration":1}}`, 200)
	if got := stamped(t, path+"/d", stamp); got != alices {
		t.Errorf("stamped %q after changes that cause nothing, wanted %q", got, alices)
	}
	grant(t, n, "other", getPods)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "other", n, "get", [2]string{"", "pods"})
	patch("other", "", `{"spec":{"paused":true}}`, 200)
	others := stamped(t, path+"/d", stamp)
	if others == alices || others == "" {
		t.Errorf("stamped %q after another's change", others)
	}
	// When the author leaves the team, another user can take over without a change. Here alice
	// does.
	patch("alice", "", renew, 200)
	if got := stamped(t, path+"/d", stamp); got != alices {
		t.Errorf("stamped %q after alice asked, wanted %q", got, alices)
	}
	if got := caused(t, name); len(got) != 2 {
		t.Errorf("%d delegations", len(got))
	}
}

// TestPolicySkip checks ifNotHeld Skip: if the author lacks the rights, the write is stored
// with a warning and without a delegation. The object also loses its former stamp.
func TestPolicySkip(t *testing.T) {
	n, _ := stage(t, both)
	_, stamp := policy{namespace: n, rules: getPods, more: `,"ifNotHeld":"Skip"`}.made(t)
	request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201, stamp)
	grant(t, n, "other", configMaps)
	got := request{as: "other", method: "PUT", path: maps(n) + "/c", body: configMap("c", "y")}.eventually(t, 200)
	if warnings := got.header["Warning"]; len(warnings) != 1 || !strings.Contains(warnings[0], "issued no delegation") {
		t.Errorf("warned %q", warnings)
	}
	if got := stamped(t, maps(n)+"/c", stamp); got != "" {
		t.Errorf("still stamped %q", got)
	}
}

// TestWritingPolicies checks who may create a policy, and which invalid policies are refused.
//
// Attack: a policy by which others delegate rights that its author does not hold, or may not delegate
// Answer: 403
//
// Attack: a delegation under a name that policies use
// Answer: 422
func TestWritingPolicies(t *testing.T) {
	n, _ := stage(t, getPods)
	write := `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegationpolicies"],"verbs":["create","update"]}`
	everywhere(t, "deep", write)
	p := policy{namespace: n, rules: getPods}
	create := func(p policy) request {
		return request{as: "deep", method: "POST", path: policies + "?dryRun=All", body: p.body("deeps")}
	}
	create(p).want(t, 403, "delegate")
	grant(t, "", "deep", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["delegate"]}`)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "deep", "", "delegate", [2]string{v1alpha1.GroupName, "authoritydelegations"})
	create(p).want(t, 403, "pods")
	everywhere(t, "deep", getPods)
	create(p).want(t, 201)
	create(policy{namespace: n, rules: configMaps}).want(t, 403, "configmaps")
	for name, tc := range map[string]struct {
		p      policy
		status int
		says   string
	}{
		"cluster-scoped": {policy{resource: "/nodes", rules: getPods}, 422, "in no namespace"},
		"subresource":    {policy{resource: "/pods/status", rules: getPods}, 422, "spec.resource.resource"},
		"a role":         {policy{rules: `"roleRef":{"kind":"Role","name":"x"}`}, 422, "ClusterRole"},
		"paths":          {policy{rules: `{"nonResourceURLs":["/x"],"verbs":["get"]}`}, 422, "nonResourceURLs"},
		"expression": {policy{rules: getPods, more: `,"conditions":[{"expression":"object.x +"}]`}, 422,
			"does not compile"},
		"conditions without get": {policy{rules: `{"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["get","update"]}`,
			more: `,"conditions":[{"expression":"true"}]`}, 422, "deployments.apps"},
		"no neutral": {policy{rules: getPods, more: `,"neutral":["nothing"]`}, 422, "no permission"},
		"neutral excluded": {policy{resource: "/pods", rules: getPods, more: `,"neutral":["finalizers"]`}, 422,
			"spec.neutral[0]"},
		"idle":    {policy{rules: getPods, more: `,"idleSeconds":1`}, 422, "idleSeconds"},
		"orphans": {policy{rules: getPods, more: `,"orphanSeconds":1`}, 422, "orphanSeconds"},
		"own": {policy{resource: "authority.kube-granular.dev/authoritydelegations", rules: getPods},
			422, "in no namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.p.namespace = n
			request{as: "root", method: "POST", path: policies, body: tc.p.body("p")}.want(t, tc.status, tc.says)
		})
	}
	request{as: "root", method: "POST", path: policies, body: strings.Replace(p.body("p"), `"p"`, `"a.dot"`, 1)}.want(t, 422, "metadata.name")
	for _, name := range []string{`"name":"by-policy-x"`, `"generateName":"by-policy-"`} {
		body := strings.Replace(delegation{scope: n, rules: getPods}.body("x"), `"name":"x"`, name, 1)
		request{as: "alice", method: "POST", path: delegations, body: body}.want(t, 422, "by-policy-")
	}
	// A policy delegates the rules that its role had when the policy was created.
	role := fmt.Sprintf("r-%d", unique.Add(1))
	apply(t, rbacPath+"clusterroles", `{"metadata":{"name":"`+role+`"},"rules":[`+getPods+`]}`)
	name, _ := policy{namespace: n, rules: `"roleRef":{"kind":"ClusterRole","name":"` + role + `"}`}.made(t)
	wider := `{"rules":[` + getPods + `,{"apiGroups":[""],"resources":["secrets"],"verbs":["*"]}]}`
	request{as: "root", method: "PATCH", path: rbacPath + "clusterroles/" + role,
		contentType: "application/merge-patch+json", body: wider}.want(t, 200)
	got := request{as: "root", method: "GET", path: policies + "/" + name}.want(t, 200)
	var stored v1alpha1.AuthorityDelegationPolicy
	if err := json.Unmarshal([]byte(got.body), &stored); err != nil || len(stored.Status.Rules) != 1 || stored.Status.Author != "root" {
		t.Errorf("%v: %+v", err, stored.Status)
	}
	request{as: "root", method: "PATCH", path: policies + "/" + name, contentType: "application/merge-patch+json",
		body: `{"status":{"rules":[],"author":"x"},"metadata":{"labels":{"a":"b"}}}`}.want(t, 200, `"author":"root"`, `"pods"`)
	request{as: "root", method: "PATCH", path: policies + "/" + name, contentType: "application/merge-patch+json",
		body: `{"spec":{"resource":{"resource":"secrets"}}}`}.want(t, 422, "spec.resource")
}

// TestPolicyConditions checks that the delegations of a policy have the conditions of the
// policy.
func TestPolicyConditions(t *testing.T) {
	n, _ := stage(t, both)
	_, stamp := policy{namespace: n, rules: configMaps, more: `,"conditions":[{"expression":"object.data.k == 'good'","message":"only good"}]`}.made(t)
	under := request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201).annotations(t)[stamp]
	request{as: "bot", method: "PUT", path: maps(n) + "/c", body: configMap("c", "bad"), under: under}.want(t, 403, "only good")
	// A delegate that writes under the delegation in the object's stamp does not become the
	// author, so the stamp stays.
	got := request{as: "bot", method: "PUT", path: maps(n) + "/c", body: configMap("c", "good"), under: under}.want(t, 200)
	if is := got.annotations(t)[stamp]; is != under {
		t.Errorf("stamped %q by a delegate, wanted %q", is, under)
	}
	got = request{as: "bot", method: "POST", path: maps(n), body: configMap("d", "good"), under: under}.want(t, 201)
	if is := got.annotations(t)[stamp]; is != under {
		t.Errorf("stamped %q by a delegate that made it, wanted %q", is, under)
	}
	// Under any other delegation, bot would become the author and delegate to itself, which is
	// refused.
	explicit := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	request{as: "bot", method: "POST", path: maps(n), body: configMap("e", "good"), under: explicit}.want(t, 403, "to themselves")
}

// TestTwoPolicies checks that two equal policies make a delegation each.
func TestTwoPolicies(t *testing.T) {
	n, _ := stage(t, both)
	p := policy{namespace: n, rules: configMaps}
	first, one := p.made(t)
	second, two := p.made(t)
	got := request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201).annotations(t)
	if got[one] == got[two] || len(caused(t, first)) != 1 || len(caused(t, second)) != 1 {
		t.Errorf("stamped %v", got)
	}
	// Under the delegation of the first policy, bot would have to delegate to itself for the
	// second policy.
	request{as: "bot", method: "PUT", path: maps(n) + "/c", body: configMap("c", "y"), under: got[one]}.want(t, 403, second, "to themselves")
}

// TestPolicyCustom checks that policies work for custom resources as for built-in kinds.
func TestPolicyCustom(t *testing.T) {
	apply(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"things.caused.example.com"},"spec":{"group":"caused.example.com","scope":"Namespaced",
		"names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	things := `{"apiGroups":["caused.example.com"],"resources":["things","things/status"],"verbs":["create","get","update","patch"]}`
	n, _ := stage(t, things+","+getPods)
	_, stamp := policy{resource: "caused.example.com/things", namespace: n, rules: getPods}.made(t)
	path := "/apis/caused.example.com/v1/namespaces/" + n + "/things"
	create := request{as: "alice", method: "POST", path: path,
		body: `{"apiVersion":"caused.example.com/v1","kind":"Thing","metadata":{"name":"t","annotations":{"` + stamp + `":"forged"}},"spec":{"a":"b"}}`}
	is := create.eventually(t, 201).annotations(t)[stamp]
	request{as: "bot", method: "GET", path: pods(n), under: is}.want(t, 200)
	grant(t, n, "other", things)
	patch := request{as: "other", method: "PATCH", path: path + "/t", contentType: "application/merge-patch+json",
		body: `{"metadata":{"labels":{"a":"b"},"annotations":{"` + stamp + `":null}}}`}
	if got := patch.eventually(t, 200).annotations(t)[stamp]; got != is {
		t.Errorf("stamped %q, wanted %q", got, is)
	}
	patch.body = `{"spec":{"a":"c"}}`
	patch.want(t, 403, "pods")
	patch.path, patch.body = path+"/t/status", `{"status":{"a":"b"},"metadata":{"annotations":{"`+stamp+`":"forged"}}}`
	if got := patch.want(t, 200).annotations(t)[stamp]; got != is {
		t.Errorf("stamped %q by its status, wanted %q", got, is)
	}
}
