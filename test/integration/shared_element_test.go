// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestSharedElementStaysHidden checks what a refusal reveals to a caller without get whose apply
// gives up fields of a list element that another manager owns as well. The element stays in the new
// object, although the caller's configuration does not name it.
//
// Attack: applying an empty configuration as another manager, to learn keys of elements that two managers own
// Answer: 403 that ends before the key
// Was: got through
func TestSharedElementStaysHidden(t *testing.T) {
	s := onStage(t)
	const ns = "shared-element"
	s.MustSend(t, http.MethodPost, "/api/v1/namespaces", harness.ContentTypes["json"], `{"metadata":{"name":"`+ns+`"}}`)
	web := "/apis/apps/v1/namespaces/" + ns + "/deployments/web"
	s.MustSend(t, http.MethodPost, strings.TrimSuffix(web, "/web"), harness.ContentTypes["json"],
		`{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	condition := func(more string) string {
		return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"status":{"conditions":[{"type":"Hidden","status":"True"` + more + `}]}}`
	}
	s.MustSend(t, http.MethodPatch, web+"/status?fieldManager=owner", harness.ContentTypes["apply"], condition(`,"message":"m"`))
	s.MustSend(t, http.MethodPatch, web+"/status?fieldManager=other", harness.ContentTypes["apply"], condition(""))
	s.LiveObject(t, web)
	s.Callers.AddCaller("element-blind", "granular")
	s.Callers.AddCaller("element-reader", "granular", "get")
	s.Callers.AddCaller("element-holder", "granular", "granular:condition(Hidden)")
	empty := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`
	for _, tc := range []struct {
		user, body, says string
		code             int
	}{
		{"element-blind", empty, `cannot change .status.conditions in namespace`, http.StatusForbidden},
		{"element-blind", condition(`,"reason":"R"`), `cannot change .status.conditions[type="Hidden"]`, http.StatusForbidden},
		{"element-reader", empty, `cannot change .status.conditions[type="Hidden"].message`, http.StatusForbidden},
		{"element-holder", empty, "", http.StatusOK},
	} {
		got := s.Send(t, tc.user, http.MethodPatch, web+"/status?dryRun=All&force=true&fieldManager=owner", harness.ContentTypes["apply"], tc.body)
		if got.Code != tc.code || !strings.Contains(got.Message(), tc.says) {
			t.Errorf("%s applies %s: %s, want %d %s", tc.user, tc.body, got, tc.code, tc.says)
		}
	}
}
