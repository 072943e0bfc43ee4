// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"kube-granular.dev/tenancy/internal/controller"
	"kube-granular.dev/tenancy/internal/names"
)

type recorded struct{ header http.Header }

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	r.header = req.Header
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestDelegator checks that requests are sent as the delegator of a tenant, and never as the
// controller itself, whose permissions must not be delegated.
func TestDelegator(t *testing.T) {
	r := &recorded{}
	send := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://x/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := controller.Delegator(r).RoundTrip(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	for name, ctx := range map[string]context.Context{"nobody": t.Context(), "a tenant without a name": controller.AsDelegator(t.Context(), "")} {
		if err := send(ctx); err == nil || r.header != nil {
			t.Errorf("%s: sent with %v, %v", name, r.header, err)
		}
	}
	if err := send(controller.AsDelegator(t.Context(), "team")); err != nil {
		t.Fatal(err)
	}
	if u, g := r.header["Impersonate-User"], r.header["Impersonate-Group"]; !slices.Equal(u, []string{"lnamespace:team-sudoers"}) || !slices.Equal(g, []string{"lnamespace:team-sudoers", "lnamespace:delegators"}) {
		t.Errorf("as %v of %v", u, g)
	}
	for user, tenant := range map[string]string{
		"lnamespace:team-sudoers": "team", "lnamespace:a-b-sudoers": "a-b", "team-sudoers": "", "lnamespace:team": "", "lnamespace:delegators": "", "": "",
	} {
		if got := names.DelegatorOf(user); got != tenant {
			t.Errorf("%s: %q", user, got)
		}
	}
}
