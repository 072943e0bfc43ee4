// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"kube-granular.dev/pkg/cli/ui/answer"
	"kube-granular.dev/pkg/cli/ui/model"
)

// Answers are what the page asks for.
type Answers interface {
	Snapshot() ([]byte, error)
	Refresh(context.Context) (*model.Snapshot, error)
	Denials(context.Context) (*answer.Denials, error)
	Explain(ctx context.Context, text string) (*answer.Denials, error)
	Allowed(context.Context, *answer.Asked) (*answer.Allowed, error)
	Grant(*answer.Wish) (*model.Remedy, error)
}

// Server serves one page.
type Server struct {
	document []byte
	policy   string
	answers  Answers
	listener net.Listener
	// folder is the secret path below which everything is, and session is the value of the cookie.
	folder, session string

	mu sync.Mutex
	// token is "" once it was used.
	token string
}

// The limits of requests.
const (
	maxBody    = 1 << 20
	maxHeader  = 1 << 16
	headerTime = 5 * time.Second
	bodyTime   = 30 * time.Second
	// answerTime is how long an answer may take, such as collecting a large cluster anew.
	answerTime = 5 * time.Minute
	idleTime   = 2 * time.Minute
	// closeTime is how long answers may take that are not complete when the server ends.
	closeTime = time.Second
)

const cookieName = "kube-granular-ui"

// Listen returns a server on loopback. The port 0 stands for a free one.
func Listen(ctx context.Context, port string, document []byte, policy string, answers Answers) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	return &Server{
		document: document, policy: policy + "; frame-ancestors 'none'", answers: answers, listener: listener,
		folder: "/" + rand.Text() + "/", session: rand.Text(), token: rand.Text(),
	}, nil
}

// Address returns the address that opens the page. It works once.
func (s *Server) Address() string { return s.origin() + "/?token=" + s.token }

func (s *Server) origin() string { return "http://" + s.listener.Addr().String() }

// Serve serves until the context ends.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header(), s.policy)
	switch code, why := s.admit(r); {
	case code == http.StatusMethodNotAllowed:
		w.Header().Set("Allow", "GET, POST")
		refuse(w, code, why)
	case code != 0:
		refuse(w, code, why)
	case r.URL.Path == "/":
		s.exchange(w, r)
	case !s.hasSession(r):
		refuse(w, http.StatusForbidden, "open the address that kubectl granular ui printed")
	default:
		s.answer(w, r, strings.TrimPrefix(r.URL.Path, s.folder))
	}
}

// admit returns why a request is refused whoever sends it, or 0.
func (s *Server) admit(r *http.Request) (code int, why string) {
	switch origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"); {
	case r.Host != s.listener.Addr().String():
		return http.StatusMisdirectedRequest, "the request names another server"
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "the page only reads"
	case origin != "" && origin != s.origin(), origin == "" && r.Method == http.MethodPost:
		return http.StatusForbidden, "the request comes from another page"
	case site != "" && site != "same-origin" && !(site == "none" && r.Method == http.MethodGet):
		return http.StatusForbidden, "the request comes from another page"
	}
	return 0, ""
}

// exchange exchanges the token for the cookie, once.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		refuse(w, http.StatusMethodNotAllowed, "the address is only read")
		return
	}
	if !s.spend(r.URL.Query().Get("token")) {
		refuse(w, http.StatusForbidden, "the address works once: go back to its tab, or start kubectl granular ui again")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.session, Path: s.folder, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Location", s.folder)
	w.WriteHeader(http.StatusSeeOther)
}

// spend reports whether a text is the token, and makes it worthless.
func (s *Server) spend(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !equal(text, s.token) {
		return false
	}
	s.token = ""
	return true
}

// hasSession reports whether a request has the cookie, below the folder.
func (s *Server) hasSession(r *http.Request) bool {
	if len(r.URL.Path) < len(s.folder) || !equal(r.URL.Path[:len(s.folder)], s.folder) {
		return false
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && equal(cookie.Value, s.session)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// secure sets the headers of every answer.
func secure(h http.Header, policy string) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Cache-Control":                "no-store",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		h.Set(name, value)
	}
}
