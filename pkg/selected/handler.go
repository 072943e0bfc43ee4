// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/audit"
)

// Handler returns a handler that reads the selection of a request, and passes the request on to
// next with a *User as its user. A request without a selection is passed on unchanged. The handler
// does not check whether the selected authority exists and belongs to the caller. The authorizer
// does.
func (sel Selection) Handler(next http.Handler, s runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		values := req.Header[selection.Header]
		caller, _ := request.UserFrom(req.Context())
		bound := sel.Bound.of(caller)
		if len(values) == 0 && bound == nil && !Selects(caller) {
			next.ServeHTTP(w, req)
			return
		}
		selecting, err := userFrom(values, caller)
		if err == nil && bound != nil {
			selecting, err = sel.underBinding(req, bound, selecting, caller)
		}
		if err == nil {
			err = sel.checkServed(selecting)
		}
		var reason string
		if err == nil {
			reason, err = reasonFrom(req.Header[selection.ReasonHeader])
		}
		if err != nil {
			responsewriters.RespondWithError(w, req, err, s)
			return
		}
		var repeated string
		if len(values) > 0 {
			repeated = values[0]
			w.Header().Set(selection.Header, repeated)
			// An aggregated API server gets the selection as an extra attribute of the user
			// instead.
			req.Header.Del(selection.Header)
		}
		ctx := request.WithUser(req.Context(), selecting)
		audit.Selected(ctx, selecting.auditText())
		if reason != "" {
			audit.Reason(ctx, reason)
		}
		var ended context.Context // of a delegation; a role has no end
		if selecting.SelectsDelegation() {
			chain, err := sel.auditChain(ctx, selecting)
			if err != nil {
				responsewriters.RespondWithError(w, req, err, s)
				return
			}
			ctx = requireConditions(ctx, chain)
			defer reportResult(ctx, selecting)
			var cancel context.CancelFunc
			ctx, cancel = sel.untilRevoked(ctx, selecting, httpstream.IsUpgradeRequest(req))
			defer cancel()
			ended = ctx
		}
		next.ServeHTTP(onUpgrade(ended, repeated, w, req), req.WithContext(ctx))
	})
}

// reasonFrom returns why the caller selects the authority: the value of the header ReasonHeader,
// or an empty string without that header.
func reasonFrom(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", apierrors.NewBadRequest(fmt.Sprintf("there are %d headers %s, at most one is allowed", len(values), selection.ReasonHeader))
	}
	if err := selection.CheckReason(values[0]); err != nil {
		return "", apierrors.NewBadRequest(fmt.Sprintf("the header %s is not valid: %v", selection.ReasonHeader, err))
	}
	return values[0], nil
}

// userFrom returns the caller with the selection of the request. The selection comes from values,
// the headers Authority-Selector, or from an extra attribute of the caller, which a front proxy
// sends after it has read the header. If a request has both, both must select the same authority.
func userFrom(values []string, caller user.Info) (*User, error) {
	if caller == nil {
		return nil, apierrors.NewInternalError(errors.New("no user found for request"))
	}
	var fromProxy *User
	if Selects(caller) {
		var err error
		if fromProxy, err = UserOf(caller); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	switch len(values) {
	case 0:
		return fromProxy, nil
	case 1:
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("there are %d headers %s, at most one is allowed", len(values), selection.Header))
	}
	selected, err := selection.Parse(values[0])
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the header %s is not a SelectedAuthority: %v", selection.Header, err))
	}
	u, err := newUser(caller, selected)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the header %s can't be applied: %v", selection.Header, err))
	}
	if fromProxy != nil && fromProxy.reference != u.reference {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the header %s selects another authority than the extra attribute %s of the user",
			selection.Header, selection.ExtraKey))
	}
	return u, nil
}

// BeforeImpersonation returns a handler that refuses a request if the user to impersonate has a
// selection. If the handler ignored that selection, the request could do more than its sender asked
// for. It also refuses a request of a bound service account that impersonates anybody.
func (sel Selection) BeforeImpersonation(next http.Handler, s runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if len(req.Header[authenticationv1.ImpersonateUserHeader]) > 0 && impersonatesSelection(req.Header) {
			responsewriters.RespondWithError(w, req,
				apierrors.NewBadRequest(fmt.Sprintf(
					"the extra attribute %s can't be impersonated; use the header %s to select for the impersonated user",
					selection.ExtraKey, selection.Header)), s)
			return
		}
		if err := sel.checkImpersonator(req); err != nil {
			responsewriters.RespondWithError(w, req, err, s)
			return
		}
		next.ServeHTTP(w, sel.withImpersonator(req))
	})
}

// impersonatesSelection reports whether a header gives the impersonated user the extra attribute
// that holds a selection. It decodes header names as upstream's impersonation filter does. That
// filter itself refuses a request with extra attributes but no user to impersonate.
func impersonatesSelection(headers http.Header) bool {
	for name := range headers {
		encoded, ok := strings.CutPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !ok {
			continue
		}
		key := strings.ToLower(encoded)
		if decoded, err := url.PathUnescape(key); err == nil {
			key = decoded
		}
		if key == selection.ExtraKey {
			return true
		}
	}
	return false
}
