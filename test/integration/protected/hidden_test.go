// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"net/http"
	"strings"
	"testing"
)

// TestUpdateWithoutGet checks that a caller with update and without get learns no protected key
// that its request lacks.
//
// Attack: a dry run of an update without labels, by a caller with `update` and without `get`
// Answer: 403, or in mode Audit a warning, without the key
func TestUpdateWithoutGet(t *testing.T) {
	const ns = "update-only"
	namespace(t, ns)
	grant(t, "update-only", `[{"apiGroups":[""],"resources":["configmaps"],"verbs":["update"]}]`, "blind-updater")
	allowed(t, "blind-updater", "update", "", "configmaps")
	const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`
	must(t, "POST", where("NS/configmaps", ns), "", strings.Replace(body, `"c"`, `"c","labels":{"hidden.example.com/key-17":"x"}`, 1))
	for _, mode := range []string{"Enforce", "Audit"} {
		t.Run(mode, func(t *testing.T) {
			protect(t, "update-only-"+strings.ToLower(mode), `{"attributeKind":"Label","attributeName":"hidden.example.com/*","mode":"`+mode+`"}`)
			got := send(t, "blind-updater", "PUT", where("NS/configmaps/c", ns)+"?dryRun=All", "", body)
			said := string(got.Body) + strings.Join(got.Warnings(), " ")
			if (got.Code == http.StatusForbidden) != (mode == "Enforce") ||
				!strings.Contains(said, "the request does not name") || strings.Contains(said, "hidden.example.com") {
				t.Errorf("got %d %s", got.Code, said)
			}
		})
	}
}
