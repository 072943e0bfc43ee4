// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"net/http"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestGateOff checks that a server without the gate, such as an older one of several, answers a holder of
// readmetadata as it answers a caller without the verb. The shared server reads the same bindings.
func TestGateOff(t *testing.T) {
	makeSecret(t, "gate-off")
	allow(t, "gated", rule("", "secrets", "readmetadata"))
	off := harness.Start(t, "--demo=false", "--etcd-servers", endpoint)
	older := reader{harness.Connect(t, off, "admin"), "gated"}
	stranger := reader{older.Client, "gated-not"}
	harness.Until(t, "the server knows the binding", func() bool { return holds(t, older.Client, "gated") })
	for path, accept := range map[string]string{
		"/api/v1/namespaces/default/secrets":                           listed,
		"/api/v1/namespaces/default/secrets?limit=1":                   kubectl,
		"/api/v1/namespaces/default/secrets/gate-off":                  as1("application/json", "PartialObjectMetadata"),
		"/api/v1/namespaces/default/secrets?watch=1&timeoutSeconds=1":  as1("application/json", "PartialObjectMetadata"),
		"/api/v1/namespaces/default/secrets?fieldSelector=type%3Dx":    listed,
		"/api/v1/watch/namespaces/default/secrets?timeoutSeconds=1":    as1("application/json", "PartialObjectMetadata"),
		"/api/v1/namespaces/default/secrets/gate-off?resourceVersion=": kubectl,
	} {
		answer, other := older.get(t, path, accept), stranger.get(t, path, accept)
		if answer.Code != http.StatusForbidden || !bytes.Equal(answer.Body, bytes.ReplaceAll(other.Body, []byte("gated-not"), []byte("gated"))) {
			t.Errorf("%s: %v, and a stranger gets %v", path, answer, other)
		}
		if answer := as(t, "gated").get(t, path, accept); answer.Code == http.StatusForbidden {
			t.Errorf("%s, with the gate: %v", path, answer)
		}
	}
}

// holds reports whether a server says that a user holds readmetadata on Secrets.
func holds(t *testing.T, client *harness.Client, user string) bool {
	t.Helper()
	answer, err := client.Do(t.Context(), harness.Call{Method: http.MethodPost, Path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
		ContentType: "application/json", Body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"` + user + `",
			"resourceAttributes":{"verb":"readmetadata","resource":"secrets"}}}`})
	return err == nil && bytes.Contains(answer.Body, []byte(`"allowed":true`))
}
