// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRevoked checks that a deleted delegation allows nothing once its deletion was answered,
// even if a finalizer keeps the object.
//
// Attack: a finalizer keeps a deleted delegation
// Answer: 403
//
// Attack: a new namespace with the name of one that a delegation was made for
// Answer: 403
func TestRevoked(t *testing.T) {
	n, _ := stage(t, configMaps)
	for name, finalizer := range map[string]string{"deleted": "", "kept": `,"finalizers":["example.com/wait"]`} {
		d := "rev-" + name + "-" + n
		body := delegation{scope: n, rules: configMaps}.body(d)
		body = body[:len(`{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"AuthorityDelegation","metadata":{"name":"`+d+`"`)] + finalizer + body[len(`{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"AuthorityDelegation","metadata":{"name":"`+d+`"`):]
		request{as: "alice", method: "POST", path: delegations, body: body}.want(t, 201)
		request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 200)
		request{as: "root", method: "DELETE", path: delegations + "/" + d}.want(t, 200)
		request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 403)
		if finalizer != "" {
			request{as: "root", method: "PATCH", path: delegations + "/" + d,
				contentType: "application/merge-patch+json", body: `{"metadata":{"finalizers":null}}`}.want(t, 200)
		}
		request{as: "root", method: "GET", path: delegations + "/" + d}.want(t, 404)
	}
	d := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	request{as: "root", method: "DELETE", path: "/api/v1/namespaces/" + n}.want(t, 200)
	request{as: "root", method: "PUT", path: "/api/v1/namespaces/" + n + "/finalize",
		body: `{"metadata":{"name":"` + n + `"},"spec":{"finalizers":[]}}`}.want(t, 200)
	request{as: "root", method: "GET", path: "/api/v1/namespaces/" + n}.eventually(t, 404)
	apply(t, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, n))
	request{as: "alice", method: "GET", path: maps(n)}.want(t, 200) // the bindings of the old namespace still exist
	request{as: "bot", method: "GET", path: maps(n), under: d}.eventually(t, 403)
}

// TestExpired checks that a delegation allows nothing after its expirationTimestamp.
func TestExpired(t *testing.T) {
	n, _ := stage(t, configMaps)
	until := time.Now().Add(3 * time.Second).UTC().Format(time.RFC3339)
	d := delegation{scope: n, rules: configMaps, more: `,"expirationTimestamp":"` + until + `"`}.by(t, "alice", "")
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(n), under: d}.eventually(t, 403)
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 403, "expired")
}

// TestRevokedUnderLoad deletes a delegation while many clients create and patch objects under
// it. After the answer to the deletion, nothing more may be stored under the delegation.
//
// Attack: writes that were authorized before a delegation was deleted and are stored after
// Answer: 0 of them
func TestRevokedUnderLoad(t *testing.T) {
	n, _ := stage(t, configMaps)
	apply(t, maps(n), `{"metadata":{"name":"shared"},"data":{}}`)
	for round := range 5 {
		d := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
		var written, refused atomic.Int64
		stop := make(chan struct{})
		var all sync.WaitGroup
		for writer := range 16 {
			all.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					r := request{as: "bot", method: "POST", path: maps(n), under: d,
						body: fmt.Sprintf(`{"metadata":{"name":"c-%d-%d-%d"}}`, round, writer, i)}
					if writer%2 == 0 {
						r = request{as: "bot", method: "PATCH", path: maps(n) + "/shared", under: d,
							contentType: "application/merge-patch+json",
							body:        fmt.Sprintf(`{"data":{"k":"%d-%d-%d"}}`, round, writer, i)}
					}
					got, err := r.do(t.Context())
					switch {
					case err != nil:
						t.Error(err)
						return
					case got.status < 300:
						written.Add(1)
					case got.status == http.StatusForbidden:
						refused.Add(1)
					case got.status != http.StatusConflict:
						t.Errorf("%s", got)
					}
				}
			})
		}
		for deadline := time.Now().Add(time.Minute); written.Load() < 50; {
			if time.Now().After(deadline) {
				close(stop)
				t.Fatal("too few writes were let through")
			}
			time.Sleep(time.Millisecond)
		}
		request{as: "root", method: "DELETE", path: delegations + "/" + d}.want(t, 200)
		before := version(t, n)
		for at := refused.Load(); refused.Load() < at+64; {
			time.Sleep(time.Millisecond)
		}
		close(stop)
		all.Wait()
		if after := version(t, n); after != before {
			t.Fatalf("round %d: something was stored after the delegation was deleted:\n%.200s\n%.200s", round, before, after)
		}
		t.Logf("round %d: %d written, %d refused", round, written.Load(), refused.Load())
	}
}

// version returns the names and resource versions of the ConfigMaps of a namespace.
func version(t *testing.T, namespace string) string {
	t.Helper()
	got := request{as: "root", method: "GET", path: maps(namespace),
		header: http.Header{"Accept": {"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}}}.want(t, 200)
	return versions(t, got.body)
}

func versions(t *testing.T, body string) string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name, ResourceVersion string }
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list.Items)
}
