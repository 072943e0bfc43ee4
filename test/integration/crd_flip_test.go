// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
)

const flipped = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: switches.flip.example.com}
spec:
  group: flip.example.com
  scope: Namespaced
  names: {plural: switches, singular: switch, kind: Switch, listKind: SwitchList}
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
            properties:
              n: {type: integer}
`

// excluding is the schema of a further field, trigger, with an excluded permission that the
// test's caller does not hold. Without this part of the schema, the server prunes the field.
const excluding = `              trigger: {type: boolean, x-kubernetes-permission-verb: flip.example.com/trigger, x-kubernetes-permission-excluded: true}
`

// TestCRDFlip adds the field trigger to a definition and removes it again, many times, while a
// caller writes objects with that field. The caller holds all verbs but the permission for the
// field. If the schema that decodes a request has the field, the server must also judge the
// request by that schema. Otherwise the field would be stored.
func TestCRDFlip(t *testing.T) {
	const path = "/apis/flip.example.com/v1/namespaces/default/switches"
	harness.Define(t, on, "switches.flip.example.com", flipped)
	harness.WaitServed(t, on, path)
	verbs := []string{"get", "create", "update", "patch"}
	rule := rbacv1.PolicyRule{APIGroups: []string{"flip.example.com"}, Resources: []string{"switches"}, Verbs: verbs}
	harness.Allow(t, harness.Administrator(t, on), "flipper", rule)

	for i := range 3 {
		body := fmt.Sprintf(`{"apiVersion":"flip.example.com/v1","kind":"Switch","metadata":{"name":"s%d"},"spec":{"n":-1}}`, i)
		harness.Until(t, "the role is known", func() bool {
			status, _, err := harness.Request(on, "flipper", http.MethodPost, path, harness.ContentTypes["json"], body)
			return err == nil && (status == http.StatusCreated || status == http.StatusConflict)
		})
	}
	var pruned, refused atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	for _, w := range []func(n int) (method, url, kind, body string){
		func(n int) (string, string, string, string) {
			return http.MethodPatch, path + "/s0", "merge", fmt.Sprintf(`{"spec":{"n":%d,"trigger":true}}`, n)
		},
		func(n int) (string, string, string, string) {
			return http.MethodPatch, path + "/s1?fieldManager=f&force=true", "apply",
				fmt.Sprintf(`{"apiVersion":"flip.example.com/v1","kind":"Switch","metadata":{"name":"s1"},"spec":{"n":%d,"trigger":true}}`, n)
		},
		func(n int) (string, string, string, string) {
			return http.MethodPatch, path + "/s2", "jsonpatch", fmt.Sprintf(`[{"op":"add","path":"/spec/trigger","value":true},{"op":"replace","path":"/spec/n","value":%d}]`, n)
		},
		func(n int) (string, string, string, string) {
			return http.MethodPost, path, "json",
				fmt.Sprintf(`{"apiVersion":"flip.example.com/v1","kind":"Switch","metadata":{"name":"new-%d"},"spec":{"trigger":true}}`, n)
		},
	} {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				method, url, kind, body := w(n)
				status, answer, err := harness.Request(on, "flipper", method, url, harness.ContentTypes[kind], body)
				switch {
				case err != nil || status == http.StatusConflict || status >= 500:
					// the server is replacing the handler of this resource
				case status == http.StatusForbidden && strings.Contains(answer, "flip.example.com/trigger"):
					refused.Add(1)
				case status >= 400:
					t.Errorf("%s %s: %d %s", method, url, status, answer)
					return
				case strings.Contains(answer, `"trigger"`):
					t.Errorf("the field was let through: %s", answer)
					return
				default:
					pruned.Add(1)
				}
			}
		})
	}
	for range 25 {
		was := refused.Load()
		harness.Define(t, on, "switches.flip.example.com", flipped+excluding)
		harness.Until(t, "the field is refused", func() bool { return refused.Load() > was+3 || t.Failed() })
		was = pruned.Load()
		harness.Define(t, on, "switches.flip.example.com", flipped)
		harness.Until(t, "the field is pruned", func() bool { return pruned.Load() > was+3 || t.Failed() })
	}
	harness.Define(t, on, "switches.flip.example.com", flipped+excluding)
	stop()
	writers.Wait()

	// The answer shows a stored trigger only while the schema has the field.
	harness.Until(t, "the field is refused in the end", func() bool {
		status, _, err := harness.Request(on, "flipper", http.MethodPatch, path+"/s0", harness.ContentTypes["merge"], `{"spec":{"trigger":true}}`)
		return err == nil && status == http.StatusForbidden
	})
	_, all, err := harness.Request(on, harness.Admin, http.MethodGet, path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all, `"trigger"`) {
		t.Error("the field was stored")
	}
	t.Logf("%d writes without the field, %d refused because of it", pruned.Load(), refused.Load())
}
