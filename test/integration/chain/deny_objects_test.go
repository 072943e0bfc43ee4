// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// deniables is the path of the objects of the custom resource that custom installs.
const deniables = "/apis/deny.example.com/v1/namespaces/default/deniables"

// custom installs a custom resource with the subresources status and scale, and creates an
// object named x.
func custom(t *testing.T) {
	t.Helper()
	harness.Define(t, on, "deniables.deny.example.com", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"deniables.deny.example.com"},
"spec":{"group":"deny.example.com","scope":"Namespaced","names":{"plural":"deniables","kind":"Deniable"},"versions":[{
  "name":"v1","served":true,"storage":true,
  "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
  "schema":{"openAPIV3Schema":{"type":"object","properties":{
    "spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{"replicas":{"type":"integer"}}},
    "status":{"type":"object","x-kubernetes-permission-verb":"status","properties":{"replicas":{"type":"integer"},"told":{"type":"string"}}}}}}}]}}`)
	harness.WaitServed(t, on, deniables)
	must(t, http.MethodPatch, deniables+"/x?fieldManager=test&force=true", "apply",
		`{"apiVersion":"deny.example.com/v1","kind":"Deniable","metadata":{"name":"x"},"spec":{"replicas":1}}`)
}

// signingRequest creates a CertificateSigningRequest and returns its path.
func signingRequest(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	must(t, http.MethodPost, requests, "json", `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"`+name+`"},
"spec":{"signerName":"example.com/any","usages":["client auth"],"request":`+string(encoded)+`}}`)
	return requests + "/" + name
}

// TestDenyIsFinalForObjects checks that a Deny for the verb of a request is final, and that the
// object stays unchanged. The twin, the same request by a user whom the webhook does not deny,
// changes the object.
//
// Attack: single fields of an existing object, while a webhook denies create, update and patch
// Answer: 403, the webhook's reason; the object is unchanged
func TestDenyIsFinalForObjects(t *testing.T) {
	custom(t)
	const apps, core = "/apis/apps/v1/namespaces/default/", "/api/v1/namespaces/default/"
	const scale = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"OBJECT","namespace":"default"},"spec":{"replicas":NUMBER}}`
	config, spaced := made(t, "default"), namespace(t)
	object := func(kind, name, rest string) string {
		return `{"apiVersion":"` + kind[:strings.LastIndex(kind, "/")] + `","kind":"` + kind[strings.LastIndex(kind, "/")+1:] +
			`","metadata":{"name":"` + name + `"},` + rest + `}`
	}
	must(t, http.MethodPost, core+"serviceaccounts", "json", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`)
	must(t, http.MethodPost, core+"pods", "json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"denied"},"spec":{
"automountServiceAccountToken":false,"containers":[{"name":"a","image":"a","resources":{"requests":{"cpu":"1"}}}]}}`)
	must(t, http.MethodPost, "/api/v1/nodes", "json", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"denied"}}`)
	name := config[strings.LastIndex(config, "/")+1:]
	const manager = "?fieldManager=m&force=true"
	cases := []struct{ verb, url, contentType, body string }{
		{"create", core + "configmaps", "json", object("v1/ConfigMap", "made-VALUE", `"data":{}`)},
		{"create", core + "configmaps?fieldManager=m", "json",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"}}`},
		{"create", deniables, "json", object("deny.example.com/v1/Deniable", "made-VALUE", `"spec":{"replicas":1}`)},
		{"update", config, "json", object("v1/ConfigMap", name, `"data":{"a":"VALUE"}`)},
		{"patch", config, "merge", `{"data":{"merge":"VALUE"}}`},
		{"patch", config, "strategic", `{"data":{"strategic":"VALUE"}}`},
		{"patch", config, "jsonpatch", `[{"op":"add","path":"/metadata/labels","value":{"json":"VALUE"}}]`},
		{"patch", config + manager, "apply", object("v1/ConfigMap", name, `"data":{"apply":"VALUE"}`)},
		{"update", apps + "deployments/web/scale", "json", strings.Replace(scale, "OBJECT", "web", 1)},
		{"patch", apps + "deployments/web/scale", "merge", `{"spec":{"replicas":NUMBER}}`},
		{"patch", apps + "deployments/web/scale", "jsonpatch",
			`[{"op":"replace","path":"/spec/replicas","value":NUMBER}]`},
		{"patch", apps + "deployments/web/scale" + manager, "apply", strings.Replace(scale, "OBJECT", "web", 1)},
		{"patch", apps + "deployments/web/status", "merge",
			`{"status":{"conditions":[{"type":"VALUE","status":"True"}]}}`},
		{"patch", apps + "deployments/web/status", "strategic",
			`{"status":{"conditions":[{"type":"VALUE","status":"True"}]}}`},
		{"patch", apps + "deployments/web/status" + manager, "apply",
			object("apps/v1/Deployment", "web", `"status":{"conditions":[{"type":"VALUE","status":"True"}]}`)},
		{"patch", core + "pods/denied/status", "merge", `{"status":{"message":"VALUE"}}`},
		{"patch", core + "pods/denied/ephemeralcontainers", "strategic",
			`{"spec":{"ephemeralContainers":[{"name":"e-NUMBER","image":"i"}]}}`},
		{"patch", core + "pods/denied/resize", "strategic",
			`{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"NUMBERm"}}}]}}`},
		{"patch", "/api/v1/nodes/denied/status", "strategic",
			`{"status":{"conditions":[{"type":"VALUE","status":"True"}]}}`},
		{"patch", "/api/v1/namespaces/" + spaced + "/status", "merge",
			`{"status":{"conditions":[{"type":"VALUE","status":"True","message":"m","reason":"R","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`},
		{"update", "/api/v1/namespaces/" + spaced + "/finalize", "json",
			object("v1/Namespace", spaced, `"spec":{"finalizers":["kubernetes","example.com/VALUE"]}`)},
		{"patch", signingRequest(t, "denied-status") + "/status", "merge",
			`{"status":{"conditions":[{"type":"Failed","status":"True","message":"VALUE","reason":"R"}]}}`},
		{"patch", signingRequest(t, "denied-approval") + "/approval", "merge",
			`{"status":{"conditions":[{"type":"Approved","status":"True","message":"VALUE","reason":"R"}]}}`},
		{"patch", harness.Definitions + "/deniables.deny.example.com/status", "jsonpatch",
			`[{"op":"add","path":"/status/conditions/-","value":{"type":"VALUE","status":"True","message":"m","reason":"R"}}]`},
		{"patch", deniables + "/x", "merge", `{"spec":{"replicas":NUMBER}}`},
		{"patch", deniables + "/x" + manager, "apply",
			object("deny.example.com/v1/Deniable", "x", `"spec":{"replicas":NUMBER}`)},
		{"patch", deniables + "/x/status", "merge", `{"status":{"told":"VALUE"}}`},
		{"patch", deniables + "/x/scale", "merge", `{"spec":{"replicas":NUMBER}}`},
		{"update", deniables + "/x/scale", "json", strings.Replace(scale, "OBJECT", "x", 1)},
	}
	for _, f := range filters {
		t.Run(f.name, func(t *testing.T) {
			asked := &asking{}
			no := newHook(t, asked, "no", `deny: [`+f.policy+`users: [denied], reason: no write at all}]`)
			all := newHook(t, asked, "all", everyField)
			use(t, no.in(settings{match: f.match}), node, rbac, all.in(settings{match: []string{aboutObjects}}))
			for _, tc := range cases {
				path, _, _ := strings.Cut(tc.url, "?")
				t.Run(tc.verb+" "+tc.contentType+" "+path, func(t *testing.T) {
					n := harness.Unique()
					body := strings.NewReplacer("VALUE", fmt.Sprintf("v%d", n), "NUMBER", fmt.Sprint(10+n%1000)).Replace(tc.body)
					if strings.HasSuffix(path, "/approval") && f.name != filters[0].name {
						t.Skip("a request for a certificate is approved once")
					}
					before := stored(t, path)
					asked.forget()
					expect(t, send(t, denied, methods[tc.verb], tc.url, tc.contentType, body), 403, "no write at all")
					equal(t, "the denied", asked.verbs(denied), []string{"no " + tc.verb})
					if after := stored(t, path); !reflect.DeepEqual(before, after) {
						t.Errorf("it was refused and stored: %v, then %v", before, after)
					}
					if a := send(t, free, methods[tc.verb], tc.url, tc.contentType, body); a.Code >= 300 {
						t.Errorf("the twin: %s", a)
					}
					if after := stored(t, path); reflect.DeepEqual(before, after) {
						t.Errorf("the twin changed nothing: %v", after)
					}
				})
			}
		})
	}
}

// stored returns a value that changes whenever an object changes: its resourceVersion, or the
// number of objects in a collection.
func stored(t *testing.T, path string) any {
	t.Helper()
	now := must(t, http.MethodGet, strings.TrimSuffix(path, "/finalize"), "", "").Object(t)
	if items, ok := now["items"].([]any); ok {
		return len(items)
	}
	return harness.ValueAt(now, "metadata", "resourceVersion")
}
