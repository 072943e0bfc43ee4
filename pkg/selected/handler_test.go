// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	apiserveraudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
)

const view = `{"authorityReference":{"kind":"ClusterRole","name":"view"}}`

var codecs = legacyscheme.Codecs

// TestKey holds that the patched API server and the API module use the same extra attribute for
// the selection.
func TestKey(t *testing.T) {
	if seam.Key != selection.ExtraKey {
		t.Error(seam.Key, selection.ExtraKey)
	}
}

func extra(values ...string) map[string][]string {
	return map[string][]string{selection.ExtraKey: values, "example.com/of": {"a"}}
}

// TestHandler checks which user a request has after the handler, and that the handler answers
// 400 to a selection that it can't accept.
func TestHandler(t *testing.T) {
	const other = `{"authorityReference":{"kind":"ClusterRole","name":"edit"}}`
	const long = `{ "apiVersion":"authorization.k8s.io/v1", "kind":"SelectedAuthority", "authorityReference":{"apiVersion":"rbac.authorization.k8s.io/v1","name":"view","kind":"ClusterRole"}}`
	groups := []string{"a", "system:masters", "b"}
	for _, tc := range []struct {
		name    string
		headers []string
		extra   map[string][]string
		// refused is a part of the error message, or empty if the request is passed on.
		refused string
	}{
		{name: "a header", headers: []string{view}},
		{name: "with what says nothing", headers: []string{long}},
		{name: "of a front proxy", extra: extra(view)},
		{name: "both the same", headers: []string{long}, extra: extra(view)},
		{name: "both, another", headers: []string{other}, extra: extra(view), refused: "another authority"},
		{name: "two headers", headers: []string{view, view}, refused: "there are 2 headers"},
		{name: "two in one", headers: []string{view + "," + view}, refused: "is not a SelectedAuthority"},
		{name: "an empty header", headers: []string{""}, refused: "is not a SelectedAuthority"},
		{name: "unknown field", headers: []string{`{"a":1}`}, refused: "unknown field"},
		{name: "longer than 1 KiB", headers: []string{view + strings.Repeat(" ", 1025-len(view))},
			refused: "longer than 1024"},
		{name: "a delegation",
			headers: []string{`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`},
			refused: "does not serve AuthorityDelegations"},
		{name: "a front proxy that says nothing", extra: extra(), refused: "has 0 values"},
		{name: "a front proxy that says two", extra: extra(view, view), refused: "has 2 values"},
		{name: "a front proxy that says nonsense", extra: extra("x"), refused: "is not a SelectedAuthority"},
		{name: "a front proxy that says a delegation",
			extra:   extra(`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`),
			refused: "does not serve AuthorityDelegations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			caller := &user.DefaultInfo{Name: "u", UID: "1", Groups: groups, Extra: tc.extra}
			var next *http.Request
			handler := Selection{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { next = req }), codecs)
			req := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
			req.Header[selection.Header] = tc.headers
			ctx := request.WithRequestInfo(request.WithUser(req.Context(), caller), &request.RequestInfo{})
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req.WithContext(ctx))
			if tc.refused != "" {
				if next != nil || w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tc.refused) || w.Header().Get(selection.Header) != "" {
					t.Errorf("went on %t, status %d: %s", next != nil, w.Code, w.Body)
				}
				return
			}
			if next == nil {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			got, _ := request.UserFrom(next.Context())
			wantExtra := map[string][]string{selection.ExtraKey: {view}}
			if tc.extra != nil {
				wantExtra["example.com/of"] = []string{"a"}
			}
			if got.GetName() != "u" || got.GetUID() != "1" || !reflect.DeepEqual(got.GetGroups(), []string{"a", "b"}) || !reflect.DeepEqual(got.GetExtra(), wantExtra) {
				t.Errorf("%+v", got)
			}
			if !reflect.DeepEqual(caller.Groups, []string{"a", "system:masters", "b"}) || !reflect.DeepEqual(caller.Extra, tc.extra) {
				t.Errorf("the user of the connection is now %+v", caller)
			}
			if WithoutSelection(got).GetExtra()[selection.ExtraKey] != nil || !reflect.DeepEqual(WithoutSelection(got).GetGroups(), groups) {
				t.Errorf("without a selection %+v", WithoutSelection(got))
			}
			if !reflect.DeepEqual(w.Header()[selection.Header], tc.headers) || len(next.Header[selection.Header]) > 0 {
				t.Errorf("repeated %q, sent on %q", w.Header()[selection.Header], next.Header[selection.Header])
			}
		})
	}
}

