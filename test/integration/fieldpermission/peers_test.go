// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// many is the number of FieldPermissions that a server reads when it starts.
const many = 1000

// send sends a request to one of several servers, and returns the status. It ends the test if the request fails.
func send(t *testing.T, c *cluster.Cluster, user, method, path, contentType string, body any) int {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	code, answer, err := harness.Request(c, user, method, path, harness.ContentTypes[contentType], string(text))
	if err != nil || code >= 300 && code != http.StatusForbidden {
		t.Fatalf("%s %s: %d %s %v", method, path, code, answer, err)
	}
	return code
}

// TestPeersWithEntries holds for two servers on one etcd that a change is in force at once on the server that acknowledged it, on
// the other as soon as its watch delivers it, and at the first request of a server that starts later with a thousand
// FieldPermissions. It logs how long both take.
//
// Attack: writing a closed field through a server that has just started, or through another than the one that closed it
// Answer: 403 from the first request on, and as soon as the watch has delivered the change; the delay is measured
func TestPeersWithEntries(t *testing.T) {
	endpoint := etcd.Start(t)
	args := []string{"--demo=false", "--etcd-servers", endpoint, "--feature-gates", "FieldPermissions=true"}
	a := harness.Start(t, args...)
	start := time.Now()
	b := harness.Start(t, args...)
	t.Logf("a server without FieldPermissions is ready after %v", time.Since(start))
	text, err := os.ReadFile("testdata/applications.yaml")
	if err != nil {
		t.Fatal(err)
	}
	harness.Define(t, a, argo, string(text))
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	harness.WaitServed(t, a, collection)
	harness.WaitServed(t, b, collection)
	harness.Allow(t, harness.Administrator(t, a), "writer",
		rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"create", "get"}})
	refused := func(c *cluster.Cluster) bool {
		t.Helper()
		app := json.RawMessage(application("v1alpha1", "peer", `"project":"p","destination":{"server":"https://a"}`))
		return send(t, c, "writer", http.MethodPost, collection+"?dryRun=All", "json", app) == http.StatusForbidden
	}
	harness.Until(t, "the writer is known to the second server", func() bool { return !refused(b) })

	closing := object(argo, v1alpha1.ModeEnforce, "v1alpha1", excluded(".spec.destination", "argoproj.io/destination"))
	var lags []time.Duration
	for i := range 20 {
		send(t, a, "", http.MethodPost, fieldPermissions, "json", closing)
		start := time.Now()
		if !refused(a) {
			t.Fatalf("round %d: open on the server that has closed it", i)
		}
		harness.Until(t, "closed on the other server", func() bool { return refused(b) })
		lags = append(lags, time.Since(start))
		send(t, b, "", http.MethodDelete, fieldPermissions+"/"+argo, "", nil)
		if refused(b) {
			t.Fatalf("round %d: closed on the server that has opened it", i)
		}
		harness.Until(t, "open on the other server", func() bool { return !refused(a) })
	}
	slices.Sort(lags)
	t.Logf("closed on the other server after %v (median), %v (maximum), with the time of two requests", lags[len(lags)/2], lags[len(lags)-1])

	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	for i := range many {
		send(t, a, "", http.MethodPost, fieldPermissions, "json",
			object(fmt.Sprintf("r%d.example.com", i), v1alpha1.ModeEnforce, "v1", excluded(".spec.a", "example.com/a")))
	}
	t.Logf("%d FieldPermissions stored in %v", many, time.Since(start))
	send(t, a, "", http.MethodPost, fieldPermissions, "json", closing)
	start = time.Now()
	c := harness.Start(t, args...)
	if !refused(c) {
		t.Error("open on a server that has just started")
	}
	t.Logf("a server with %d FieldPermissions is ready after %v", many, time.Since(start))
	harness.WaitServed(t, c, "/readyz/poststarthook/kube-granular/authority")
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
}

// TestRecreatedDefinition holds that the entries are in force for a definition that was deleted and made again.
//
// Attack: deleting a definition and making it again opens its closed fields
// Answer: the FieldPermission stays, and is in force for whatever has the name
func TestRecreatedDefinition(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	server.MustSend(t, http.MethodDelete, harness.Definitions+"/"+argo, "", nil)
	harness.Until(t, "the definition is gone", func() bool {
		return server.Send(t, "", http.MethodGet, harness.Definitions+"/"+argo, "", nil).Code == http.StatusNotFound
	})
	define(t, server, "applications.yaml")
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	server.Twins(t, collection+"/again", "(excluded by FieldPermission "+argo+")", []string{destinationVerb, "create", "get"},
		func(user string) harness.Answer {
			return server.Send(t, user, http.MethodPost, collection, harness.ContentTypes["json"],
				application("v1alpha1", "again", `"project":"p","destination":{"server":"https://a"}`))
		})
}
