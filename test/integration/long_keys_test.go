// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
)

// maxRefusal is the largest allowed size, in bytes, of a refusal and of our annotations in its
// audit event.
const maxRefusal = 4096

// longWidgets is a definition with a permission for each key of a map. The keys may be any
// strings.
const longWidgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lengths.long.example.com}
spec:
  group: long.example.com
  scope: Namespaced
  names: {plural: lengths, singular: length, kind: Length, listKind: LengthList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-permission-verb: specification
            properties:
              settings:
                type: object
                x-kubernetes-permission-verb: long.example.com/settings
                x-kubernetes-permission-parameter-source: setting
                additionalProperties:
                  type: object
                  x-kubernetes-permission-verb: long.example.com/setting
                  x-kubernetes-permission-parameterized-by: setting
                  x-kubernetes-preserve-unknown-fields: true
`

// TestLongKeys checks that refusals, and the verbs that an authorizer is asked about, stay
// small if the keys, paths and names in a request are very long.
//
// Attack: a condition's type, a label or a key of a map of 700 kB; a name of a user of 10 kB
// Answer: a 403 of at most 4 KiB, and the server asks for no such verb
// Was: got through
// Held by: TestLongAudit
func TestLongKeys(t *testing.T) {
	s := onStage(t)
	s.Install(t, []byte(longWidgets))
	const lengths = "/apis/long.example.com/v1/namespaces/default/lengths"
	s.MustSend(t, http.MethodPost, lengths, harness.ContentTypes["json"], `{"apiVersion":"long.example.com/v1","kind":"Length","metadata":{"name":"l"},"spec":{}}`)
	s.MustSend(t, http.MethodPost, "/apis/apps/v1/namespaces/default/deployments", harness.ContentTypes["json"],
		`{"metadata":{"name":"long"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	const status = "/apis/apps/v1/namespaces/default/deployments/long/status"
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	deep := strings.Repeat(`{"a\"€":`, 500) + "1" + strings.Repeat("}", 500)
	const long = 700_000
	for name, tc := range map[string]struct{ path, body, says string }{
		"a condition's type": {status,
			`{"status":{"conditions":[{"type":"` + strings.Repeat("T", long) + `","status":"True"}]}}`,
			`needs one of the verbs "granular:conditions", "granular:status"; the parameter "` + strings.Repeat("T", 64) + `..." is longer than the 256 bytes that a verb may have`},
		"a condition's type, characters": {status,
			`{"status":{"conditions":[{"type":"` + strings.Repeat("€", long/3) + `","status":"True"}]}}`,
			`the parameter "` + strings.Repeat("%E2%82%AC", 7) + `..." is longer`},
		"a condition's type, as long as it may be": {status,
			`{"status":{"conditions":[{"type":"` + strings.Repeat("T", 256) + `","status":"True"}]}}`,
			`needs one of the verbs "granular:condition(` + strings.Repeat("T", 256) + `)", "granular:status"`},
		"a key of a map": {lengths + "/l",
			`{"spec":{"settings":{"` + strings.Repeat("k", long) + `":{}}}}`,
			`needs one of the verbs "granular:long.example.com/settings", "granular:specification"; the parameter "kk`},
		"a key of a map, controls": {lengths + "/l",
			`{"spec":{"settings":{` + quoted(strings.Repeat("\x01", long/6)) + `:{}}}}`,
			`the parameter "` + strings.Repeat("%01", 21) + `..."`},
		"a field": {lengths + "/l",
			`{"spec":{"settings":{"k":{"` + strings.Repeat("f", long) + `":1}}}}`,
			`needs one of the verbs "granular:long.example.com/setting(k)", "granular:specification"`},
		"depth": {lengths + "/l", `{"spec":{"settings":{"k":` + deep + `}}}`,
			`needs one of the verbs "granular:long.example.com/setting(k)", "granular:specification"`},
		"an annotation's value": {lengths + "/l",
			`{"metadata":{"annotations":{"a":"` + strings.Repeat("v", long/3) + `"}}}`,
			`needs one of the verbs "granular:annotation(a)", "granular:metadata"`},
	} {
		for i, user := range []string{"long", strings.Repeat("long-", 2000)} {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				for _, verbs := range [][]string{{"granular"}, {"granular", "get"}} {
					caller := s.Callers.AddCaller(user, verbs...)
					got := s.Send(t, user, http.MethodPatch, tc.path+"?dryRun=All", harness.ContentTypes["merge"], tc.body)
					if got.Code != http.StatusForbidden || !strings.Contains(got.Message(), tc.says) || len(got.Body) > maxRefusal {
						t.Errorf("%d bytes: %.600s\nwanted %s", len(got.Body), got, tc.says)
					}
					for _, verb := range caller.Verbs() {
						if len(verb) > 600 {
							t.Errorf("asked a verb of %d bytes", len(verb))
						}
					}
				}
				s.Callers.AddCaller(user, "granular", "granular:metadata", "granular:specification", "granular:status")
				if got := s.Send(t, user, http.MethodPatch, tc.path+"?dryRun=All", harness.ContentTypes["merge"], tc.body); got.Code == http.StatusForbidden {
					t.Errorf("who holds the general permission: %.600s", got)
				}
			})
		}
	}
}

// TestLongAudit checks that our annotations in an audit event stay small: those of a refusal
// with a long parameter, and those of a write that many long permissions cover.
func TestLongAudit(t *testing.T) {
	var conditions, refused []string
	var verbs = []string{"granular"}
	for i := range 60 {
		condition := fmt.Sprintf("%03d%s", i, strings.Repeat("T", 253))
		conditions = append(conditions, `{"type":"`+condition+`","status":"True"}`)
		verbs = append(verbs, "granular:condition("+condition+")")
	}
	refused = append(refused, `{"type":"`+strings.Repeat("T", 100_000)+`","status":"True"}`)
	client := harness.Administrator(t, on)
	rule := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments/status"}, Verbs: verbs}
	harness.Allow(t, client, "long-audited", rule)
	harness.Create(t, client, "/apis/apps/v1/namespaces/default/deployments",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"long-audit"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	for name, tc := range map[string]struct {
		conditions []string
		status     int
	}{"covered": {conditions, http.StatusOK}, "refused": {refused, http.StatusForbidden}} {
		t.Run(name, func(t *testing.T) {
			path := "/apis/apps/v1/namespaces/default/deployments/long-audit/status?dryRun=All&fieldManager=long-" + name
			code, answer, err := harness.Request(on, "long-audited", http.MethodPatch, path, harness.ContentTypes["merge"], `{"status":{"conditions":[`+strings.Join(tc.conditions, ",")+`]}}`)
			if err != nil || code != tc.status {
				t.Fatalf("%d %.300s, %v", code, answer, err)
			}
			var got map[string]string
			harness.Until(t, "there is an audit event", func() bool {
				got = harness.Annotations(t, auditLog, path)
				return got != nil
			})
			size := 0
			for key, value := range got {
				if key != harness.ReasonAnnotation {
					size += len(key) + len(value)
				}
			}
			if size > maxRefusal || size < 100 {
				t.Errorf("%d bytes: %v", size, got)
			}
		})
	}
}