// TestSelectionTooLong checks that a selection is refused whose text as an extra attribute is longer than a server reads, also
// if the header is short enough, and that a request without a user is an error.
func TestSelectionTooLong(t *testing.T) {
	u := &user.DefaultInfo{Name: "u"}
	long := `{"authorityReference":{"kind":"ClusterRole","name":"` + strings.Repeat("<", 200) + `"}}`
	if got, err := userFrom([]string{long}, u); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "can't be applied") {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := UserOf(&user.DefaultInfo{Name: "u", Extra: extra(long)}); err == nil {
		t.Errorf("as an extra attribute: %v", got)
	}
	if got, err := userFrom([]string{view}, u); err != nil || got == nil {
		t.Errorf("the twin: %v, %v", got, err)
	}
	if got, err := userFrom([]string{view}, nil); !apierrors.IsInternalError(err) {
		t.Errorf("without a user: %v, %v", got, err)
	}
}

// TestExtraWithoutImpersonation checks that only a request that impersonates is looked at. The filter behind this one refuses
// extra attributes without a user.
func TestExtraWithoutImpersonation(t *testing.T) {
	went := false
	req := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	req.Header.Set("Impersonate-Extra-authority.kube-granular.dev%2Fselected", view)
	Selection{}.BeforeImpersonation(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { went = true }), codecs).
		ServeHTTP(httptest.NewRecorder(), req.WithContext(request.WithRequestInfo(req.Context(), &request.RequestInfo{})))
	if !went {
		t.Error("the request is refused")
	}
}

// TestDelegatorUnknownIsAnswered checks that a request is answered with 503, and served by nobody, if it is not known whether
// the delegator exists.
func TestDelegatorUnknownIsAnswered(t *testing.T) {
	x := delegation.NewIndex()
	x.Connect(delegation.Sources{Accounts: delegation.NewAccounts(func(string, string) types.UID { return "" },
		func(context.Context, string, string) (types.UID, error) { return "", errors.New("no answer") })})
	if err := x.ReflectorStore().Replace(nil, "0"); err != nil {
		t.Fatal(err)
	}
	x.Observe(byRobot("d", "1"), false)
	req := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	req.Header.Set(selection.Header, `{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`)
	ctx := request.WithRequestInfo(request.WithUser(req.Context(), &user.DefaultInfo{Name: "u"}), &request.RequestInfo{})
	w, went := httptest.NewRecorder(), false
	Selection{Delegations: x}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { went = true }), codecs).ServeHTTP(w, req.WithContext(ctx))
	if went || w.Code != http.StatusServiceUnavailable {
		t.Errorf("went on %t, status %d", went, w.Code)
	}
}

// TestReason checks which reasons are recorded in the audit event, and that a reason without a
// selection has no effect.
func TestReason(t *testing.T) {
	for name, tc := range map[string]struct {
		reasons  []string
		selected bool
		kept     string
		refused  string
	}{
		"one":              {reasons: []string{"TICKET-1, née"}, selected: true, kept: "TICKET-1, née"},
		"none":             {selected: true},
		"nothing selected": {reasons: []string{"a", "b"}},
		"two":              {reasons: []string{"a", "b"}, selected: true, refused: "there are 2 headers"},
		"an empty one":     {reasons: []string{""}, selected: true, refused: "must not be empty"},
		"a long one": {reasons: []string{strings.Repeat("x", 257)}, selected: true,
			refused: "longer than 256"},
		"one that forges a line": {reasons: []string{"a\nb"}, selected: true, refused: "printable characters"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := apiserveraudit.WithAuditContext(t.Context())
			if err := apiserveraudit.AuditContextFrom(ctx).Init(apiserveraudit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
				t.Fatal(err)
			}
			went := false
			handler := Selection{}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { went = true }), codecs)
			req := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
			req.Header[selection.ReasonHeader] = tc.reasons
			if tc.selected {
				req.Header.Set(selection.Header, view)
			}
			w := httptest.NewRecorder()
			ctx = request.WithRequestInfo(request.WithUser(ctx, &user.DefaultInfo{Name: "u"}), &request.RequestInfo{})
			handler.ServeHTTP(w, req.WithContext(ctx))
			if went != (tc.refused == "") || tc.refused != "" && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tc.refused)) {
				t.Errorf("went on %t, status %d: %s", went, w.Code, w.Body)
			}
			if kept, _ := apiserveraudit.AuditContextFrom(ctx).GetEventAnnotation(audit.ReasonAnnotation); kept != tc.kept {
				t.Errorf("kept %q", kept)
			}
		})
	}
}

