// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/api/selection"
)

// TestLentAttacks sends what the holder of a lent kubeconfig may try to get more than was lent, or to keep it for longer. The
// delegation allows much, so that nothing is refused only for want of a rule.
//
// Attack: the holder of a lent kubeconfig names another user by the headers of a front proxy, overrides the method, or spells a path otherwise
// Answer: the account stays who it is: 403, or 404 where no such path exists
//
// Attack: the holder of a lent kubeconfig sends several selections, an empty one, or one with the extra attribute of a front proxy
// Answer: 400 or 403, never ignored
//
// Attack: the holder of a lent kubeconfig asks about others by SubjectAccessReview or TokenReview, or gets a token for a neighbour or a pod
// Answer: 403
//
// Attack: the holder of a lent kubeconfig extends the expiration of its delegation, adds rules or delegates, or ends another's
// Answer: 403 or 422
//
// Attack: the holder of a lent kubeconfig takes the owner from its account, adds a finalizer, or applies the annotation as another manager and drops it
// Answer: the binding stays, and nothing is allowed after the delegation
//
// Attack: the holder of a lent kubeconfig binds a role to itself, or to the group of its namespace
// Answer: 403 for a role beyond the delegation; within it, the binding gives the account nothing
//
// Attack: the holder of a lent kubeconfig writes a Secret into which a controller puts a token of a neighbour
// Answer: got through; now 403, as for a request for a token
func TestLentAttacks(t *testing.T) {
	accounts := `{"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["get","create","update","patch"]}`
	connects := `{"apiGroups":[""],"resources":["pods","pods/exec","pods/attach","pods/proxy","serviceaccounts/token"],"verbs":["*"]}`
	roles := `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings"],"verbs":["create","get"]}`
	held := configMaps + `,{"apiGroups":[""],"resources":["secrets"],"verbs":["create","patch","update"]},` + accounts + "," + connects + "," + roles
	n, _ := stage(t, held)
	newKubelet(t, n)
	l := lendRole(t, n, held)
	me := "system:serviceaccount:" + n + ":" + l.Account.Name
	own := agent{namespace: n, name: l.Account.Name, token: l.Token}
	neighbour := newAccount(t, n)
	grant(t, n, neighbour.user(), ownSecrets)
	grant(t, n, me, ownSecrets)
	secrets, exec := "/api/v1/namespaces/"+n+"/secrets", "/api/v1/namespaces/"+n+"/pods/web/exec?command=sh"
	request{as: l.Token, method: "GET", path: maps(n)}.want(t, 200)
	request{as: "root", method: "GET", path: secrets, header: http.Header{"Impersonate-User": {neighbour.user()}}}.eventually(t, 200)
	// An account with the same delegation as if it were selected: it is bound to it by nobody else.
	whole := newAccount(t, n)
	whole.bind(t, delegation{to: whole.delegate(), rules: `{"apiGroups":["authority.kube-granular.dev"],"resources":["*"],"verbs":["*"]},` +
		`{"apiGroups":["authorization.k8s.io","authentication.k8s.io"],"resources":["*"],"verbs":["create"]}`, more: `,"expirationTimestamp":"2090-01-01T00:00:00Z"`}.by(t, "root", ""))
	request{as: whole.token, method: "GET", path: delegations}.eventually(t, 200)
	extra := "X-Remote-Extra-" + strings.ReplaceAll(selection.ExtraKey, "/", "%2f")
	review := func(resource string) string {
		return fmt.Sprintf(`{"spec":{"user":%q,"resourceAttributes":{"namespace":%q,"verb":"list","resource":%q}}}`, neighbour.user(), n, resource)
	}
	const reviews, mine = "/apis/authorization.k8s.io/v1/", "/apis/authentication.k8s.io/v1/"
	later := `{"spec":{"expirationTimestamp":"2099-01-01T00:00:00Z"}}`
	binding := func(name, role, subject string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":%q},"subjects":[%s]}`, name, role, subject)
	}
	self := fmt.Sprintf(`{"kind":"ServiceAccount","namespace":%q,"name":%q}`, n, l.Account.Name)
	apply(t, rbacPath+"namespaces/"+n+"/roles", fmt.Sprintf(`{"metadata":{"name":"secrets"},"rules":[%s]}`, ownSecrets))
	apply(t, secrets, tokenSecret("old", neighbour.name))
	request{as: l.Token, method: "POST", path: secrets, body: `{"metadata":{"name":"opaque"}}`}.want(t, 201)
	for name, tc := range map[string]struct {
		request
		want []int
	}{
		"the headers of a front proxy":   {request{method: "GET", path: secrets, header: http.Header{"X-Remote-User": {"root"}, "X-Remote-Group": {"system:masters"}}}, []int{403}},
		"the extra of a front proxy":     {request{method: "GET", path: secrets, header: http.Header{extra: {named("none")}}}, []int{403}},
		"a method that is overridden":    {request{method: "POST", path: maps(n), header: http.Header{"X-Http-Method-Override": {"DELETE"}}}, []int{400, 422}},
		"impersonate a group only":       {request{method: "GET", path: secrets, header: http.Header{"Impersonate-Group": {"system:masters"}}}, []int{400, 403, 500}},
		"impersonate a UID only":         {request{method: "GET", path: secrets, header: http.Header{"Impersonate-Uid": {"x"}}}, []int{400, 403, 500}},
		"impersonate oneself":            {request{method: "GET", path: maps(n), header: http.Header{"Impersonate-User": {me}}}, []int{403}},
		"impersonate an empty user":      {request{method: "GET", path: secrets, header: http.Header{"Impersonate-User": {""}}}, []int{400, 403, 500}},
		"two selections":                 {request{method: "GET", path: maps(n), header: http.Header{selection.Header: {named(l.Delegation), named(l.Delegation)}}}, []int{400}},
		"an empty selection":             {request{method: "GET", path: maps(n), header: http.Header{selection.Header: {""}}}, []int{400}},
		"a selection by another UID":     {request{method: "GET", path: maps(n), under: byUID("00000000-0000-0000-0000-000000000000")}, []int{403}},
		"exec with a slash":              {request{method: "POST", path: strings.Replace(exec, "?", "/?", 1)}, []int{403}},
		"exec in capitals":               {request{method: "POST", path: strings.Replace(exec, "exec", "Exec", 1)}, []int{403, 404}},
		"exec with two slashes":          {request{method: "POST", path: strings.Replace(exec, "/pods", "//pods", 1)}, []int{301, 403, 404}},
		"exec by the path of watches":    {request{method: "GET", path: strings.Replace(exec, "/v1/", "/v1/watch/", 1)}, []int{403, 404}},
		"exec, escaped":                  {request{method: "POST", path: strings.Replace(exec, "/exec", "/%65xec", 1)}, []int{403}},
		"the old path of proxies":        {request{method: "GET", path: "/api/v1/proxy/namespaces/" + n + "/pods/web/"}, []int{403, 404}},
		"a token of a neighbour":         {request{method: "POST", path: neighbour.path() + "/token", body: `{"spec":{}}`}, []int{403}},
		"a token of a pod":               {request{method: "POST", path: own.path() + "/token", body: `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"web"}}}`}, []int{403}},
		"a review of a neighbour":        {request{method: "POST", path: reviews + "namespaces/" + n + "/localsubjectaccessreviews", body: review("secrets")}, []int{400, 403}},
		"a Secret with a token":          {request{method: "POST", path: secrets, body: tokenSecret("token", neighbour.name)}, []int{403}},
		"a bootstrap token":              {request{method: "POST", path: secrets, body: bootstrapToken}, []int{403}},
		"a Secret with a token, applied": {request{method: "PATCH", path: secrets + "/applied?fieldManager=m", contentType: "application/apply-patch+yaml", body: tokenSecret("applied", neighbour.name)}, []int{403}},
		"a Secret with a token, updated": {request{method: "PATCH", path: secrets + "/old", contentType: mergePatch, body: `{"data":{"token":null}}`}, []int{403}},
		"a review of a token":            {request{method: "POST", path: mine + "tokenreviews", body: `{"spec":{"token":"root"}}`}, []int{403}},
		"an expiration that is extended": {request{as: whole.token, method: "PATCH", path: delegations + "/" + whole.delegation, contentType: mergePatch, body: later}, []int{403, 422}},
		"an expiration by its owner":     {request{as: whole.token, method: "PATCH", path: delegations + "/" + whole.delegation + "/expiration", contentType: mergePatch, body: later}, []int{403, 422}},
		"the end of another's":           {request{method: "PATCH", path: delegations + "/" + whole.delegation + "/expiration", contentType: mergePatch, body: `{"spec":{"expirationTimestamp":"2001-01-01T00:00:00Z"}}`}, []int{403}},
		"more rules":                     {request{as: whole.token, method: "PATCH", path: delegations + "/" + whole.delegation, contentType: mergePatch, body: `{"spec":{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}}`}, []int{403, 422}},
		"more delegates":                 {request{as: whole.token, method: "PATCH", path: delegations + "/" + whole.delegation, contentType: mergePatch, body: `{"spec":{"delegates":[` + neighbour.delegate() + `]}}`}, []int{403, 422}},
		"the annotation, as a dry run":   {request{method: "PATCH", path: own.path() + "?dryRun=All", contentType: mergePatch, body: `{"metadata":{"annotations":{"` + selection.BindingAnnotation + `":""}}}`}, []int{403}},
		"a role beyond":                  {request{method: "POST", path: rbacPath + "namespaces/" + n + "/rolebindings", body: binding("beyond", "secrets", self)}, []int{403}},
	} {
		if tc.as == "" {
			tc.as = l.Token
		}
		if got := tc.to(t); !slices.Contains(tc.want, got.status) {
			t.Errorf("%s: %s, wanted %v", name, got, tc.want)
		}
	}
	// A browser sends the token as a protocol of WebSocket.
	secret := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(l.Token))
	if got := dial(t, "", "", "GET", exec+"&stdout=true", "websocket", secret+", v4.channel.k8s.io").resp; got.StatusCode != http.StatusForbidden {
		t.Errorf("exec with the token in a protocol: %s", got.Status)
	}
	// What is allowed, and gives nothing.
	request{method: "PATCH", as: l.Token, path: own.path(), contentType: mergePatch, body: `{"metadata":{"ownerReferences":null,"finalizers":["example.com/stay"]}}`}.want(t, 200)
	request{method: "POST", as: l.Token, path: rbacPath + "namespaces/" + n + "/roles", body: fmt.Sprintf(`{"metadata":{"name":"within"},"rules":[%s]}`, configMaps)}.want(t, 201)
	request{method: "POST", as: l.Token, path: rbacPath + "namespaces/" + n + "/rolebindings", body: binding("within", "within", self)}.eventually(t, 201)
	value := request{as: "root", method: "GET", path: own.path()}.want(t, 200).annotations(t)[selection.BindingAnnotation]
	applied := func(annotations string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":%q%s}}`, own.name, annotations)
	}
	for _, body := range []string{applied(fmt.Sprintf(`,"annotations":{%q:%q}`, selection.BindingAnnotation, value)), applied("")} {
		request{as: l.Token, method: "PATCH", path: own.path() + "?fieldManager=mine&force=true", contentType: "application/apply-patch+yaml", body: body}.want(t, 200)
	}
	request{as: l.Token, method: "GET", path: secrets}.want(t, 403)
	l.end(t)
	for _, path := range []string{maps(n), secrets, own.path()} {
		request{as: l.Token, method: "GET", path: path}.want(t, 403)
	}
	request{as: "root", method: "GET", path: maps(n), header: http.Header{"Impersonate-User": {me}}}.want(t, 403)
	request{as: "root", method: "PATCH", path: own.path(), contentType: mergePatch, body: `{"metadata":{"finalizers":null}}`}.want(t, 200)
}

// bootstrapToken is a Secret by which somebody is authenticated as a node that joins, if it is in kube-system.
const bootstrapToken = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token","stringData":` +
	`{"token-id":"abcdef","token-secret":"0123456789abcdef","usage-bootstrap-authentication":"true"}}`

// tokenSecret returns a Secret into which the controller of tokens writes a token of an account.
func tokenSecret(name, account string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,"annotations":{"kubernetes.io/service-account.name":%q}},"type":"kubernetes.io/service-account-token"}`, name, account)
}
