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

// excluding adds a field to the schema that nobody may write, and that is pruned as
// long as it is not there.
const excluding = `              trigger: {type: boolean, x-kubernetes-permission-verb: flip.example.com/trigger, x-kubernetes-permission-excluded: true}
`

// TestCRDFlip changes a definition back and forth under concurrent writes of a caller
// who sends the field and holds all but its permission. Whenever the schema that a
// request is decoded with has the field, the request must be judged by it too: else
// the field gets stored.
func TestCRDFlip(t *testing.T) {
	const path = "/apis/flip.example.com/v1/namespaces/default/switches"
	define(t, on, "switches.flip.example.com", flipped)
	served(t, on, path)
	grant(t, on, "flipper", "flip.example.com", "switches", "get", "create", "update", "patch")

	var pruned, refused atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			name := fmt.Sprintf("s%d", i)
			for n := 0; ctx.Err() == nil; n++ {
				method, url, kind := http.MethodPatch, path+"/"+name, "merge"
				body := fmt.Sprintf(`{"spec":{"n":%d,"trigger":true}}`, n)
				switch {
				case n == 0:
					method, url, kind = http.MethodPost, path, "json"
					body = fmt.Sprintf(`{"apiVersion":"flip.example.com/v1","kind":"Switch","metadata":{"name":%q},"spec":{}}`, name)
				case i == 1:
					url, kind = url+"?fieldManager=f&force=true", "apply"
					body = fmt.Sprintf(`{"apiVersion":"flip.example.com/v1","kind":"Switch","metadata":{"name":%q},"spec":{"n":%d,"trigger":true}}`, name, n)
				case i == 2:
					method, kind = http.MethodPut, "json"
					body = fmt.Sprintf(`{"apiVersion":"flip.example.com/v1","kind":"Switch","metadata":{"name":%q},"spec":{"n":%d,"trigger":true}}`, name, n)
				case i == 3:
					method, url, kind = http.MethodPost, path, "json"
					body = fmt.Sprintf(`{"apiVersion":"flip.example.com/v1","kind":"Switch","metadata":{"name":"s3-%d"},"spec":{"trigger":true}}`, n)
				}
				status, answer, err := request(on, "flipper", method, url, contentTypes[kind], body)
				switch {
				case err != nil || status == http.StatusConflict || status >= 500:
					// the handler is being replaced, or another writer was first
				case status == http.StatusForbidden && strings.Contains(answer, "flip.example.com/trigger"):
					refused.Add(1)
				case status >= 400 && !(i == 2 && strings.Contains(answer, "resourceVersion")):
					t.Errorf("%s %s: %d %s", method, url, status, answer)
					return
				case strings.Contains(answer, `"trigger"`):
					t.Errorf("the field was let through: %s", answer)
					return
				case status < 300:
					pruned.Add(1)
				}
			}
		})
	}
	for range 25 {
		was := refused.Load()
		define(t, on, "switches.flip.example.com", flipped+excluding)
		until(t, "the field is refused", func() bool { return refused.Load() > was+3 || t.Failed() })
		was = pruned.Load()
		define(t, on, "switches.flip.example.com", flipped)
		until(t, "the field is pruned", func() bool { return pruned.Load() > was+3 || t.Failed() })
	}
	define(t, on, "switches.flip.example.com", flipped+excluding)
	stop()
	writers.Wait()

	// What is stored shows once the schema has the field.
	until(t, "the field is refused in the end", func() bool {
		status, _, err := request(on, "flipper", http.MethodPatch, path+"/s0", contentTypes["merge"], `{"spec":{"trigger":true}}`)
		return err == nil && status == http.StatusForbidden
	})
	_, all, err := request(on, admin, http.MethodGet, path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all, `"trigger"`) {
		t.Error("the field was stored")
	}
	t.Logf("%d writes without the field, %d refused because of it", pruned.Load(), refused.Load())
}
