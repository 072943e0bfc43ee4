// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/harness"
)

// connect holds the rules for a pod, and everything that connects to it.
const connect = `{"apiGroups":[""],"resources":["pods","pods/log","pods/exec","pods/attach","pods/portforward"],"verbs":["get","create","list","watch"]}`

// newKubelet starts a server that stands in for the kubelet of a node, with a pod web on that node. It
// accepts each connection, and sends back each line. It writes lines into a log that is followed.
func newKubelet(t *testing.T, namespace string) {
	t.Helper()
	newNode(t, namespace, func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, "/containerLogs/") {
			for req.Context().Err() == nil {
				fmt.Fprintln(w, "a line of the log")
				_ = http.NewResponseController(w).Flush()
				if req.URL.Query().Get("follow") != "true" {
					return
				}
				select {
				case <-req.Context().Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
			return
		}
		if req.URL.Query().Get("command") == "translated" {
			// The server speaks SPDY with the kubelet itself.
			if _, err := httpstream.Handshake(req, w, []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}); err != nil {
				t.Error(err)
			}
			connection := spdy.NewResponseUpgrader().UpgradeResponse(w, req, func(httpstream.Stream, <-chan struct{}) error { return nil })
			<-connection.CloseChan()
			return
		}
		echo(w, req)
	})
}

// newNode starts a server that stands in for the kubelet of a node, with a pod web on that node.
func newNode(t *testing.T, namespace string, serve http.HandlerFunc) {
	t.Helper()
	kubelet := httptest.NewTLSServer(serve)
	t.Cleanup(kubelet.CloseClientConnections) // Close would wait for connections that were taken over
	u, err := url.Parse(kubelet.URL)
	if err != nil {
		t.Fatal(err)
	}
	node := "node-" + namespace
	apply(t,
		"/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":%q},"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, node, u.Hostname(), u.Port()),
		"/api/v1/namespaces/"+namespace+"/serviceaccounts", `{"metadata":{"name":"default"}}`,
		"/api/v1/namespaces/"+namespace+"/pods", fmt.Sprintf(`{"metadata":{"name":"web"},"spec":{"nodeName":%q,"automountServiceAccountToken":false,"containers":[{"name":"web","image":"web"}]}}`, node))
	request{as: "root", method: "PATCH", path: "/api/v1/namespaces/" + namespace + "/pods/web/status", contentType: mergePatch, body: `{"status":{"phase":"Running"}}`}.want(t, 200)
}

// echo takes a connection over, and sends back what it receives.
func echo(w http.ResponseWriter, req *http.Request) {
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", req.Header.Get("Upgrade"))
	_, _ = io.Copy(connection, buffered)
}

// connection is an open connection to a pod.
type connection struct {
	net.Conn
	lines *bufio.Reader
	resp  *http.Response
}

