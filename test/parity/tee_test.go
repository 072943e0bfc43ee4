// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// late is how long the followers may take to say what the leader says.
const late = 10 * time.Second

// tee sends each request to all servers, one after the other.
type tee struct {
	servers []*server
	// known has what each follower chose.
	known []*values
	paths *request.RequestInfoFactory
	tally *tally
	turn  int

	mu sync.Mutex
}

// more are resources of which there are more objects while a gate is on, see isOurs. The pages of their lists would end
// elsewhere.
var more = map[string]bool{"clusterroles": true, "clusterrolebindings": true, "apiservices": true}

func newTee(tt *testing.T, servers []*server) *tee {
	t := &tee{
		servers: servers, tally: &tally{T: tt, by: map[string]int{}, equal: map[string]bool{}},
		paths: &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
	}
	for range servers[1:] {
		t.known = append(t.known, newValues())
	}
	return t
}

// serve starts the proxy that clients call instead of a server.
func (t *tee) serve(tt *testing.T, k *keys) string {
	cert, err := tls.LoadX509KeyPair(k.files.ServingCert, k.files.ServingKey)
	if err != nil {
		tt.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(k.authority.CertificatePEM())
	proxy := httptest.NewUnstartedServer(t)
	proxy.EnableHTTP2 = true
	proxy.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}
	proxy.StartTLS()
	tt.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL
}

// ServeHTTP answers as the leader does.
func (t *tee) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := call{method: r.Method, path: r.URL.Path, query: r.URL.Query(), header: r.Header.Clone()}
	for _, name := range []string{"X-Remote-User", "X-Remote-Group", "Connection", "Accept-Encoding", "If-None-Match", "If-Modified-Since"} {
		c.header.Del(name)
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		subject := r.TLS.PeerCertificates[0].Subject
		c.user = append([]string{subject.CommonName}, subject.Organization...)
	}
	var err error
	if c.info, err = t.paths.NewRequestInfo(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if isStream(r, c.info) {
		t.stream(w, r, c)
		return
	}
	if c.body, err = io.ReadAll(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a, err := t.do(r.Context(), c)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.Header().Del("Content-Length")
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // the client may have left
}

// client returns the client for a call: without an identity of a certificate, a server must see none.
func (s *server) client(c call) *http.Client {
	if len(c.user) > 0 {
		return s.trusted
	}
	return s.plain
}

func identify(h http.Header, user []string) {
	if len(user) > 0 {
		h.Set("X-Remote-User", user[0])
		h["X-Remote-Group"] = user[1:]
	}
}

// do sends a call to all servers, after the same object is stored on all of them. It returns the leader's answer.
func (t *tee) do(ctx context.Context, c call) (answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c = c.named()
	if more[c.info.Resource] {
		c.query.Del("limit")
	}
	isRead := c.method == http.MethodGet || c.method == http.MethodHead
	if !isRead && c.info.IsResourceRequest && c.info.Name != "" && c.info.Verb != "create" {
		t.settle(ctx, c)
	}
	t.turn++
	if extra, ok := c.inFormat(t.turn); ok {
		if _, err := t.compare(ctx, extra, true); err != nil {
			return answer{}, err
		}
	}
	return t.compare(ctx, c, isRead)
}

// settle waits until all servers have the same object, so that what one of them is late with does not become a difference of
// the write.
func (t *tee) settle(ctx context.Context, c call) {
	path := c.path
	if c.info.Subresource != "" {
		path = path[:strings.LastIndex(path, "/"+c.info.Subresource)]
	}
	read := call{method: http.MethodGet, path: path, header: http.Header{"Accept": {mediaJSON}}, user: []string{"parity", "system:masters"}, info: c.info}
	_, _ = t.compare(ctx, read, true) // an error shows again with the write
}

// compare sends a call to all servers and compares their answers. repeat asks again as long as a follower may be late.
func (t *tee) compare(ctx context.Context, c call, repeat bool) (answer, error) {
	for deadline, resume := time.Now().Add(late), time.Now().Add(late/4); ; {
		c.id = string(uuid.NewUUID())
		answers, err := t.send(ctx, c)
		if err != nil {
			return answer{}, err
		}
		different := map[string]string{}
		for i, a := range answers[1:] {
			l, lok := answers[0].value()
			f, fok := a.value()
			if lok && fok {
				t.known[i].learn(l, f, "")
			}
			if c.query.Get("hash") != "" {
				continue // a document of OpenAPI, by the hash that the leader has
			}
			if isCompared(c.path) {
				if diff := answers[0].differs(a); diff != "" {
					different[t.servers[i+1].name] = diff
				}
			} else if a.code != answers[0].code {
				different[t.servers[i+1].name] = fmt.Sprint(answers[0].code, " and ", a.code)
			}
			if diff := differentQuestions(answers[0], a, &t.servers[i+1].more); diff != "" {
				different[t.servers[i+1].name] += "other questions to the webhook:\n" + diff
			}
		}
		if len(different) == 0 || !repeat || time.Now().After(deadline) {
			t.tally.add(c, answers[0], different)
			return answers[0], nil
		}
		t.tally.repeated++
		if time.Now().After(resume) {
			resume = deadline
			for _, s := range t.servers {
				s.resume(ctx)
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

// isCompared reports whether the body of a path must be equal. The documents of OpenAPI contain the permissions of
// kinds while the gate is on, the version names the program, and health checks name their parts.
func isCompared(path string) bool {
	for _, prefix := range []string{"/openapi", "/version", "/metrics", "/healthz", "/livez", "/readyz", "/debug", "/flagz", "/statusz", "/configz"} {
		if strings.HasPrefix(path, prefix) {
			return false
		}
	}
	return path != "/"
}

// send sends a call to each server, to the followers with the values that they know.
func (t *tee) send(ctx context.Context, c call) ([]answer, error) {
	c.header = c.header.Clone()
	c.header.Set("Audit-ID", c.id)
	answers, errs := make([]answer, len(t.servers)), make([]error, len(t.servers))
	answers[0], errs[0] = t.servers[0].send(ctx, c, c.path, c.body, c.query)
	group := sync.WaitGroup{}
	for i, s := range t.servers[1:] {
		known := t.known[i]
		translated := c
		translated.header = c.header.Clone()
		if token, ok := strings.CutPrefix(c.header.Get("Authorization"), "Bearer "); ok {
			translated.header.Set("Authorization", "Bearer "+known.word(token))
		}
		path, query, _ := strings.Cut(known.path(c.path, c.query), "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return nil, err
		}
		body := known.body(c.header.Get("Content-Type"), c.body)
		group.Go(func() { answers[i+1], errs[i+1] = s.send(ctx, translated, path, body, values) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.servers[i].name, err)
		}
	}
	return answers, nil
}

func (s *server) send(ctx context.Context, c call, path string, body []byte, query url.Values) (a answer, err error) {
	target := s.url + (&url.URL{Path: path, RawQuery: query.Encode()}).String()
	r, err := http.NewRequestWithContext(ctx, c.method, target, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header = c.header.Clone()
	identify(r.Header, c.user)
	s.questions.take() // of what the server did meanwhile
	response, err := s.client(c).Do(r)
	if err != nil {
		return a, err
	}
	a.code, a.header = response.StatusCode, response.Header
	a.body, err = io.ReadAll(response.Body)
	if query.Has("watch") && a.code == http.StatusOK {
		a.body = events(a.body)
	}
	a.asked = s.questions.take()
	return a, errors.Join(err, response.Body.Close())
}
