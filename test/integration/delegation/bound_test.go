// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

// agent is a service account that is bound to a delegation of alice. It holds get on secrets by RBAC,
// which does not count.
type agent struct {
	namespace, name, uid string
	// delegation is the name of the delegation.
	delegation string
	// token authenticates the account.
	token string
}

func (a agent) path() string {
	return "/api/v1/namespaces/" + a.namespace + "/serviceaccounts/" + a.name
}

func (a agent) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

func (a agent) delegate() string {
	return fmt.Sprintf(`{"kind":"ServiceAccount","namespace":%q,"name":%q,"uid":%q}`, a.namespace, a.name, a.uid)
}

const ownSecrets = `{"apiGroups":[""],"resources":["secrets"],"verbs":["get","list"]}`

// newAccount creates a service account in a namespace that alice holds rules in.
func newAccount(t *testing.T, namespace string) agent {
	t.Helper()
	a := agent{namespace: namespace, name: fmt.Sprintf("agent-%d", unique.Add(1))}
	made := request{as: "root", method: "POST", path: "/api/v1/namespaces/" + namespace + "/serviceaccounts", body: fmt.Sprintf(`{"metadata":{"name":%q}}`, a.name)}.want(t, 201)
	a.uid = uidOf(t, made)
	issued := request{as: "root", method: "POST", path: a.path() + "/token", body: `{"spec":{}}`}.want(t, 201)
	var token struct{ Status struct{ Token string } }
	if err := json.Unmarshal([]byte(issued.body), &token); err != nil {
		t.Fatal(err)
	}
	a.token = token.Status.Token
	return a
}

func uidOf(t *testing.T, r response) string {
	t.Helper()
	var obj struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal([]byte(r.body), &obj); err != nil {
		t.Fatal(err)
	}
	return obj.Metadata.UID
}

func bindingOf(name, uid string) string { return fmt.Sprintf(`{"name":%q,"uid":%q}`, name, uid) }

// annotating returns the request that sets the annotation of an account.
func (a agent) annotating(as, value string) request {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{selection.BindingAnnotation: value}}})
	if err != nil {
		panic(err)
	}
	return request{as: as, method: "PATCH", path: a.path(), contentType: mergePatch, body: string(body)}
}

// newAgent creates a service account that acts under a delegation of rules by alice.
func newAgent(t *testing.T, namespace, rules string) agent {
	t.Helper()
	a := newAccount(t, namespace)
	grant(t, namespace, a.user(), ownSecrets)
	secrets := request{as: a.token, method: "GET", path: "/api/v1/namespaces/" + namespace + "/secrets"}
	secrets.eventually(t, 200)
	a.bind(t, delegation{to: a.delegate(), scope: namespace, rules: rules}.by(t, "alice", ""))
	secrets.eventually(t, 403)
	return a
}

func (a *agent) bind(t *testing.T, name string) {
	t.Helper()
	a.delegation = name
	a.annotating("root", bindingOf(name, string(read(t, name).UID))).want(t, 200)
}

