// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/api/selection"
)

const text = `{"authorityReference":{"kind":"ClusterRole","name":"view"}}`

// server is a test server. If applies is true, it repeats the selection of a request. It records
// the requests that it gets.
type server struct {
	applies bool
	status  int
	// version is the status of the response to the probe request, or 0 for 200.
	version int
	asked   []string
	// reasons are the reasons that came with the requests.
	reasons []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	selected := req.Header[selection.Header]
	s.asked = append(s.asked, strings.Join([]string{req.Method, req.URL.Path, strings.Join(selected, "+"), req.Header.Get("Authorization")}, " "))
	s.reasons = append(s.reasons, req.Header[selection.ReasonHeader]...)
	if s.applies {
		w.Header()[selection.Header] = selected
	}
	switch {
	case req.URL.Path == "/version" && s.version != 0:
		w.WriteHeader(s.version)
	case req.URL.Path != "/version" && s.status != 0:
		w.WriteHeader(s.status)
	}
}

// body records whether it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

func TestRoundTripper(t *testing.T) {
	const ask, post, get, plain = "GET /version " + text + " Bearer t", "POST /x " + text + " Bearer t", "GET /x " + text + " Bearer t", "POST /x  Bearer t"
	for _, tc := range []struct {
		name string
		// server has the settings of the test server for each request in do.
		server []server
		do     []string
		want   []string
		// fails is true if the last request must return a NotAppliedError, and sent is the
		// wanted value of its field Sent.
		fails, sent bool
		status      int
	}{
		{name: "nothing selected", server: []server{{}}, do: []string{"plain"}, want: []string{plain}, status: 200},
		{name: "a change", server: []server{{applies: true}}, do: []string{"POST"}, want: []string{ask, post},
			status: 200},
		{name: "asked once", server: []server{{applies: true}, {applies: true}}, do: []string{"POST", "POST"},
			want: []string{ask, post, post}, status: 200},
		{name: "a read", server: []server{{applies: true}, {applies: true}}, do: []string{"GET", "POST"},
			want: []string{ask, get, post}, status: 200},
		{name: "without the feature", server: []server{{}}, do: []string{"POST"}, want: []string{ask}, fails: true},
		{name: "asked again where the answer was no", server: []server{{}, {applies: true}},
			do: []string{"POST", "POST"}, want: []string{ask, ask, post}, status: 200},
		{name: "a read without the feature", server: []server{{}}, do: []string{"GET"}, want: []string{ask},
			fails: true},
		{name: "another server answers", server: []server{{applies: true}, {}}, do: []string{"POST", "POST"},
			want: []string{ask, post, post}, fails: true, sent: true},
		{name: "another server answers a read", server: []server{{applies: true}, {}}, do: []string{"GET", "GET"},
			want: []string{ask, get, get}, fails: true, sent: true},
		{name: "and is remembered", server: []server{{applies: true}, {}, {}}, do: []string{"POST", "POST", "POST"},
			want: []string{ask, post, post, ask}, fails: true},
		{name: "nobody may read the version", server: []server{{applies: true, version: 403}}, do: []string{"POST"},
			want: []string{ask, post}, status: 200},
		{name: "the version fails, with the selection applied", server: []server{{applies: true, version: 503}},
			do: []string{"POST"}, want: []string{ask, post}, status: 200},
		{name: "nobody may read the version, without the feature", server: []server{{version: 403}},
			do: []string{"POST"}, want: []string{ask}, fails: true},
		{name: "there is no version", server: []server{{version: 404}}, do: []string{"POST"}, want: []string{ask},
			fails: true},
		{name: "who is not authenticated", server: []server{{version: 401}}, do: []string{"POST"},
			want: []string{ask}, status: 401},
		{name: "and then is", server: []server{{version: 401}, {applies: true}}, do: []string{"POST", "POST"},
			want: []string{ask, ask, post}, status: 200},
		{name: "a busy server", server: []server{{version: 429}}, do: []string{"POST"}, want: []string{ask},
			status: 429},
		{name: "a failing server", server: []server{{version: 503}}, do: []string{"GET"}, want: []string{ask},
			status: 503},
		{name: "a selection that is not served", server: []server{{version: 400}}, do: []string{"POST"},
			want: []string{ask}, status: 400},
		{name: "forbidden", server: []server{{applies: true, status: 403}}, do: []string{"POST"},
			want: []string{ask, post}, status: 403},
		{name: "a redirection", server: []server{{applies: true}, {status: 302}}, do: []string{"GET", "GET"},
			want: []string{ask, get, get}, fails: true, sent: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &server{}
			ts := httptest.NewServer(s)
			defer ts.Close()
			rt := New(ts.Client().Transport)
			for i, method := range tc.do {
				s.applies, s.status, s.version = tc.server[i].applies, tc.server[i].status, tc.server[i].version
				ctx := t.Context()
				if method == "plain" {
					method = http.MethodPost
				} else {
					ctx = With(ctx, selection.ClusterRole("view"))
				}
				sent := &body{Reader: strings.NewReader("{}")}
				req, err := http.NewRequestWithContext(ctx, method, ts.URL+"/x", sent)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer t")
				req.Header.Set("Content-Type", "application/json")
				resp, err := rt.RoundTrip(req)
				if !sent.closed {
					t.Error("the body was not closed")
				}
				if err == nil {
					resp.Body.Close()
				}
				if i < len(tc.do)-1 {
					continue
				}
				var not *NotAppliedError
				if errors.As(err, &not) != tc.fails || tc.fails && not.Sent != tc.sent {
					t.Errorf("error %v, wanted one %t, sent %t", err, tc.fails, tc.sent)
				}
				if !tc.fails && (err != nil || resp.StatusCode != tc.status) {
					t.Errorf("status %+v, error %v, wanted %d", resp, err, tc.status)
				}
			}
			if !slices.Equal(s.asked, tc.want) {
				t.Errorf("the server was asked\n%q, wanted\n%q", s.asked, tc.want)
			}
		})
	}
}

