// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kube-granular.dev/api/selection"
)

// TestWatch checks that a watch under a delegation ends when the delegation is deleted.
//
// Attack: a watch that began under a delegation continues after the delegation was deleted
// Answer: it ends within seconds
func TestWatch(t *testing.T) {
	n, _ := stage(t, configMaps)
	// The timeout ends the test if the watch does not end.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, other := delegation{scope: n, rules: configMaps}.by(t, "alice", ""), delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	open := func(under string) *bufio.Scanner {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, "GET", on.URL+maps(n)+"?watch=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer bot")
		req.Header.Set(selection.Header, named(under))
		resp, err := client.Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %+v", err, resp)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return bufio.NewScanner(resp.Body)
	}
	watch, stays := open(d), open(other)
	apply(t, maps(n), `{"metadata":{"name":"first"}}`)
	for _, w := range []*bufio.Scanner{watch, stays} {
		if !w.Scan() || !strings.Contains(w.Text(), "first") {
			t.Fatalf("watched %q, %v", w.Text(), w.Err())
		}
	}
	request{as: "root", method: "DELETE", path: delegations + "/" + d}.want(t, 200)
	for watch.Scan() {
		t.Errorf("watched %q of a deleted delegation", watch.Text())
	}
	if ctx.Err() != nil {
		t.Fatal("it was watched on under a deleted delegation")
	}
	apply(t, maps(n), `{"metadata":{"name":"second"}}`)
	if !stays.Scan() || !strings.Contains(stays.Text(), "second") {
		t.Errorf("the other watched %q, %v", stays.Text(), stays.Err())
	}
	request{as: "bot", method: "GET", path: maps(n) + "?watch=1", under: d}.want(t, 403)
}

// TestAggregated checks that an aggregated server receives the selected delegation, as it was
// selected, in the extra fields of the user, and never in the header. Requests that the
// delegation does not allow do not reach that server.
//
// Attack: using a delegation at an aggregated server for something that it does not allow
// Answer: 403, the request is not sent to the other server
func TestAggregated(t *testing.T) {
	var told atomic.Pointer[http.Header]
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/things") {
			told.Store(&req.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"delegated.example.com/v1","resources":[]}`))
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	rules := `{"apiGroups":["delegated.example.com"],"resources":["things"],"verbs":["list"]}`
	n, _ := stage(t, rules)
	apply(t,
		"/api/v1/namespaces/"+n+"/services", `{"metadata":{"name":"things"},"spec":{"type":"ExternalName","externalName":"`+u.Hostname()+`"}}`,
		"/apis/apiregistration.k8s.io/v1/apiservices", `{"metadata":{"name":"v1.delegated.example.com"},"spec":{"group":"delegated.example.com","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,
		"service":{"namespace":"`+n+`","name":"things","port":`+u.Port()+`}}}`)
	defer request{as: "root", method: "DELETE",
		path: "/apis/apiregistration.k8s.io/v1/apiservices/v1.delegated.example.com"}.want(t, 200)
	d := delegation{scope: n, rules: rules}.by(t, "alice", "")
	path := "/apis/delegated.example.com/v1/namespaces/" + n + "/things"
	request{as: "bot", method: "GET", path: path, under: d}.eventually(t, 200)
	tells := func(user, delegation string) {
		t.Helper()
		header := *told.Swap(nil)
		var extra string
		for name, values := range header {
			if strings.EqualFold(name, "X-Remote-Extra-"+url.PathEscape(selection.ExtraKey)) {
				extra = strings.Join(values, " ")
			}
		}
		if !strings.Contains(extra, delegation) || header.Get(selection.Header) != "" || header.Get("X-Remote-User") != user {
			t.Errorf("told %q", header)
		}
	}
	tells("bot", d)
	// A bound account selects nothing, and the other server is told all the same.
	a := newAgent(t, n, rules)
	request{as: a.token, method: "GET", path: path}.want(t, 200)
	tells(a.user(), a.delegation)
	request{as: a.token, method: "POST", path: path, body: "{}"}.want(t, 403)
	request{as: "bot", method: "POST", path: path, body: "{}", under: d}.want(t, 403)
	request{as: "bot", method: "GET", path: path}.want(t, 403)
	request{as: "root", method: "DELETE", path: delegations + "/" + d}.want(t, 200)
	request{as: "bot", method: "GET", path: path, under: d}.want(t, 403)
	if told.Load() != nil {
		t.Error("the other server was asked")
	}
}
