// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
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

// server repeats what is selected while it applies, and keeps what it was asked.
type server struct {
	applies bool
	status  int
	asked   []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	selected := req.Header[selection.Header]
	s.asked = append(s.asked, strings.Join([]string{req.Method, req.URL.Path, strings.Join(selected, "+"), req.Header.Get("Authorization")}, " "))
	if s.applies {
		w.Header()[selection.Header] = selected
	}
	if s.status != 0 && req.URL.Path != "/version" {
		w.WriteHeader(s.status)
	}
}

// body notes whether it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

func TestRoundTripper(t *testing.T) {
	const ask, post, get, plain = "GET /version " + text + " Bearer t", "POST /x " + text + " Bearer t", "GET /x " + text + " Bearer t", "POST /x  Bearer t"
	for _, tc := range []struct {
		name string
		// server is what it is like for each request.
		server []server
		do     []string
		want   []string
		// sent is what a NotAppliedError says, of the last request.
		fails, sent bool
		status      int
	}{
		{name: "nothing selected", server: []server{{}}, do: []string{"plain"}, want: []string{plain}, status: 200},
		{name: "a change", server: []server{{applies: true}}, do: []string{"POST"}, want: []string{ask, post}, status: 200},
		{name: "asked once", server: []server{{applies: true}, {applies: true}}, do: []string{"POST", "POST"}, want: []string{ask, post, post}, status: 200},
		{name: "a read is an answer too", server: []server{{applies: true}, {applies: true}}, do: []string{"GET", "POST"}, want: []string{get, post}, status: 200},
		{name: "without the feature", server: []server{{}}, do: []string{"POST"}, want: []string{ask}, fails: true},
		{name: "asked again where the answer was no", server: []server{{}, {applies: true}}, do: []string{"POST", "POST"}, want: []string{ask, ask, post}, status: 200},
		{name: "a read without the feature", server: []server{{}}, do: []string{"GET"}, want: []string{get}, fails: true, sent: true},
		{name: "another server answers", server: []server{{applies: true}, {}}, do: []string{"POST", "POST"}, want: []string{ask, post, post}, fails: true, sent: true},
		{name: "and is remembered", server: []server{{applies: true}, {}, {}}, do: []string{"POST", "POST", "POST"}, want: []string{ask, post, post, ask}, fails: true},
		{name: "forbidden", server: []server{{applies: true, status: 403}}, do: []string{"POST"}, want: []string{ask, post}, status: 403},
		{name: "a bad selection", server: []server{{status: 400}}, do: []string{"GET"}, want: []string{get}, status: 400},
		{name: "a redirection", server: []server{{status: 302}}, do: []string{"GET"}, want: []string{get}, fails: true, sent: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &server{}
			ts := httptest.NewServer(s)
			defer ts.Close()
			rt := New(ts.Client().Transport)
			for i, method := range tc.do {
				s.applies, s.status = tc.server[i].applies, tc.server[i].status
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

// TestWhatCannotBeSent holds that a request with another selection, or an impossible one, is
// not sent.
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
	if err := send(selection.ClusterRole("view"), ""); err != nil || len(s.asked) != 1 {
		t.Errorf("error %v, sent: %q", err, s.asked)
	}
}
