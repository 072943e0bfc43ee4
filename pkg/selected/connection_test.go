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
	"strings"
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
	resp, err := http.ReadResponse(lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header[selection.Header]; len(got) != 1 || got[0] != selectsD {
		t.Errorf("the answer to the upgrade repeats %q", got)
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

// TestConnectionsFailClosed checks that no connection is taken over whose end the server could not bring
// about, and that one that is taken over late is closed at once.
func TestConnectionsFailClosed(t *testing.T) {
	upgrade := httptest.NewRequest(http.MethodGet, "/", nil)
	upgrade.Header.Set("Connection", "keep-alive, Upgrade")
	for name, w := range map[string]http.ResponseWriter{
		"a writer that is no server's": notServer{httptest.NewRecorder()}, "a writer that can't be taken over": notTaken{httptest.NewRecorder()},
	} {
		if _, _, err := http.NewResponseController(onUpgrade(t.Context(), "", w, upgrade)).Hijack(); err == nil {
			t.Errorf("%s was taken over", name)
		}
	}
	plain := notServer{httptest.NewRecorder()}
	if got := onUpgrade(t.Context(), "", plain, httptest.NewRequest(http.MethodGet, "/", nil)); got != http.ResponseWriter(plain) {
		t.Errorf("a request that does not upgrade gets %T", got)
	}
	if got := onUpgrade(nil, "", plain, upgrade); got != http.ResponseWriter(plain) {
		t.Errorf("a connection without an end and a selection gets %T", got)
	}
	if got, ok := onUpgrade(nil, "s", server{notTaken{httptest.NewRecorder()}}, upgrade).(*upgradingWriter); !ok || got.repeated != "s" {
		t.Errorf("a connection without an end repeats nothing: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	connection, _, err := onUpgrade(ctx, "", server{notTaken{httptest.NewRecorder()}}, upgrade).(http.Hijacker).Hijack()
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

// written has what was written to a connection.
type written struct {
	net.Conn
	text strings.Builder
	// accepts is how many bytes are accepted, or 0 if all are.
	accepts int
}

func (w *written) Write(p []byte) (int, error) {
	if w.accepts > 0 && len(p) > w.accepts {
		w.text.Write(p[:w.accepts])
		return w.accepts, io.ErrShortWrite
	}
	return w.text.Write(p)
}

// TestRepeatingConnection checks where the header is inserted: behind the status line of an answer, once, before what the
// other side sent, and in nothing else.
func TestRepeatingConnection(t *testing.T) {
	const header, status = "Authority-Selector: s\r\n", "HTTP/1.1 101 S\r\n"
	for name, tc := range map[string]struct {
		writes []string
		want   string
	}{
		"an answer":                     {[]string{status + "Upgrade: x\r\n\r\nstream"}, status + header + "Upgrade: x\r\n\r\nstream"},
		"only its first line":           {[]string{status, "A: b\r\n\r\n"}, status + header + "A: b\r\n\r\n"},
		"the header of the other side":  {[]string{status + "Authority-Selector: t\r\n\r\n"}, status + header + "Authority-Selector: t\r\n\r\n"},
		"an answer in the stream":       {[]string{status + "\r\n", "HTTP/1.1 200 OK\r\n\r\n"}, status + header + "\r\nHTTP/1.1 200 OK\r\n\r\n"},
		"a stream after its answer":     {[]string{"\x80\x03\r\n", status}, "\x80\x03\r\n" + status},
		"no whole line":                 {[]string{"HTTP/1.1 101", " S\r\n\r\n"}, status + "\r\n"},
		"nothing, and then the answer":  {[]string{"", status + "\r\n"}, status + "\r\n"},
		"an answer of another protocol": {[]string{"HTTP/2 200\r\n"}, "HTTP/2 200\r\n"},
	} {
		to := &written{}
		c := &repeatingConnection{Conn: to, header: header}
		for _, text := range tc.writes {
			if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%s: %d of %d bytes, error %v", name, n, len(text), err)
			}
		}
		if got := to.text.String(); got != tc.want {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
	}
	for name, text := range map[string]string{"no answer": "\x80\x03\r\n", "no whole line": "HTTP/1.1 101"} {
		if n, err := (&repeatingConnection{Conn: &written{accepts: 1}, header: header}).Write([]byte(text)); n != 1 || err == nil {
			t.Errorf("%s, of which one byte is accepted: %d bytes, error %v", name, n, err)
		}
	}
	const answer = status + "\r\n"
	for accepts := 1; accepts < len(answer)+len(header); accepts++ {
		c := &repeatingConnection{Conn: &written{accepts: accepts}, header: header}
		if n, err := c.Write([]byte(answer)); err == nil || n >= len(answer) || n > accepts {
			t.Errorf("after %d bytes: %d, error %v", accepts, n, err)
		}
	}
}
