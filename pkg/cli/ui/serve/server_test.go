// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/pkg/cli/ui/answer"
	"kube-granular.dev/pkg/cli/ui/model"
)

// fixed answers all questions in the same way.
type fixed struct{ collected int }

func (f *fixed) Snapshot() ([]byte, error) { return []byte(`{"version":1}`), nil }
func (f *fixed) Refresh(context.Context) (*model.Snapshot, error) {
	f.collected++
	return &model.Snapshot{}, nil
}
func (f *fixed) Denials(context.Context) (*answer.Denials, error) { return &answer.Denials{}, nil }
func (f *fixed) Explain(context.Context, string) (*answer.Denials, error) {
	return nil, errors.New("no refusal in <script>")
}
func (f *fixed) Allowed(_ context.Context, asked *answer.Asked) (*answer.Allowed, error) {
	return &answer.Allowed{Note: asked.Text}, nil
}
func (f *fixed) Grant(*answer.Wish) (*model.Remedy, error) { return &model.Remedy{Name: "r"}, nil }

// start starts a server, and returns the host of its address.
func start(t *testing.T) (s *Server, host string, answers *fixed) {
	t.Helper()
	answers = &fixed{}
	ctx, stop := context.WithCancel(t.Context())
	s, err := Listen(ctx, "0", []byte("<p>the page"), "default-src 'none'", answers)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, s.listener.Addr().String(), answers
}

// request is a request to the server. Values of headers that are "-" remove the usual ones.
type request struct {
	method, path, body string
	header             map[string]string
	host               string
}

func send(t *testing.T, s *Server, r request, cookie bool) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, s.origin()+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.method == http.MethodPost {
		req.Header.Set("Origin", s.origin())
		req.Header.Set("Content-Type", "application/json")
	}
	if cookie {
		req.AddCookie(&http.Cookie{Name: cookieName, Value: s.session})
	}
	for name, value := range r.header {
		if req.Header.Set(name, value); value == "-" {
			req.Header.Del(name)
		}
	}
	if r.host != "" {
		req.Host = r.host
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestRequests holds which requests are answered.
//
// Attack: another page, another program of this machine, or a name that resolves to loopback asks the server
// Answer: the address of the server, the cookie, the secret folder and the origin must all be right
func TestRequests(t *testing.T) {
	s, host, _ := start(t)
	_, port, _ := strings.Cut(host, ":")
	folder := s.folder
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	for name, tc := range map[string]struct {
		request  request
		noCookie bool
		code     int
		has      string
	}{
		"the page":              {request{method: "GET", path: folder}, false, 200, "<p>the page"},
		"the snapshot":          {request{method: "GET", path: folder + "api/snapshot"}, false, 200, `{"version":1}`},
		"denials":               {request{method: "GET", path: folder + "api/denials"}, false, 200, `"denials"`},
		"a question":            {request{method: "POST", path: folder + "api/allowed", body: `{"text":"a: b"}`}, false, 200, `"note":"a: b"`},
		"a wish":                {request{method: "POST", path: folder + "api/grant", body: `{}`}, false, 200, `"name":"r"`},
		"an answer that is no":  {request{method: "POST", path: folder + "api/denial", body: `{"text":"x"}`}, false, 422, `{"error":"no refusal in \u003cscript\u003e"}`},
		"from its own page":     {request{method: "GET", path: folder + "api/snapshot", header: header("Sec-Fetch-Site", "same-origin")}, false, 200, ""},
		"from the address bar":  {request{method: "GET", path: folder, header: header("Sec-Fetch-Site", "none")}, false, 200, ""},
		"no cookie":             {request{method: "GET", path: folder}, true, 403, "error"},
		"no cookie, a snapshot": {request{method: "GET", path: folder + "api/snapshot"}, true, 403, "error"},
		"another cookie":        {request{method: "GET", path: folder, header: header("Cookie", cookieName+"=x")}, true, 403, "error"},
		"an empty cookie":       {request{method: "GET", path: folder, header: header("Cookie", cookieName+"=")}, true, 403, "error"},
		"without the folder":    {request{method: "GET", path: "/api/snapshot"}, false, 403, "error"},
		"another folder":        {request{method: "GET", path: "/" + strings.Repeat("A", len(folder)-2) + "/api/snapshot"}, false, 403, "error"},
		"a foreign origin":      {request{method: "GET", path: folder, header: header("Origin", "http://evil.example")}, false, 403, "another page"},
		"the origin null":       {request{method: "GET", path: folder, header: header("Origin", "null")}, false, 403, "another page"},
		"another port":          {request{method: "POST", path: folder + "api/grant", body: `{}`, header: header("Origin", "http://127.0.0.1:1")}, false, 403, "another page"},
		"https":                 {request{method: "POST", path: folder + "api/grant", body: `{}`, header: header("Origin", "https://"+host)}, false, 403, "another page"},
		"a question of nobody":  {request{method: "POST", path: folder + "api/grant", body: `{}`, header: header("Origin", "-")}, false, 403, "another page"},
		"from another site":     {request{method: "GET", path: folder, header: header("Sec-Fetch-Site", "cross-site")}, false, 403, "another page"},
		"from the same site":    {request{method: "GET", path: folder, header: header("Sec-Fetch-Site", "same-site")}, false, 403, "another page"},
		"another host":          {request{method: "GET", path: folder, host: "evil.example:" + port}, false, 421, "another server"},
		"localhost":             {request{method: "GET", path: folder, host: "localhost:" + port}, false, 421, "another server"},
		"another port's host":   {request{method: "GET", path: folder, host: "127.0.0.1:1"}, false, 421, "another server"},
		"a delete":              {request{method: "DELETE", path: folder}, false, 405, "only reads"},
		"a put":                 {request{method: "PUT", path: folder + "api/snapshot"}, false, 405, "only reads"},
		"options":               {request{method: "OPTIONS", path: folder + "api/snapshot"}, false, 405, "only reads"},
		"a post of the page":    {request{method: "POST", path: folder, body: `{}`}, false, 404, "no such part"},
		"a get of a question":   {request{method: "GET", path: folder + "api/grant"}, false, 404, "no such part"},
		"a form":                {request{method: "POST", path: folder + "api/grant", body: `{}`, header: header("Content-Type", "text/plain")}, false, 415, "application/json"},
		"no JSON":               {request{method: "POST", path: folder + "api/grant", body: `x`}, false, 400, "can't be read"},
		"an unknown part":       {request{method: "POST", path: folder + "api/grant", body: `{"apply":true}`}, false, 400, "can't be read"},
		"a large question":      {request{method: "POST", path: folder + "api/allowed", body: `{"text":"` + strings.Repeat("x", maxBody) + `"}`}, false, 413, "too large"},
	} {
		answer, text := send(t, s, tc.request, !tc.noCookie)
		if answer.StatusCode != tc.code || !strings.Contains(text, tc.has) {
			t.Errorf("%s: %d %.200s, want %d %s", name, answer.StatusCode, text, tc.code, tc.has)
		}
		for header, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Referrer-Policy": "no-referrer", "Access-Control-Allow-Origin": "",
		} {
			if got := answer.Header.Get(header); got != want {
				t.Errorf("%s: %s: %q", name, header, got)
			}
		}
		if kind := answer.Header.Get("Content-Type"); kind != jsonType && !(tc.request.path == folder && answer.StatusCode == 200) {
			t.Errorf("%s: %s", name, kind)
		}
	}
}

