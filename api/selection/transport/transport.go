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
// A server without support for selections ignores the header, and allows everything that the
// caller is allowed without a selection. So if a response does not repeat the header, the caller
// gets an error. For a request with effects that is too late, and even a GET request can have
// effects, such as running a command in a container. So before the first request, a probe request
// without effects checks whether the server supports selections.
//
// The invariant: a request that selects an authority is sent only to a server that has repeated a
// selection, and has sent no successful response without repeating it since. If several servers
// share an address, the request can still reach another server. If that server does not repeat the
// selection in a successful response, the caller gets an error.
//
// The package makes no selection itself, and its only state is which servers support selections.
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

// With returns a context whose requests select the authority s.
func With(ctx context.Context, s *selection.SelectedAuthority) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns the authority that requests with this context select, or nil if they select none.
func From(ctx context.Context) *selection.SelectedAuthority {
	s, _ := ctx.Value(contextKey{}).(*selection.SelectedAuthority)
	return s
}

// NotAppliedError is the error of a request whose selection the server did not apply.
type NotAppliedError struct {
	Method, Host string
	// Sent is true if the server has processed the request. Then the server authorized the request
	// by all permissions of the caller, and not only by the selected authority. Sent is false if
	// the request was not sent.
	Sent bool
}

func (e *NotAppliedError) Error() string {
	if e.Sent {
		return fmt.Sprintf("%s was answered by %s, which did not apply the header %s: the request may have done more than the selected authority allows", e.Method, e.Host, selection.Header)
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

// servers remembers which servers support selections.
type servers struct {
	mu sync.Mutex
	// apply has the servers, by scheme and host, that repeated the selection in the last response
	// that showed whether they support selections.
	apply map[string]bool
}

// New returns a RoundTripper that sends the selection of the request's context, if there is one.
func New(next http.RoundTripper) http.RoundTripper {
	return Always(nil)(next)
}

// Always returns a function that wraps RoundTrippers. Each request selects the authority in the
// context of the request, or s if that context has none. All RoundTrippers that the function has
// wrapped share what they learn about which servers support selections.
//
//	config.Wrap(transport.Always(selection.ClusterRole("view")))
func Always(s *selection.SelectedAuthority) func(http.RoundTripper) http.RoundTripper {
	return Because("", s)
}

// Because is like Always, but also sends a reason, which the server writes to its audit log. An
// empty reason is not sent. If selection.CheckReason returns an error for another reason, all
// requests that select an authority fail.
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
		// The server refused the request, possibly because of the selection. So the caller gets
		// the response, which has the reason.
		return resp, nil
	}
	t.remember(req.URL, applied)
	if !applied {
		resp.Body.Close()
		return nil, &NotAppliedError{Method: req.Method, Host: req.URL.Host, Sent: true}
	}
	return resp, nil
}

// ask finds out whether the server supports selections. It sends a probe request without effects,
// with the credentials of req. If the server supports selections, ask returns nil and no error. If
// it does not, ask returns a NotAppliedError. If the response does not show which, such as a
// response with status 429, ask returns that response. RoundTrip then returns it as the response to
// req, so that the client can try again later.
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

// undecided reports whether a response with this status does not show if the server supports
// selections. A server that supports them can send such a status before it reads the selection, or
// because it can't parse or serve the selection.
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
