// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// on is the shared server, with all gates that delegations need.
var on *cluster.Cluster

var auditLog string

// client trusts the certificate of the server and sends no credentials of its own.
var client *http.Client

// users is a token file: each user's token is its name in the first column.
const users = `root,root,,"system:masters"
alice,alice,a-1,"people"
alice-again,alice,a-2,"people"
bot,bot,b-1,
other,other,o-1,
deep,deep,,
nested,nested,,
writer,writer,,
selective,selective,,
delegator,delegator,,
blind,blind,bl-1,
scaler,scaler,s-1,
ender,ender,e-1,
ender-again,ender,e-2,
stranger,stranger,st-1,
queued,queued,q-1,
`

func TestMain(m *testing.M) {
	harness.Main(m, func(dir string) (stop func() error, err error) {
		tokens := filepath.Join(dir, "tokens.csv")
		if err := os.WriteFile(tokens, []byte(users), 0o600); err != nil {
			return nil, err
		}
		auditLog = filepath.Join(dir, "audit.log")
		on, err = cluster.Start("--demo=false", "--audit-log", auditLog,
			"--feature-gates", gates+",ProtectedAttributes=true,MetadataReads=true,FieldPermissions=true", "--", "--token-auth-file="+tokens)
		if err != nil {
			return nil, err
		}
		config, err := on.Config("admin")
		if err == nil {
			client, err = rest.HTTPClientFor(rest.AnonymousClientConfig(config))
		}
		return on.Stop, err
	})
}

// request is one HTTP request to the shared server, with the token of the user as.
type request struct {
	as, method, path string
	body             string
	contentType      string
	// under is the name of the delegation that the request selects, or a whole selection in
	// JSON.
	under  string
	header http.Header
}

type response struct {
	status int
	header http.Header
	body   string
}

func (r response) String() string { return fmt.Sprintf("%d %.700s", r.status, r.body) }

func (r request) do(ctx context.Context) (response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, on.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		return response{}, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+r.as)
	req.Header.Set("Content-Type", "application/json")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.under != "" {
		text := r.under
		if text[0] != '{' {
			text = named(text)
		}
		req.Header.Set(selection.Header, text)
	}
	return answer(client.Do(req))
}

// answer reads the response of a server.
func answer(resp *http.Response, err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	_, err = io.Copy(&body, resp.Body)
	return response{resp.StatusCode, resp.Header, body.String()}, err
}

func named(name string) string {
	return `{"authorityReference":{"kind":"AuthorityDelegation","name":"` + name + `"}}`
}

func byUID(uid string) string {
	return `{"authorityReference":{"kind":"AuthorityDelegation","uid":"` + uid + `"}}`
}

func (r request) to(t *testing.T) response {
	t.Helper()
	got, err := r.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// want sends a request and checks its status and parts of its body.
func (r request) want(t *testing.T, status int, says ...string) response {
	t.Helper()
	got := r.to(t)
	r.hold(t, got, status, says...)
	return got
}

func (r request) hold(t *testing.T, got response, status int, says ...string) {
	t.Helper()
	if got.status != status {
		t.Errorf("%s %s as %s under %q: wanted %d, got %s", r.method, r.path, r.as, r.under, status, got)
	}
	for _, s := range says {
		if !strings.Contains(got.body, s) {
			t.Errorf("%s %s as %s under %q: wanted %q, got %s", r.method, r.path, r.as, r.under, s, got)
		}
	}
}

// eventually repeats a request until it gets the status, because RBAC learns of new bindings
// through a watch.
func (r request) eventually(t *testing.T, status int) response {
	t.Helper()
	var got response
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		got = r.to(t)
		return got.status == status, nil
	})
	if err != nil {
		t.Fatalf("%s %s as %s under %q: wanted %d, got %s", r.method, r.path, r.as, r.under, status, got)
	}
	return got
}

// apply creates objects as the administrator. The arguments are pairs of a path and an object
// in JSON.
func apply(t *testing.T, objects ...string) {
	t.Helper()
	for i := 0; i < len(objects); i += 2 {
		if got := (request{as: "root", method: "POST", path: objects[i], body: objects[i+1]}).to(t); got.status != http.StatusCreated {
			t.Fatalf("%s: %s", objects[i], got)
		}
	}
}

const (
	rbacPath    = "/apis/rbac.authorization.k8s.io/v1/"
	delegations = "/apis/authority.kube-granular.dev/v1alpha1/authoritydelegations"
)

var unique atomic.Int64

// grant creates a role with rules in a namespace and binds a user to it. If namespace is empty,
// both are cluster-wide. It returns the path of the binding.
func grant(t *testing.T, namespace, user, rules string) string {
	t.Helper()
	path, kind := rbacPath, "Cluster"
	if namespace != "" {
		path, kind = path+"namespaces/"+namespace+"/", ""
	}
	name := fmt.Sprintf("g-%d", unique.Add(1))
	roles, bindings := strings.ToLower(kind)+"roles", strings.ToLower(kind)+"rolebindings"
	apply(t,
		path+roles, fmt.Sprintf(`{"metadata":{"name":%q},"rules":[%s]}`, name, rules),
		path+bindings, fmt.Sprintf(`{"metadata":{"name":%[1]q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"%[2]sRole","name":%[1]q},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":%[3]q}]}`, name, kind, user))
	return path + bindings + "/" + name
}