// TestToken holds that the token of the address gives the cookie once.
func TestToken(t *testing.T) {
	s, _, _ := start(t)
	token := strings.TrimPrefix(s.Address(), s.origin())
	for i, step := range []struct {
		name string
		path string
		code int
	}{
		{"no token", "/", 403}, {"an empty token", "/?token=", 403}, {"a wrong token", "/?token=wrong", 403}, {"the token", token, 303},
		{"the token again", token, 403}, {"an empty token, when it is used", "/?token=", 403}, {"no token, when it is used", "/", 403},
	} {
		answer, _ := send(t, s, request{method: "GET", path: step.path}, false)
		cookies := answer.Cookies()
		if answer.StatusCode != step.code || (len(cookies) > 0) != (step.code == 303) {
			t.Errorf("step %d, %s: %d %v", i, step.name, answer.StatusCode, cookies)
		}
		if len(cookies) == 0 {
			continue
		}
		c := cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != s.folder || c.Domain != "" || answer.Header.Get("Location") != s.folder {
			t.Errorf("%+v to %s", c, answer.Header.Get("Location"))
		}
	}
	foreign := request{method: "GET", path: token, header: map[string]string{"Origin": "http://evil.example"}}
	if answer, _ := send(t, s, foreign, false); answer.StatusCode != 403 {
		t.Error(answer.StatusCode)
	}
}

// TestRefresh holds that only a POST collects anew.
func TestRefresh(t *testing.T) {
	s, _, answers := start(t)
	send(t, s, request{method: "GET", path: s.folder + "api/snapshot"}, true)
	if answers.collected != 0 {
		t.Error("a GET collects")
	}
	answer, text := send(t, s, request{method: "POST", path: s.folder + "api/snapshot", body: "{}"}, true)
	if answers.collected != 1 || answer.StatusCode != 200 || text != `{"version":1}` {
		t.Errorf("%d %d %s", answers.collected, answer.StatusCode, text)
	}
}

// TestLoopback holds that the server listens on loopback alone.
func TestLoopback(t *testing.T) {
	s, host, _ := start(t)
	if !strings.HasPrefix(host, "127.0.0.1:") || !strings.HasPrefix(s.Address(), "http://127.0.0.1:") {
		t.Error(host)
	}
	if _, err := Listen(t.Context(), "x", nil, "", nil); err == nil {
		t.Error("a port that is none")
	}
}