// TestBound checks that an account acts under its delegation, and has no permissions of its own, whoever
// asks the server about it and in whatever way.
//
// Attack: a bound account uses its own permissions, or asks through an access review, a review of its rules, impersonation or CEL
// Answer: everywhere the delegation decides
func TestBound(t *testing.T) {
	n, binding := stage(t, configMaps)
	a := newAgent(t, n, configMaps)
	list, secrets := request{as: a.token, method: "GET", path: maps(n)}, request{as: a.token, method: "GET", path: "/api/v1/namespaces/" + n + "/secrets"}
	list.want(t, 200)
	secrets.want(t, 403)
	as := http.Header{"Impersonate-User": {a.user()}}
	request{as: "root", method: "GET", path: list.path, header: as}.want(t, 200)
	request{as: "root", method: "GET", path: secrets.path, header: as}.want(t, 403)
	request{as: "root", method: "GET", path: secrets.path, header: http.Header{"Impersonate-User": {a.user()}, "Impersonate-Group": {"system:masters"}}}.want(t, 403)

	about := func(resource string) string {
		return fmt.Sprintf(`"resourceAttributes":{"namespace":%q,"verb":"list","resource":%q}`, n, resource)
	}
	for resource, want := range map[string]string{"configmaps": `"allowed":true`, "secrets": `"allowed":false`} {
		for _, who := range []string{"", `,"uid":"` + a.uid + `"`, `,"groups":["system:masters"]`} {
			request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
				body: fmt.Sprintf(`{"spec":{"user":%q%s,%s}}`, a.user(), who, about(resource))}.want(t, 201, want)
		}
		request{as: a.token, method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: `{"spec":{` + about(resource) + `}}`}.want(t, 201, want)
	}
	rules := request{as: a.token, method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body: fmt.Sprintf(`{"spec":{"namespace":%q}}`, n)}.want(t, 201, "configmaps")
	if strings.Contains(rules.body, `"secrets"`) {
		t.Errorf("%s", rules)
	}
	// The UID only tells whether the account was replaced. Whoever has another one, or selects another authority, has nothing.
	uid := func(uid string) http.Header {
		return http.Header{"Impersonate-User": {a.user()}, "Impersonate-Uid": {uid}}
	}
	request{as: "root", method: "GET", path: list.path, header: uid(a.uid)}.want(t, 200)
	request{as: "root", method: "GET", path: secrets.path, header: uid(a.uid)}.want(t, 403)
	request{as: "root", method: "GET", path: list.path, header: uid("another")}.want(t, 403)
	for _, spec := range []string{`"user":"` + a.user() + `","uid":"another"`,
		fmt.Sprintf(`"user":%q,"extra":{%q:[%q]}`, a.user(), selection.ExtraKey, named("another")),
		fmt.Sprintf(`"user":%q,"extra":{%q:["x"]}`, a.user(), selection.ExtraKey),
		`"user":"` + a.user() + `:"`, `"user":"` + a.user() + ` "`, `"user":"S` + a.user()[1:] + `"`,
		`"user":"system:serviceaccount::` + n + ":" + a.name + `"`} {
		for _, resource := range []string{"configmaps", "secrets"} {
			review := request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}
			review.body = `{"spec":{` + spec + `,` + about(resource) + `}}`
			review.want(t, 201, `"allowed":false`)
		}
	}
	// A policy of admission asks about the account by name, for a write of somebody else.
	allowedTo := fmt.Sprintf(`authorizer.serviceAccount(%q, %q).group("").resource(%%q).namespace(%q).check("list").allowed()`, n, a.name, n)
	for resource, want := range map[string]int{"configmaps": 201, "secrets": 422} {
		name := fmt.Sprintf("vap-%d", unique.Add(1))
		const path = "/apis/admissionregistration.k8s.io/v1/"
		apply(t, path+"validatingadmissionpolicies", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"],"resourceNames":[%q]}]},"validations":[{"expression":%q,"message":"cel refuses"}]}}`, name, name, fmt.Sprintf(allowedTo, resource)),
			path+"validatingadmissionpolicybindings", fmt.Sprintf(`{"metadata":{"name":%[1]q},"spec":{"policyName":%[1]q,"validationActions":["Deny"]}}`, name))
		create := request{as: "root", method: "POST", path: maps(n) + "?dryRun=All", body: fmt.Sprintf(`{"metadata":{"name":%q}}`, name)}
		if want == 422 {
			create.eventually(t, want)
		} else {
			create.want(t, want)
		}
	}
	request{as: "root", method: "DELETE", path: binding}.want(t, 200)
	list.eventually(t, 403)
}