// stage creates a namespace for one test, in which alice holds the rules and may delegate them.
func stage(t *testing.T, rules string) (namespace, binding string) {
	t.Helper()
	namespace = fmt.Sprintf("n-%d", unique.Add(1))
	apply(t, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, namespace))
	binding = grant(t, namespace, "alice", rules)
	delegating(t)
	verb, resource := firstOf(t, rules)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "alice", namespace, verb, resource)
	return namespace, binding
}

// everywhere grants a user rules in all namespaces until the test ends. Then it removes them,
// because other tests rely on the user not having them.
func everywhere(t *testing.T, user, rules string) {
	t.Helper()
	binding := grant(t, "", user, rules)
	verb, resource := firstOf(t, rules)
	review := request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}
	review.reviewed(t, user, "kube-public", verb, resource)
	t.Cleanup(func() {
		// The context of the test has ended, so use another.
		if got, err := (request{as: "root", method: "DELETE", path: binding}).do(context.Background()); err != nil || got.status != http.StatusOK {
			t.Errorf("%s, %v", got, err)
		}
		if err := review.until(context.Background(), false, user, "kube-public", verb, resource); err != nil {
			t.Errorf("the authorizer still allows %s the verb %s on %v: %v", user, verb, resource, err)
		}
	})
}

// reviewed waits until an access review reports that the user is allowed.
func (r request) reviewed(t *testing.T, user, namespace, verb string, resource [2]string) {
	t.Helper()
	if err := r.until(t.Context(), true, user, namespace, verb, resource); err != nil {
		t.Fatalf("the authorizer did not learn the grant of %s on %v to %s: %v", verb, resource, user, err)
	}
}

// until waits until an access review reports the expected result.
func (r request) until(ctx context.Context, allowed bool, user, namespace, verb string, resource [2]string) error {
	r.body = fmt.Sprintf(`{"spec":{"user":%q,"resourceAttributes":{"namespace":%q,"verb":%q,"group":%q,"resource":%q}}}`, user, namespace, verb, resource[0], resource[1])
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		got, err := r.do(ctx)
		return strings.Contains(got.body, `"allowed":true`) == allowed, err
	})
}

func firstOf(t *testing.T, rules string) (verb string, resource [2]string) {
	t.Helper()
	var rule struct{ APIGroups, Resources, Verbs []string }
	if err := json.NewDecoder(strings.NewReader(rules)).Decode(&rule); err != nil {
		t.Fatal(err)
	}
	return rule.Verbs[0], [2]string{rule.APIGroups[0], rule.Resources[0]}
}

var mayDelegate atomic.Bool

// delegating lets all users of the tests create and read delegations with their own rights.
func delegating(t *testing.T) {
	t.Helper()
	if !mayDelegate.CompareAndSwap(false, true) {
		return
	}
	for _, user := range []string{"alice", "bot", "other"} {
		grant(t, "", user, `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["create","get","list","update","patch"]}`)
		request{as: user, method: "GET", path: delegations}.eventually(t, 200)
	}
}

// delegation describes an AuthorityDelegation that a test creates.
type delegation struct {
	to, scope, rules string
	// more holds further fields of the specification in JSON, each after a comma.
	more string
}

const toBot = `{"kind":"User","name":"bot"}`

func (d delegation) body(name string) string {
	if d.to == "" {
		d.to = toBot
	}
	scope := `"namespace":"` + d.scope + `"`
	if d.scope == "" {
		scope = `"cluster":true`
	}
	what := `"rules":[` + d.rules + `]`
	if strings.HasPrefix(d.rules, `"`) {
		what = d.rules
	}
	return fmt.Sprintf(`{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"AuthorityDelegation","metadata":{"name":%q},"spec":{"delegates":[%s],"scope":{%s},%s%s}}`, name, d.to, scope, what, d.more)
}

// by creates the delegation as a user, under another delegation unless under is empty, and
// returns its name.
func (d delegation) by(t *testing.T, user, under string) string {
	t.Helper()
	name := fmt.Sprintf("d-%d", unique.Add(1))
	request{as: user, method: "POST", path: delegations, body: d.body(name), under: under}.want(t, 201)
	return name
}

func read(t *testing.T, name string) *v1alpha1.AuthorityDelegation {
	t.Helper()
	out := &v1alpha1.AuthorityDelegation{}
	got := request{as: "root", method: "GET", path: delegations + "/" + name}.want(t, 200)
	if err := json.Unmarshal([]byte(got.body), out); err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	configMaps = `{"apiGroups":[""],"resources":["configmaps"],"verbs":["create","get","list","update","patch","delete","watch"]}`
	delegates  = `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["create"]}`
)

func maps(namespace string) string { return "/api/v1/namespaces/" + namespace + "/configmaps" }
