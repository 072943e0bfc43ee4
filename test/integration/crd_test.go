// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestTriggerSelfDestruct tests story 2 of KEP-3617 on a custom resource with two versions:
// ordinary users must not set a certain field, and one group may.
func TestTriggerSelfDestruct(t *testing.T) {
	webhook := harness.ServeWebhook(t, renaming(map[string]string{
		"path": "route", "triggerSelfDestructOnSecurityBreach": "selfDestruct",
	}))
	text, err := os.ReadFile(filepath.Join("testdata", "crd", "robots.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	harness.Define(t, on, "robots.factory.example.com", strings.NewReplacer(
		"WEBHOOK_URL", webhook.URL, "WEBHOOK_CA", base64.StdEncoding.EncodeToString(harness.CABundle(webhook))).Replace(string(text)))
	harness.WaitServed(t, on, "/apis/factory.example.com/v1/robots")
	harness.WaitServed(t, on, "/apis/factory.example.com/v2/robots")
	harness.RunScripts(t, on, "trigger_self_destruct.txtar")
}

// TestCRDExtensions checks that the permission extensions of a definition survive changes of
// the definition, decide about requests, and are validated when they are written.
func TestCRDExtensions(t *testing.T) {
	harness.RunScripts(t, on, "crd_extensions.txtar")
}

// TestCRDScale checks that a caller can't change a field with an excluded permission through
// the scale subresource.
func TestCRDScale(t *testing.T) {
	harness.RunScripts(t, on, "crd_scale.txtar")
}

// renaming returns a conversion webhook that renames fields of spec between v1 and v2. names
// maps the names in v1 to those in v2.
func renaming(names map[string]string) http.Handler {
	back := map[string]string{}
	for v1, v2 := range names {
		back[v2] = v1
	}
	return harness.ConversionWebhook(func(object map[string]any, to string) {
		rename := names
		if to == "v1" {
			rename = back
		}
		if spec, ok := object["spec"].(map[string]any); ok {
			for from, to := range rename {
				if value, ok := spec[from]; ok {
					spec[to] = value
					delete(spec, from)
				}
			}
		}
	})
}