// TestWhatCannotBeSent holds that a request is not sent if it already has the header, or if its
// selection is not valid.
func TestWhatCannotBeSent(t *testing.T) {
	s := &server{applies: true}
	ts := httptest.NewServer(s)
	defer ts.Close()
	rt := New(ts.Client().Transport)
	send := func(selected *selection.SelectedAuthority, header string) error {
		req, err := http.NewRequestWithContext(With(t.Context(), selected), http.MethodGet, ts.URL+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set(selection.Header, header)
		}
		resp, err := rt.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := send(selection.ClusterRole(""), ""); err == nil {
		t.Error("a selection without a name was sent")
	}
	if err := send(selection.ClusterRole("view"), text); err == nil {
		t.Error("two selections were sent")
	}
	if len(s.asked) > 0 {
		t.Errorf("sent: %q", s.asked)
	}
	if err := send(selection.ClusterRole("view"), ""); err != nil || len(s.asked) != 2 {
		t.Errorf("error %v, sent: %q", err, s.asked)
	}
}

// TestAlways holds that each request selects an authority, that a selection in its context takes
// precedence, and that RoundTrippers from one call of Always share what they know about servers.
func TestAlways(t *testing.T) {
	s := &server{applies: true}
	ts := httptest.NewServer(s)
	defer ts.Close()
	wrap := Always(selection.ClusterRole("view"))
	for _, ctx := range []context.Context{t.Context(), With(t.Context(), selection.ClusterRole("edit"))} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, ts.URL+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := wrap(ts.Client().Transport).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	want := []string{"GET /version " + text + " ", "GET /x " + text + " ",
		"GET /x " + strings.Replace(text, "view", "edit", 1) + " "}
	if !slices.Equal(s.asked, want) {
		t.Errorf("the server was asked\n%q, wanted\n%q", s.asked, want)
	}
}

// TestBecause holds that a reason is sent together with a selection only, and that a request
// with a reason which a server would refuse is not sent.
func TestBecause(t *testing.T) {
	s := &server{applies: true}
	ts := httptest.NewServer(s)
	defer ts.Close()
	send := func(reason string, selected *selection.SelectedAuthority) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := Because(reason, selected)(ts.Client().Transport).RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for _, reason := range []string{" ", "two\nlines", "\xff", strings.Repeat("x", selection.MaxReasonLength+1)} {
		if err := send(reason, selection.ClusterRole("view")); err == nil {
			t.Errorf("%q was sent", reason)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("sent: %q", s.asked)
	}
	for _, selected := range []*selection.SelectedAuthority{nil, selection.ClusterRole("view")} {
		if err := send("outage, née 4711", selected); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(s.reasons, []string{"outage, née 4711"}) {
		t.Errorf("reasons: %q", s.reasons)
	}
}
