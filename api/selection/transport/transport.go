// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport sends the header Authority-Selector.
//
//	config.Wrap(transport.New)
//	client, err := kubernetes.NewForConfig(config)
//	...
//	ctx = transport.With(ctx, selection.ClusterRole("view"))
//	pods, err := client.CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
//
// A server that knows nothing of the header ignores it, and allows whatever the caller may
// do. So a response that does not repeat the header is an error, and before anything is
// changed the server is asked once whether it does.
//
// The invariant: nothing is changed by a request whose context has a selection, at a server
// that has never repeated one or did not the last time it answered. A server behind
// an address that others share may still be another one: then the change is made, and
// reported as an error.
//
// The package has no selection of its own, and keeps nothing but the answers of servers.
package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"kube-granular.dev/api/selection"
)

type contextKey struct{}

// With returns a context whose requests select an authority.
func With(ctx context.Context, s *selection.SelectedAuthority) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns what the requests of a context select, or nil.
func From(ctx context.Context) *selection.SelectedAuthority {
	s, _ := ctx.Value(contextKey{}).(*selection.SelectedAuthority)
	return s
}

// NotAppliedError is the error of a request whose selection the server did not apply.
type NotAppliedError struct {
	Method, Host string
	// Sent is true if the request itself was answered, by authority that was not selected.
	Sent bool
}

func (e *NotAppliedError) Error() string {
	if e.Sent {
		return fmt.Sprintf("%s was answered by %s, which did not apply the header %s: it may have done what the selected authority does not allow", e.Method, e.Host, selection.Header)
	}
	return fmt.Sprintf("%s was not sent to %s, which does not apply the header %s", e.Method, e.Host, selection.Header)
}

type roundTripper struct {
	next http.RoundTripper

	mu sync.Mutex
	// apply holds the servers that applied a selection the last time.
	apply map[string]bool
}

// New returns a RoundTripper that sends what the context of a request selects.
func New(next http.RoundTripper) http.RoundTripper {
	return &roundTripper{next: next, apply: map[string]bool{}}
}

// WrappedRoundTripper returns what sends the request.
func (t *roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	s := From(req.Context())
	if s == nil {
		return t.next.RoundTrip(req)
	}
	text, err := s.Text()
	if err == nil && len(req.Header[selection.Header]) > 0 {
		err = fmt.Errorf("the request has a header %s besides what its context selects", selection.Header)
	}
	if err == nil && changes(req.Method) && !t.applies(req.URL) {
		err = t.ask(req, text)
	}
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	sent := req.Clone(req.Context())
	sent.Header.Set(selection.Header, text)
	resp, err := t.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	applied := repeats(resp, text)
	if !applied && resp.StatusCode >= http.StatusBadRequest {
		// Refused, perhaps because of what is selected: who sent it is to read why.
		return resp, nil
	}
	t.remember(req.URL, applied)
	if !applied {
		resp.Body.Close()
		return nil, &NotAppliedError{Method: req.Method, Host: req.URL.Host, Sent: true}
	}
	return resp, nil
}

// ask asks the server for something that changes nothing, as whoever sends req.
func (t *roundTripper) ask(req *http.Request, text string) error {
	question, err := http.NewRequestWithContext(req.Context(), http.MethodGet, (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: "/version"}).String(), nil)
	if err != nil {
		return err
	}
	for name, values := range req.Header {
		if !strings.HasPrefix(name, "Content-") && !strings.HasPrefix(name, "If-") {
			question.Header[name] = values
		}
	}
	question.Header.Set("Accept", "application/json")
	question.Header.Set(selection.Header, text)
	resp, err := t.next.RoundTrip(question)
	if err != nil {
		return err
	}
	resp.Body.Close()
	applied := repeats(resp, text)
	t.remember(req.URL, applied)
	if !applied {
		return &NotAppliedError{Method: req.Method, Host: req.URL.Host}
	}
	return nil
}

func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

func repeats(resp *http.Response, text string) bool {
	values := resp.Header[selection.Header]
	return len(values) == 1 && values[0] == text
}

func (t *roundTripper) applies(server *url.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.apply[server.Scheme+"://"+server.Host]
}

func (t *roundTripper) remember(server *url.URL, applies bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !applies {
		delete(t.apply, server.Scheme+"://"+server.Host)
		return
	}
	t.apply[server.Scheme+"://"+server.Host] = true
}