// TestNothingSelected holds that the handlers pass on a request without a selection unchanged,
// and without an allocation.
func TestNothingSelected(t *testing.T) {
	var next *http.Request
	serve := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { next = req })
	handler := Selection{}.BeforeImpersonation(Selection{}.Handler(serve, codecs), codecs)
	req := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	req.Header.Set("Impersonate-User", "u")
	req = req.WithContext(request.WithUser(req.Context(), &user.DefaultInfo{Name: "u", Extra: map[string][]string{"a": {"b"}}}))
	w := httptest.NewRecorder()
	if n := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, req) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if next != req || len(w.Header()) > 0 {
		t.Error("the request was changed, or its response")
	}
}

// TestImpersonated holds that the extra attribute with the selection can't be impersonated,
// whatever the spelling of the header name.
func TestImpersonated(t *testing.T) {
	for name, refused := range map[string]bool{
		"Impersonate-Extra-authority.kube-granular.dev%2Fselected":   true,
		"Impersonate-Extra-AUTHORITY.kube-granular.dev%2fSELECTED":   true,
		"Impersonate-Extra-%61uthority.kube-granular.dev%2fselected": true,
		"Impersonate-Extra-Authority.kube-Granular.dev%2Fselecte":    false,
		"Impersonate-Extra-authority.kube-granular.dev%252Fselected": false,
		"Impersonate-Extra-example.com%2Fselected":                   false,
		"X-Remote-Extra-authority.kube-granular.dev%2Fselected":      false,
		"Impersonate-Extra-authority.kube-granular.dev%2Fselected%":  false,
	} {
		went := false
		handler := Selection{}.BeforeImpersonation(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { went = true }), codecs)
		req := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
		req.Header.Set("Impersonate-User", "u")
		req.Header.Set(name, view)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), &request.RequestInfo{})))
		if went == refused || refused && w.Code != http.StatusBadRequest {
			t.Errorf("%s: refused %t, status %d", name, !went, w.Code)
		}
	}
}

type tokens struct{ *authenticator.Response }

func (a tokens) AuthenticateToken(context.Context, string) (*authenticator.Response, bool, error) {
	return a.Response, true, nil
}

// TestAuthenticated holds that authenticators which are wrapped by Request or Token return no
// user with a selection.
func TestAuthenticated(t *testing.T) {
	identity := &user.DefaultInfo{Name: "u", UID: "1", Groups: []string{"g"}, Extra: extra(view)}
	plain := &user.DefaultInfo{Name: "u"}
	for _, of := range []user.Info{identity, plain} {
		response := &authenticator.Response{User: of, Audiences: authenticator.Audiences{"a"}}
		byRequest, ok, err := Selection{}.Request(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return response, true, nil })).AuthenticateRequest(nil)
		byToken, ok2, err2 := Selection{}.Token(tokens{response}).AuthenticateToken(t.Context(), "")
		for _, got := range []*authenticator.Response{byRequest, byToken} {
			if !ok || !ok2 || err != nil || err2 != nil || Selects(got.User) || got.User.GetName() != "u" || got.User.GetUID() != of.GetUID() || len(got.Audiences) != 1 {
				t.Errorf("%+v", got)
			}
			if of == user.Info(plain) && got != response {
				t.Error("a response without a selection was copied")
			}
			if of == user.Info(identity) && !reflect.DeepEqual(got.User.GetExtra(), map[string][]string{"example.com/of": {"a"}}) {
				t.Errorf("%+v", got.User)
			}
		}
	}
	if len(identity.Extra) != 2 {
		t.Error("the identity was changed, which may be in a cache")
	}
	failed := errors.New("no answer")
	if _, _, err := (Selection{}).Request(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return nil, false, failed })).AuthenticateRequest(nil); !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, _, err := (Selection{}).Token(authenticator.TokenFunc(func(context.Context, string) (*authenticator.Response, bool, error) { return nil, false, failed })).AuthenticateToken(t.Context(), ""); !errors.Is(err, failed) {
		t.Error(err)
	}
	if got, ok, err := (Selection{}).Token(tokens{}).AuthenticateToken(t.Context(), ""); got != nil || !ok || err != nil {
		t.Error(got, ok, err)
	}
}
