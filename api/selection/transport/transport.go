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
// do. So a response that does not repeat the header is an error, and before anything is sent
// the server is asked once whether it does: also a request with the method GET can change
// something, such as one that runs a command in a container.
//
// The invariant: no request whose context has a selection is sent to a server that has
// never repeated one or did not the last time it answered. A server behind an address that
// others share may still be another one: then the request is answered, and reported as an
// error.
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
	// always is what requests select whose contexts select nothing, or nil.
	always *selection.SelectedAuthority
	// reason is sent along with what is selected, unless it is empty.
	reason string
	*servers
}

// servers are those that applied a selection the last time.
type servers struct {
	mu    sync.Mutex
	apply map[string]bool
}

// New returns a RoundTripper that sends what the context of a request selects.
func New(next http.RoundTripper) http.RoundTripper {
	return Always(nil)(next)
}

// Always returns a function that makes RoundTrippers of which every request selects an
// authority: what its context selects, or this. They share what they know of servers.
//
//	config.Wrap(transport.Always(selection.ClusterRole("view")))
func Always(s *selection.SelectedAuthority) func(http.RoundTripper) http.RoundTripper {
	return Because("", s)
}

// Because is Always with a reason, which the audit log of a server has beside the selection.
// A reason that selection.CheckReason refuses fails every request.
func Because(reason string, s *selection.SelectedAuthority) func(http.RoundTripper) http.RoundTripper {
	known := &servers{apply: map[string]bool{}}
	return func(next http.RoundTripper) http.RoundTripper {
		return &roundTripper{next: next, always: s, reason: reason, servers: known}
	}
}

// WrappedRoundTripper returns what sends the request.
func (t *roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	s := From(req.Context())
	if s == nil {
		s = t.always
	}
	if s == nil {
		return t.next.RoundTrip(req)
	}
	text, err := s.Text()
	if err == nil && len(req.Header[selection.Header]) > 0 {
		err = fmt.Errorf("the request has a header %s besides what is selected for it", selection.Header)
	}
	if err == nil && t.reason != "" {
		err = selection.CheckReason(t.reason)
	}
	var refusal *http.Response
	if err == nil && !t.applies(req.URL) {
		refusal, err = t.ask(req, text)
	}
	if err != nil || refusal != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return refusal, err
	}
	sent := req.Clone(req.Context())
	sent.Header.Set(selection.Header, text)
	if t.reason != "" {
		sent.Header.Set(selection.ReasonHeader, t.reason)
	}
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

// ask asks the server for something that changes nothing, as whoever sends req. It returns an
// answer that says nothing about selections, but why requests are refused: who sent req is to
// read it, and perhaps to come again.
func (t *roundTripper) ask(req *http.Request, text string) (*http.Response, error) {
	question, err := http.NewRequestWithContext(req.Context(), http.MethodGet, (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: "/version"}).String(), nil)
	if err != nil {
		return nil, err
	}
	for name, values := range req.Header {
		if !strings.HasPrefix(name, "Content-") && !strings.HasPrefix(name, "If-") && !strings.HasPrefix(name, "Sec-Websocket-") && name != "Upgrade" && name != "Connection" {
			question.Header[name] = values
		}
	}
	question.Header.Set("Accept", "application/json")
	question.Header.Set(selection.Header, text)
	resp, err := t.next.RoundTrip(question)
	if err != nil {
		return nil, err
	}
	applied := repeats(resp, text)
	if !applied && undecided(resp.StatusCode) {
		resp.Request = req
		return resp, nil
	}
	resp.Body.Close()
	t.remember(req.URL, applied)
	if !applied {
		return nil, &NotAppliedError{Method: req.Method, Host: req.URL.Host}
	}
	return nil, nil
}

// undecided reports whether a server that answers so had not come to the selection yet, or
// could not read it.
func undecided(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

func repeats(resp *http.Response, text string) bool {
	values := resp.Header[selection.Header]
	return len(values) == 1 && values[0] == text
}

func (t *servers) applies(server *url.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.apply[server.Scheme+"://"+server.Host]
}

func (t *servers) remember(server *url.URL, applies bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !applies {
		delete(t.apply, server.Scheme+"://"+server.Host)
		return
	}
	t.apply[server.Scheme+"://"+server.Host] = true
}