// dial sends a request that upgrades its connection, by WebSocket to one of its protocols.
func dial(t *testing.T, as, under, method, path, upgrade, protocol string) *connection {
	t.Helper()
	config := harness.Config(t, on, "admin")
	trust, err := rest.TLSConfigFor(rest.AnonymousClientConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	trust.NextProtos = []string{"http/1.1"}
	raw, err := (&tls.Dialer{Config: trust}).DialContext(t.Context(), "tcp", strings.TrimPrefix(on.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	// Nothing below waits for longer.
	_ = raw.SetDeadline(time.Now().Add(time.Minute))
	req, err := http.NewRequestWithContext(t.Context(), method, on.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + as}, "Connection": {"Upgrade"}, "Upgrade": {upgrade}, "X-Stream-Protocol-Version": {"v4.channel.k8s.io"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Origin": {on.URL}}
	if protocol != "" {
		req.Header.Set("Sec-Websocket-Protocol", protocol)
	}
	if under != "" {
		req.Header.Set(selection.Header, named(under))
	}
	if err := req.Write(raw); err != nil {
		t.Fatal(err)
	}
	c := &connection{Conn: raw, lines: bufio.NewReader(raw)}
	if c.resp, err = http.ReadResponse(c.lines, req); err != nil {
		t.Fatal(err)
	}
	return c
}

// echoes reports whether the connection is open to the other side.
func (c *connection) echoes() bool {
	if _, err := fmt.Fprintln(c, "line"); err != nil {
		return false
	}
	got, err := c.lines.ReadString('\n')
	return err == nil && got == "line\n"
}

// TestConnectionsEnd checks that a connection to a pod, which a client opened under a delegation, ends when
// the delegation ends. The connection of another delegation stays.
//
// Attack: a connection to a pod (exec, attach, port-forward) that began under a delegation continues after the delegation was deleted or has expired
// Answer: the server closes it within two seconds
func TestConnectionsEnd(t *testing.T) {
	n, _ := stage(t, connect)
	newKubelet(t, n)
	for _, sub := range []string{"exec?command=sh&stdin=true", "attach?stdin=true", "portforward?ports=80"} {
		path := "/api/v1/namespaces/" + n + "/pods/web/" + sub
		deleted, stays := delegation{scope: n, rules: connect}.by(t, "alice", ""), delegation{scope: n, rules: connect}.by(t, "alice", "")
		ended := delegation{scope: n, rules: connect}.by(t, "alice", "")
		open := map[string]*connection{}
		for _, d := range []string{deleted, ended, stays} {
			open[d] = dial(t, "bot", d, "POST", path, "SPDY/3.1", "")
			resp := open[d].resp
			if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get(selection.Header) != named(d) || !open[d].echoes() {
				t.Fatalf("%s: %+v", sub, open[d].resp)
			}
		}
		request{as: "root", method: "DELETE", path: delegations + "/" + deleted}.want(t, 200)
		request{as: "root", method: "PATCH", path: delegations + "/" + ended, contentType: mergePatch, body: `{"spec":{"expirationTimestamp":"2001-01-01T00:00:00Z"}}`}.want(t, 200)
		begin := time.Now()
		for _, d := range []string{deleted, ended} {
			for open[d].echoes() && time.Since(begin) < 10*time.Second {
			}
			if took := time.Since(begin); took > endsAfter {
				t.Errorf("%s: the connection was open for %s after the delegation", sub, took)
			} else {
				t.Logf("%s: closed %s after the delegation", sub, took)
			}
		}
		if !open[stays].echoes() {
			t.Errorf("%s: the connection under another delegation was closed", sub)
		}
		if got := dial(t, "bot", deleted, "POST", path, "SPDY/3.1", "").resp.StatusCode; got != http.StatusForbidden {
			t.Errorf("%s after the delegation: status %d", sub, got)
		}
	}
}

// open reports whether the other side has the connection open.
func (c *connection) open() bool {
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := io.Copy(io.Discard, c.lines)
	var waited net.Error
	return errors.As(err, &waited) && waited.Timeout()
}

// TestUpgradesEnd checks the other ways in which a request upgrades its connection: WebSockets, which the server translates
// or watches by, tunnels of port-forward, and requests to an aggregated server, whose resources this server does not know.
//
// Attack: a delegate takes a connection over in a way that the server does not know as long: a WebSocket, a tunnel, or a resource of an aggregated server
// Answer: the server closes it within two seconds after the delegation
//
// Attack: a delegate whose delegation has conditions goes where nothing is verified: a connection, or an aggregated server
// Answer: 403
func TestUpgradesEnd(t *testing.T) {
	const group = "upgraded.example.com"
	rules := connect + "," + configMaps + `,{"apiGroups":["` + group + `"],"resources":["things","things/console"],"verbs":["*"]}`
	n, _ := stage(t, rules)
	newKubelet(t, n)
	aggregated := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Upgrade") != "" {
			echo(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[]}`, group)
	}))
	t.Cleanup(aggregated.CloseClientConnections)
	u, err := url.Parse(aggregated.URL)
	if err != nil {
		t.Fatal(err)
	}
	apply(t,
		"/api/v1/namespaces/"+n+"/services", `{"metadata":{"name":"things"},"spec":{"type":"ExternalName","externalName":"`+u.Hostname()+`"}}`,
		"/apis/apiregistration.k8s.io/v1/apiservices", `{"metadata":{"name":"v1.`+group+`"},"spec":{"group":"`+group+`","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,
		"service":{"namespace":"`+n+`","name":"things","port":`+u.Port()+`}}}`)
	defer request{as: "root", method: "DELETE", path: "/apis/apiregistration.k8s.io/v1/apiservices/v1." + group}.want(t, 200)
	conditional := delegation{scope: n, rules: rules, more: `,"conditions":[{"expression":"true"}]`}.by(t, "alice", "")
	request{as: "bot", method: "POST", path: "/api/v1/namespaces/" + n + "/pods/web/exec?command=sh", under: conditional}.want(t, 403, "has conditions")
	harness.Until(t, "the aggregator knows "+group, func() bool {
		return request{as: "bot", method: "POST", path: "/apis/" + group + "/v1/namespaces/" + n + "/things",
			under: delegation{scope: n, rules: rules}.by(t, "alice", "")}.to(t).status == 200
	})
	request{as: "bot", method: "POST", path: "/apis/" + group + "/v1/namespaces/" + n + "/things", under: conditional}.
		want(t, 403, "conditions, which can't be verified")
	for _, way := range []struct{ path, upgrade, protocol string }{
		{"/api/v1/namespaces/" + n + "/pods/web/exec?command=translated&stdout=true", "websocket", "v5.channel.k8s.io"},
		{"/api/v1/namespaces/" + n + "/pods/web/exec?command=sh&stdout=true", "websocket", "v4.channel.k8s.io"},
		{"/api/v1/namespaces/" + n + "/pods/web/portforward?ports=80", "websocket", "SPDY/3.1+portforward.k8s.io"},
		{maps(n) + "?watch=1", "websocket", ""},
		{"/apis/" + group + "/v1/namespaces/" + n + "/things/x/console", "websocket", ""},
		{"/apis/" + group + "/v1/namespaces/" + n + "/things/x/console", "SPDY/3.1", ""},
	} {
		ends, stays := delegation{scope: n, rules: rules}.by(t, "alice", ""), delegation{scope: n, rules: rules}.by(t, "alice", "")
		open := map[string]*connection{}
		for _, d := range []string{ends, stays} {
			harness.Until(t, way.path+" by "+way.upgrade+" "+way.protocol+" opens", func() bool {
				open[d] = dial(t, "bot", d, "GET", way.path, way.upgrade, way.protocol)
				return open[d].resp.StatusCode == http.StatusSwitchingProtocols
			})
			// Who answers knows nothing of the selection: the server repeats it, so that the client can rely on it.
			if got := open[d].resp.Header[selection.Header]; len(got) != 1 || got[0] != named(d) {
				t.Errorf("%+v: the answer repeats %q", way, got)
			}
		}
		request{as: "root", method: "DELETE", path: delegations + "/" + ends}.want(t, 200)
		begin := time.Now()
		for open[ends].open() && time.Since(begin) < 10*time.Second {
		}
		if took := time.Since(begin); took > endsAfter || took < 100*time.Millisecond {
			t.Errorf("%+v: the connection was open for %s after the delegation", way, took)
		}
		if !open[stays].open() {
			t.Errorf("%+v: the connection under another delegation was closed", way)
		}
	}
}

// TestLogsEnd checks that a log that is followed under a delegation ends with it.
func TestLogsEnd(t *testing.T) {
	n, _ := stage(t, connect)
	newKubelet(t, n)
	d := delegation{scope: n, rules: connect}.by(t, "alice", "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", on.URL+"/api/v1/namespaces/"+n+"/pods/web/log?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer bot"}, selection.Header: {named(d)}}
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %+v", err, resp)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	request{as: "root", method: "DELETE", path: delegations + "/" + d}.want(t, 200)
	begin := time.Now()
	for lines.Scan() && ctx.Err() == nil {
	}
	if took := time.Since(begin); took > endsAfter {
		t.Errorf("the log ended %s after the delegation", took)
	}
}