// TestBoundAfterTheDelegation checks that an account has nothing when its delegation was deleted or has
// ended, except discovery and reviews about itself.
//
// Attack: a bound account continues with its own permissions when its delegation was deleted or has ended
// Answer: 403; discovery and self reviews are answered
func TestBoundAfterTheDelegation(t *testing.T) {
	n, _ := stage(t, configMaps)
	deleted, ended := newAgent(t, n, configMaps), newAgent(t, n, configMaps)
	request{as: "root", method: "DELETE", path: delegations + "/" + deleted.delegation}.want(t, 200)
	request{as: "root", method: "PATCH", path: delegations + "/" + ended.delegation, contentType: mergePatch, body: `{"spec":{"expirationTimestamp":"2001-01-01T00:00:00Z"}}`}.want(t, 200)
	for _, a := range []agent{deleted, ended} {
		for _, path := range []string{maps(n), "/api/v1/namespaces/" + n + "/secrets", "/metrics", "/api/v1/namespaces"} {
			request{as: a.token, method: "GET", path: path}.want(t, 403)
		}
		for _, path := range []string{"/api", "/apis", "/version", "/openapi/v3"} {
			request{as: a.token, method: "GET", path: path}.want(t, 200)
		}
		request{as: a.token, method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: `{}`}.want(t, 201, a.name)
		request{as: a.token, method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: fmt.Sprintf(`{"spec":{"resourceAttributes":{"namespace":%q,"verb":"list","resource":"secrets"}}}`, n)}.want(t, 201, `"allowed":false`)
	}
	// A new delegation of the same name is another one.
	request{as: "alice", method: "POST", path: delegations, body: delegation{to: deleted.delegate(), scope: n, rules: configMaps}.body(deleted.delegation)}.want(t, 201)
	request{as: deleted.token, method: "GET", path: maps(n)}.want(t, 403)
}

