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
// A server without support ignores the header, and allows everything that the caller may do. So a
// response that does not repeat the header is an error. Because a GET request can have effects
// too, such as running a command in a container, a probe request checks the server first.
//
// The invariant: a request whose context has a selection is sent only to a server whose last
// response repeated a selection. If several servers share an address, the request may still reach
// another server. Then the response is reported as an error.
//
// The package has no selection of its own, and its only state is which servers support
// selections.
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

// From returns the authority that the requests of a context select, or nil.
func From(ctx context.Context) *selection.SelectedAuthority {
	s, _ := ctx.Value(contextKey{}).(*selection.SelectedAuthority)
	return s
}

// NotAppliedError is the error of a request whose selection the server did not apply.
type NotAppliedError struct {
	Method, Host string
	// Sent is true if the server processed the request, with authority that was not selected.
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
	// always is the selection for requests whose contexts have none, or nil.
	always *selection.SelectedAuthority
	// reason is sent with each selection, unless it is empty.
	reason string
	*servers
}

// servers records the servers that applied the last selection.
type servers struct {
	mu    sync.Mutex
	apply map[string]bool
}

// New returns a RoundTripper that sends the selection of the request's context.
func New(next http.RoundTripper) http.RoundTripper {
	return Always(nil)(next)
}

// Always returns a function that wraps RoundTrippers. Each request selects the authority of its
// context, or else s. The RoundTrippers share the state of servers.
//
//	config.Wrap(transport.Always(selection.ClusterRole("view")))
func Always(s *selection.SelectedAuthority) func(http.RoundTripper) http.RoundTripper {
	return Because("", s)
}

// Because is Always with a reason for the audit log of the server. If selection.CheckReason
// rejects the reason, all requests fail.
func Because(reason string, s *selection.SelectedAuthority) func(http.RoundTripper) http.RoundTripper {
	known := &servers{apply: map[string]bool{}}
	return func(next http.RoundTripper) http.RoundTripper {
		return &roundTripper{next: next, always: s, reason: reason, servers: known}
	}
}

// WrappedRoundTripper returns the underlying RoundTripper.
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
		err = fmt.Errorf("the request has a header %s in addition to the selection", selection.Header)
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
		// The request was refused, possibly because of the selection. The caller needs the
		// reason.
		return resp, nil
	}
	t.remember(req.URL, applied)
	if !applied {
		resp.Body.Close()
		return nil, &NotAppliedError{Method: req.Method, Host: req.URL.Host, Sent: true}
	}
	return resp, nil
}

// ask sends a probe request without effects, with the identity of req. It returns a response that
// does not tell whether the server supports selections, but why it refuses requests. The caller
// returns it as the response to req, and may retry.
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

// undecided reports whether a response came before the server read the selection, or because it
// could not parse it.
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
