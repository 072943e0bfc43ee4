// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"kube-granular.dev/api/selection"
)

// TestGranular checks that a selected role also limits permission verbs. A caller that may
// change anything of an object can, while it selects a role, set only the labels that this role
// covers.
//
// Attack: a field by permission verbs that only unselected roles have
// Answer: 403
func TestGranular(t *testing.T) {
	policy(t, on, "fields", "jane", "admin")
	labeler := func(name, verbs string) {
		apply(t, on, rbacPath+"namespaces/fields/roles", fmt.Sprintf(`{"metadata":{"name":%q},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":[%s]}]}`, name, verbs))
		bind(t, on, "fields", "jane", "Role", name)
	}
	labeler("labeler", `"get","granular","granular:label(mine.example.com)"`)
	labeler("unmarked", `"get","granular:label(mine.example.com)"`)
	labeler("bare", `"get","granular"`)
	apply(t, on, "/api/v1/namespaces/fields/configmaps", `{"metadata":{"name":"c"},"data":{"a":"b"}}`)
	jane := person("jane")
	for _, role := range []string{"labeler", "unmarked", "bare"} {
		request{as: jane, method: "GET", path: "/api/v1/namespaces/fields/configmaps/c",
			selects: []string{text(selection.Role("fields", role))}}.eventually(t, 200)
	}
	patch := func(body, role string, status int) {
		t.Helper()
		r := request{as: jane, method: "PATCH", path: "/api/v1/namespaces/fields/configmaps/c",
			contentType: "application/merge-patch+json", body: body}
		if role != "" {
			r.selects = []string{text(selection.Role("fields", role))}
		}
		r.want(t, status)
	}
	const mine, other, data = `{"metadata":{"labels":{"mine.example.com/a":"%d"}}}`, `{"metadata":{"labels":{"other.example.com/a":"1"}}}`, `{"data":{"a":"c"}}`
	patch(fmt.Sprintf(mine, 1), "labeler", 200)
	patch(fmt.Sprintf(mine, 2), "unmarked", 403)
	patch(fmt.Sprintf(mine, 3), "bare", 403)
	patch(other, "labeler", 403)
	patch(data, "labeler", 403)
	patch(other, "", 200)
	patch(data, "", 200)
}

// TestPolicyExpressions checks that the CEL variable authorizer in admission policies takes the
// selection into account.
func TestPolicyExpressions(t *testing.T) {
	policy(t, on, "judged", "jane", "admin")
	apply(t, on, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", `{"metadata":{"name":"may-read-secrets"},"spec":{
		"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},
		"validations":[{"expression":"authorizer.group('').resource('secrets').namespace('judged').check('list').allowed()","message":"may not list secrets"}]}}`,
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", `{"metadata":{"name":"may-read-secrets"},"spec":{"policyName":"may-read-secrets","validationActions":["Deny"],
		"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"judged"}}}}}`,
		rbacPath+"namespaces/judged/roles", `{"metadata":{"name":"writer"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}`)
	bind(t, on, "judged", "jane", "Role", "writer")
	create := request{as: person("jane"), method: "POST", path: "/api/v1/namespaces/judged/configmaps?dryRun=All",
		body: `{"metadata":{"generateName":"c-"}}`}
	create.eventually(t, 201)
	create.selects = []string{role("judged", "writer")}
	if got := create.eventually(t, 422); !strings.Contains(got.body, "may not list secrets") {
		t.Error(got)
	}
	create.selects = []string{clusterRole("admin")}
	create.want(t, 201)
	create.selects = nil
	create.want(t, 201)
}

// aggregated is an aggregated API server that records the headers of the requests that it
// receives.
type aggregated struct {
	mu    sync.Mutex
	asked []http.Header
}