// TestBoundAnnotation checks who can bind a service account to which delegation.
//
// Attack: binding the account of somebody else, such as a controller, to a delegation, to disable it
// Answer: 403 without `update` on the account
//
// Attack: binding an account to a delegation that does not list it with its UID, has ended, belongs to a policy, or binding a delegate of a policy
// Answer: 403
func TestBoundAnnotation(t *testing.T) {
	n, _ := stage(t, configMaps)
	a, b := newAccount(t, n), newAccount(t, n)
	d := delegation{to: a.delegate(), scope: n, rules: configMaps}.by(t, "alice", "")
	value := bindingOf(d, string(read(t, d).UID))
	a.annotating("alice", value).want(t, 403)
	a.annotating("other", value).want(t, 403)
	grant(t, n, "other", `{"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["patch","get","granular","granular:annotations"]}`)
	request{as: "other", method: "GET", path: a.path()}.eventually(t, 200)
	a.annotating("other", value).want(t, 403, "needs the verb update")
	grant(t, n, "writer", `{"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["patch","get","update","create"]}`)
	request{as: "writer", method: "GET", path: a.path()}.eventually(t, 200)
	a.annotating("writer", "nonsense").want(t, 422, "metadata.annotations")
	a.annotating("writer", bindingOf(d, "another")).want(t, 403, "does not exist with this UID")
	a.annotating("writer", bindingOf("none", "none")).want(t, 403, "does not exist")
	b.annotating("writer", value).want(t, 403, "does not list the account")
	without := delegation{to: fmt.Sprintf(`{"kind":"ServiceAccount","namespace":%q,"name":%q}`, n, a.name), scope: n, rules: configMaps}.by(t, "alice", "")
	a.annotating("writer", bindingOf(without, string(read(t, without).UID))).want(t, 403, "with its UID")
	ended := delegation{to: a.delegate(), scope: n, rules: configMaps}.by(t, "alice", "")
	request{as: "root", method: "PATCH", path: delegations + "/" + ended, contentType: mergePatch, body: `{"spec":{"expirationTimestamp":"2001-01-01T00:00:00Z"}}`}.want(t, 200)
	a.annotating("writer", bindingOf(ended, string(read(t, ended).UID))).want(t, 403, "has ended")
	for method, path := range map[string]string{"POST": "", "PUT": "/new-" + n} {
		body := fmt.Sprintf(`{"metadata":{"name":"new-%s","annotations":{%q:%q}}}`, n, selection.BindingAnnotation, value)
		request{as: "root", method: method, path: "/api/v1/namespaces/" + n + "/serviceaccounts" + path, body: body}.want(t, map[string]int{"POST": 403, "PUT": 404}[method])
	}
	request{as: "root", method: "PATCH", path: "/api/v1/namespaces/" + n + "/serviceaccounts/applied?fieldManager=m", contentType: "application/apply-patch+yaml",
		body: fmt.Sprintf(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"applied","annotations":{%q:%q}}}`, selection.BindingAnnotation, value)}.want(t, 403, "exists")
	request{as: "root", method: "POST", path: policies, body: strings.Replace(policy{resource: "/secrets", namespace: n, rules: configMaps}.body("controls-"+n), toBot, a.delegate(), 1)}.want(t, 201)
	a.annotating("writer", value).want(t, 403, "is a delegate of AuthorityDelegationPolicy")
	request{as: "root", method: "DELETE", path: policies + "/controls-" + n}.want(t, 200)
	a.annotating("writer", value).want(t, 200)
	request{as: a.token, method: "GET", path: maps(n)}.eventually(t, 200)
}

// TestBoundStays checks that leaving the annotation out keeps it, on every path, and that a caller who
// selects an authority, as a bound account always does, changes neither its own nor another's.
//
// Attack: a bound account removes its annotation, by an update, a patch, an apply, by deleting itself, or by an owner that does not exist
// Answer: the annotation stays, or 403
func TestBoundStays(t *testing.T) {
	accounts := `{"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["get","create","update","patch","delete","deletecollection","list"]}`
	n, _ := stage(t, accounts+","+configMaps)
	a, b := newAgent(t, n, accounts+","+configMaps), newAgent(t, n, configMaps)
	free := newAccount(t, n)
	binding := func(of agent) string {
		return request{as: "root", method: "GET", path: of.path()}.want(t, 200).annotations(t)[selection.BindingAnnotation]
	}
	was := map[string]string{a.name: binding(a), b.name: binding(b), free.name: ""}
	toFree := delegation{to: free.delegate(), scope: n, rules: configMaps}.by(t, "alice", "")
	key := strings.ReplaceAll(selection.BindingAnnotation, "/", "~1")
	for _, as := range []string{a.token, "root"} {
		for _, of := range []agent{a, b} {
			plain := fmt.Sprintf(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":%q,"labels":{"l":"x"}}}`, of.name)
			request{as: as, method: "PUT", path: of.path(), body: plain}.want(t, 200)
			request{as: as, method: "PATCH", path: of.path(), contentType: mergePatch, body: fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, selection.BindingAnnotation)}.want(t, 200)
			request{as: as, method: "PATCH", path: of.path(), contentType: mergePatch, body: `{"metadata":{"annotations":null}}`}.want(t, 200)
			request{as: as, method: "PATCH", path: of.path(), contentType: "application/strategic-merge-patch+json", body: `{"metadata":{"annotations":{"$patch":"replace"}}}`}.want(t, 200)
			request{as: as, method: "PATCH", path: of.path(), contentType: "application/json-patch+json", body: `[{"op":"remove","path":"/metadata/annotations/` + key + `"}]`}.want(t, 200)
			request{as: as, method: "PATCH", path: of.path() + "?fieldManager=m&force=true", contentType: "application/apply-patch+yaml", body: plain}.want(t, 200)
			if got := binding(of); got != was[of.name] {
				t.Fatalf("%s: the annotation is %q, was %q", of.name, got, was[of.name])
			}
		}
	}
	for _, of := range []agent{a, b, free} {
		for _, value := range []string{bindingOf(toFree, string(read(t, toFree).UID)), "x", ""} {
			if value == "" && of.name == free.name {
				continue
			}
			of.annotating(a.token, value).want(t, 403, selection.BindingAnnotation)
			request{as: a.token, method: "PATCH", path: of.path() + "?fieldManager=m&force=true", contentType: "application/apply-patch+yaml",
				body: fmt.Sprintf(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":%q,"annotations":{%q:%q}}}`, of.name, selection.BindingAnnotation, value)}.want(t, 403)
		}
		if of.name != free.name {
			request{as: a.token, method: "DELETE", path: of.path()}.want(t, 403, "can't be removed with the account")
		}
	}
	request{as: a.token, method: "DELETE", path: "/api/v1/namespaces/" + n + "/serviceaccounts?labelSelector=l=x"}.want(t, 403)
	// The garbage collector deletes an account whose owner does not exist, and selects nothing.
	owner := `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"1fd7f3a5-4bc2-4f9b-8c53-2a1c54b4f5ee"}]}}`
	for _, as := range []string{a.token, "root"} {
		request{as: as, method: "PATCH", path: a.path(), contentType: mergePatch, body: owner}.want(t, 403, "metadata.ownerReferences")
	}
	if binding(a) != was[a.name] || binding(b) != was[b.name] || binding(free) != "" {
		t.Error("an annotation has changed")
	}
	// The twin: a caller who selects nothing and may update the account releases it.
	a.annotating("root", "").want(t, 200)
	request{as: a.token, method: "GET", path: "/api/v1/namespaces/" + n + "/secrets"}.eventually(t, 200)
	request{as: "root", method: "DELETE", path: b.path()}.want(t, 200)
	// Authentication may still accept the token of the deleted account, because it remembers tokens.
	if got := (request{as: b.token, method: "GET", path: "/api/v1/namespaces/" + n + "/secrets"}).to(t); got.status != 401 && got.status != 403 {
		t.Errorf("the token of a deleted account: %s", got)
	}
}

// TestBoundEscalation checks what a selection restricts beside the request itself, with a bound account in
// place of the header.
//
// Attack: a bound account grants a role or creates a delegation with its own permissions, impersonates, gets a token or a certificate, or connects to a pod
// Answer: 403
func TestBoundEscalation(t *testing.T) {
	roles := `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create"]}`
	others := `{"apiGroups":[""],"resources":["serviceaccounts/token","pods/exec","pods/attach","pods/portforward","pods/proxy","services/proxy"],"verbs":["create","get"]}`
	impersonate := `{"apiGroups":[""],"resources":["users","serviceaccounts"],"verbs":["impersonate"]}`
	n, _ := stage(t, configMaps+","+roles+","+others+","+impersonate)
	a := newAgent(t, n, configMaps+","+roles+","+others+","+impersonate)
	path := rbacPath + "namespaces/" + n + "/roles"
	role := func(name, resource string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"rules":[{"apiGroups":[""],"resources":[%q],"verbs":["get"]}]}`, name, resource)
	}
	request{as: a.token, method: "POST", path: path, body: role("beyond", "secrets")}.want(t, 403)
	request{as: a.token, method: "POST", path: path, body: role("within", "configmaps")}.want(t, 201)
	request{as: a.token, method: "POST", path: delegations, body: delegation{scope: n, rules: configMaps}.body("d-" + n)}.want(t, 403)
	request{as: a.token, method: "POST", path: a.path() + "/token", body: `{"spec":{}}`}.want(t, 403)
	request{as: a.token, method: "GET", path: maps(n), header: http.Header{"Impersonate-User": {"alice"}}}.want(t, 403, "can't impersonate")
	request{as: a.token, method: "GET", path: maps(n), header: http.Header{"Impersonate-User": {a.user()}}}.want(t, 403, "can't impersonate")
	for _, sub := range []string{"pods/p/exec?command=a", "pods/p/attach", "pods/p/portforward", "pods/p/proxy", "services/s/proxy"} {
		request{as: a.token, method: "GET", path: "/api/v1/namespaces/" + n + "/" + sub}.want(t, 403, "would not end with the delegation")
	}
	request{as: a.token, method: "GET", path: maps(n), under: `{"authorityReference":{"kind":"ClusterRole","name":"view"}}`}.want(t, 403, "acts under")
	elsewhere := delegation{to: a.delegate(), scope: n, rules: configMaps}.by(t, "alice", "")
	request{as: a.token, method: "GET", path: maps(n), under: elsewhere}.want(t, 403, "acts under")
	request{as: a.token, method: "GET", path: maps(n), under: a.delegation}.want(t, 200)
}

// TestBoundChain checks that a bound account can delegate further, and select what was created under its
// own delegation.
func TestBoundChain(t *testing.T) {
	n, _ := stage(t, configMaps)
	everywhere(t, "alice", configMaps)
	a := newAccount(t, n)
	whole := delegation{to: a.delegate(), rules: configMaps + "," + delegates}
	request{as: "alice", method: "POST", path: delegations + "?dryRun=All", body: whole.body("w-" + n)}.eventually(t, 201)
	a.bind(t, whole.by(t, "alice", ""))
	request{as: a.token, method: "GET", path: maps(n)}.eventually(t, 200)
	b := newAccount(t, n)
	child := delegation{to: b.delegate(), scope: n, rules: `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}`}
	name := fmt.Sprintf("child-%s", n)
	request{as: a.token, method: "POST", path: delegations, body: child.body(name)}.want(t, 201)
	if history := read(t, name).Status.History; len(history) != 2 || history[0].By != "alice" || history[0].Name != a.delegation {
		t.Errorf("%+v", history)
	}
	b.bind(t, name)
	request{as: b.token, method: "GET", path: maps(n)}.eventually(t, 200)
	request{as: b.token, method: "POST", path: maps(n), body: `{"metadata":{"name":"c"}}`}.want(t, 403)
	request{as: "root", method: "DELETE", path: delegations + "/" + a.delegation}.want(t, 200)
	request{as: b.token, method: "GET", path: maps(n)}.want(t, 403)
}

// TestBoundAudit checks that each event of a bound account names the person behind it.
//
// Attack: acting by a bound account, so that the audit log does not name the person who delegated
// Answer: the chain names the person on every event, also of refused requests and of discovery
func TestBoundAudit(t *testing.T) {
	n, _ := stage(t, configMaps)
	a := newAgent(t, n, configMaps)
	d := read(t, a.delegation)
	selected := fmt.Sprintf(`{"authorityReference":{"kind":"AuthorityDelegation","name":%q,"uid":%q},"via":"Binding"}`, d.Name, d.UID)
	event := func(path string, r request, status int, refused string) {
		t.Helper()
		r.as, r.path = a.token, path
		annotated(t, path, r, status, map[string]string{audit.SelectedAnnotation: selected, audit.RefusedAnnotation: refused})
	}
	event(maps(n)+"?fieldManager=ok", request{method: "POST", body: `{"metadata":{"name":"c"}}`}, 201, "")
	event("/apis/authentication.k8s.io/v1/selfsubjectreviews?fieldManager="+n, request{method: "POST", body: `{}`}, 201, "")
	event("/api/v1/namespaces/"+n+"/secrets?limit=3", request{method: "GET"}, 403, "NotCovered")
	event(maps(n)+"?limit=4", request{method: "GET", header: http.Header{"Impersonate-User": {"alice"}}}, 403, "Bound")
	event(maps(n)+"?limit=5", request{method: "GET", under: "other"}, 403, "OtherBinding")
	log := harness.AuditChain(t, auditLog, "-n", n, "-o", "wide")
	for _, says := range []string{"alice", "AuthorityDelegation/" + d.Name + " (bound)", a.user()} {
		if !strings.Contains(log, says) {
			t.Errorf("no %s in\n%s", says, log)
		}
	}
	request{as: "root", method: "DELETE", path: delegations + "/" + a.delegation}.want(t, 200)
	event(maps(n)+"?limit=6", request{method: "GET"}, 403, "NotFound")
}

// TestBoundTable checks that the table of delegations shows the account, and that the status of the
// delegation says that RBAC gives the account permissions of its own.
func TestBoundTable(t *testing.T) {
	n, _ := stage(t, configMaps)
	a := newAgent(t, n, configMaps)
	get := request{as: "root", method: "GET", path: delegations + "/" + a.delegation}
	if status := get.want(t, 200).body; !strings.Contains(status, "Ambient: the service account "+n+"/"+a.name) {
		t.Errorf("%s", status)
	}
	get.header = http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}}
	get.want(t, 200, `"`+n+"/"+a.name+`"`, `"Bound"`)
	a.annotating("root", "").want(t, 200)
	// The account stays a delegate, which another column shows.
	harness.Until(t, "the account is released", func() bool { return strings.Count(get.to(t).body, `"`+n+"/"+a.name+`"`) == 1 })
}
