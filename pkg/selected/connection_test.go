// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/selection"
)

// TestEndingConnection checks that a connection that a handler takes over is closed when the delegation of its
// request ends, whatever the resource is, and only then.
func TestEndingConnection(t *testing.T) {
	w := newAgents(t, "")
	taken := make(chan net.Conn, 1)
	handler := Selection{Delegations: w.index, Bound: w.bound}.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(connection, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
		taken <- connection
		_, _ = io.Copy(connection, connection) // as upstream's proxy, it does not look at the context
	}), codecs)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		info := &request.RequestInfo{IsResourceRequest: true, Verb: "get", APIGroup: "example.com", Resource: "things", Subresource: "console", Namespace: "n"}
		ctx := request.WithRequestInfo(request.WithUser(req.Context(), agentWith("account-1", "")), info)
		handler.ServeHTTP(rw, req.WithContext(ctx))
	}))
	defer front.CloseClientConnections()
	client, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n%s: %s\r\n\r\n", selection.Header, selectsD)
	lines := bufio.NewReader(client)
	for line := ""; line != "\r\n"; {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintln(client, "line")
	if got, err := lines.ReadString('\n'); got != "line\n" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	w.index.Observe(delegated(), true)
	begin := time.Now()
	if _, err := lines.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the delegation: %v", err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the connection was open for %s", took)
	}
	if _, err := (<-taken).Write(nil); err == nil {
		t.Error("the server's side is open")
	}
}

// notServer is a ResponseWriter that only http.ResponseController can take over.
type notServer struct{ *httptest.ResponseRecorder }

func (notServer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	_, server := net.Pipe()
	return server, nil, nil
}

// notTaken is a ResponseWriter of a server, which nobody can take over.
type notTaken struct{ *httptest.ResponseRecorder }

func (notTaken) CloseNotify() <-chan bool { return nil }

// server is a ResponseWriter of a server.
type server struct{ notTaken }

func (server) Hijack() (net.Conn, *bufio.ReadWriter, error) { return notServer{}.Hijack() }

// TestEndingConnectionFailsClosed checks that no connection is taken over whose end the server could not bring
// about, and that one that is taken over late is closed at once.
func TestEndingConnectionFailsClosed(t *testing.T) {
	upgrade := httptest.NewRequest(http.MethodGet, "/", nil)
	upgrade.Header.Set("Connection", "keep-alive, Upgrade")
	for name, w := range map[string]http.ResponseWriter{
		"a writer that is no server's": notServer{httptest.NewRecorder()}, "a writer that can't be taken over": notTaken{httptest.NewRecorder()},
	} {
		if _, _, err := http.NewResponseController(endingConnection(t.Context(), w, upgrade)).Hijack(); err == nil {
			t.Errorf("%s was taken over", name)
		}
	}
	plain := notServer{httptest.NewRecorder()}
	if got := endingConnection(t.Context(), plain, httptest.NewRequest(http.MethodGet, "/", nil)); got != http.ResponseWriter(plain) {
		t.Errorf("a request that does not upgrade gets %T", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	connection, _, err := endingConnection(ctx, server{notTaken{httptest.NewRecorder()}}, upgrade).(http.Hijacker).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); !errors.Is(err, io.ErrClosedPipe); _, err = connection.Write(nil) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("taken over after the delegation, and not closed: %v", err)
		}
		_ = connection.SetWriteDeadline(time.Now().Add(time.Minute))
		runtime.Gosched()
	}
}