func (a *aggregated) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasSuffix(req.URL.Path, "/things") {
		a.mu.Lock()
		a.asked = append(a.asked, req.Header.Clone())
		a.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"things.example.com/v1","resources":[]}`)
}

func (a *aggregated) last() http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) == 0 {
		return nil
	}
	return a.asked[len(a.asked)-1]
}

// TestAggregatedServer checks that an aggregated server receives the selection in the extra
// fields of the user, without the header Authority-Selector and without the group
// system:masters.
func TestAggregatedServer(t *testing.T) {
	a := &aggregated{}
	server := httptest.NewTLSServer(a)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	policy(t, on, "aggregated", "nobody")
	apply(t, on,
		"/api/v1/namespaces/aggregated/services", `{"metadata":{"name":"things"},"spec":{"type":"ExternalName","externalName":"127.0.0.1"}}`,
		rbacPath+"clusterroles", `{"metadata":{"name":"thinker"},"rules":[{"apiGroups":["things.example.com"],"resources":["things"],"verbs":["*"]}]}`,
		"/apis/apiregistration.k8s.io/v1/apiservices", `{"metadata":{"name":"v1.things.example.com"},"spec":{"group":"things.example.com","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,
		"service":{"namespace":"aggregated","name":"things","port":`+u.Port()+`}}}`)
	defer request{as: master, method: "DELETE",
		path: "/apis/apiregistration.k8s.io/v1/apiservices/v1.things.example.com"}.want(t, 200)
	const path = "/apis/things.example.com/v1/namespaces/aggregated/things"
	r := request{as: person("root", "system:masters", "staff"), method: "GET", path: path}
	r.eventually(t, 200)
	const key = "X-Remote-Extra-Authority.kube-Granular.dev%2fselected"
	told := func(h http.Header) []string {
		for name, values := range h {
			if strings.EqualFold(name, key) {
				return values
			}
		}
		return nil
	}
	if h := a.last(); told(h) != nil || !slices.Contains(h["X-Remote-Group"], "system:masters") {
		t.Errorf("nothing selected: %v", h)
	}
	r.selects = []string{clusterRole("thinker")}
	got := r.want(t, 200)
	h := a.last()
	if values := told(h); len(values) != 1 || values[0] != clusterRole("thinker") || h[selection.Header] != nil || slices.Contains(h["X-Remote-Group"], "system:masters") || !slices.Contains(h["X-Remote-Group"], "staff") {
		t.Errorf("told %v", h)
	}
	if got.header.Get(selection.Header) != clusterRole("thinker") {
		t.Errorf("repeats %q", got.header[selection.Header])
	}
	before := len(a.asked)
	r.selects = []string{clusterRole("view")}
	r.want(t, 403)
	if len(a.asked) != before {
		t.Error("the aggregated server was asked")
	}
}

// TestPriorityAndFairness checks that a selection does not change the flow schema and the
// priority level of a request. The exception is system:masters: while a member selects, its
// requests lose the exemption of that group.
func TestPriorityAndFairness(t *testing.T) {
	policy(t, on, "queued", "jane", "view")
	place := func(r request) string {
		t.Helper()
		got := r.eventually(t, 200)
		return got.header.Get("X-Kubernetes-Pf-Flowschema-Uid") + " " + got.header.Get("X-Kubernetes-Pf-Prioritylevel-Uid")
	}
	r := request{as: person("jane"), method: "GET", path: "/api/v1/namespaces/queued/pods"}
	jane := place(r)
	r.selects = []string{clusterRole("view")}
	if selecting := place(r); selecting != jane || strings.TrimSpace(jane) == "" {
		t.Errorf("%q, and %q while selecting", jane, selecting)
	}
	r.as = master
	selecting := place(r)
	r.selects = nil
	if exempt := place(r); selecting == exempt || selecting != jane {
		t.Errorf("a master: %q, and %q while selecting", exempt, selecting)
	}
}

// TestRevoked checks that a selection stops working when the binding of the role is deleted.
func TestRevoked(t *testing.T) {
	policy(t, on, "revoked", "nobody")
	apply(t, on, rbacPath+"namespaces/revoked/rolebindings", `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"jane"}]}`)
	r := request{as: person("jane"), method: "GET", path: "/api/v1/namespaces/revoked/pods",
		selects: []string{clusterRole("view")}}
	r.eventually(t, 200)
	request{as: master, method: "DELETE", path: rbacPath + "namespaces/revoked/rolebindings/b"}.want(t, 200)
	r.eventually(t, 403)
}
