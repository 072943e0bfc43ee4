// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestSubresources checks the subresources that change fields of an object and that the corpus
// has no scenarios for.
func TestSubresources(t *testing.T) {
	s := onStage(t)
	harness.PrepareCorpus(t, s)
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: sub}, spec: {automountServiceAccountToken: false, containers: [{name: a, image: one, resources: {requests: {cpu: 100m}}}]}}`
	tests := []struct {
		name, manifest, subresource, way, body, says string
		grants                                       []string
	}{
		{"resize", pod, "resize", "strategic", `{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"200m"}}}]}}`,
			`cannot change .spec.containers[name="a"].resources.requests[cpu] in namespace "default" through "pods/resize": needs one of the verbs "granular:resources", "granular:specification"`, []string{"granular:resources"}},
		{"resize with the general verb", pod, "resize", "merge", `{"spec":{"containers":[{"name":"a","image":"one","resources":{"requests":{"cpu":"300m"}}}]}}`,
			`through "pods/resize"`, []string{"granular:specification"}},
		{"an ephemeral container", pod, "ephemeralcontainers", "strategic", `{"spec":{"ephemeralContainers":[{"name":"debug","image":"two","terminationMessagePolicy":"File"}]}}`,
			`cannot change .spec.ephemeralContainers`, []string{"granular:specification"}},
		{"the labels of a pod through its status", pod, "status", "merge", `{"metadata":{"labels":{"a.example.com/x":"1"}},"status":{"message":"m"}}`,
			`cannot change .metadata.labels[a.example.com/x] in namespace "default" through "pods/status"`, []string{"granular:label(a.example.com)", "granular:status"}},
		{"the status of a pod beside its labels", pod, "status", "merge", `{"metadata":{"labels":{"a.example.com/x":"1"}},"status":{"message":"m"}}`,
			`cannot change .status.message in namespace "default" through "pods/status": needs the verb "granular:status"`, []string{"granular:status", "granular:label(a.example.com)"}},
		{"the taints of a node through its status are dropped", `{apiVersion: v1, kind: Node, metadata: {name: sub}}`, "status", "merge", `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]},"status":{"phase":"Running"}}`,
			`cannot change .status.phase through "nodes/status"`, []string{"granular:status"}},
		{"a namespace's finalizers", `{apiVersion: v1, kind: Namespace, metadata: {name: sub}}`, "finalize", "json", `{"spec":{"finalizers":["kubernetes","a.example.com/hold"]}}`,
			`through "namespaces/finalize"`, []string{"granular:specification"}},
		{"scale of a stateful set", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: sub}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: one}]}}}}`, "scale", "merge", `{"spec":{"replicas":7}}`,
			`cannot change .spec.replicas in namespace "default" through "statefulsets/scale": needs one of the verbs "granular:replicas", "granular:specification"`, []string{"granular:replicas"}},
		{"scale of a replica set", `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: sub}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: one}]}}}}`, "scale", "strategic", `{"spec":{"replicas":7}}`,
			`cannot change .spec.replicas in namespace "default" through "replicasets/scale"`, []string{"granular:replicas"}},
		{"scale of a replication controller", `{apiVersion: v1, kind: ReplicationController, metadata: {name: sub}, spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: one}]}}}}`, "scale", "jsonpatch", `[{"op":"replace","path":"/spec/replicas","value":7}]`,
			`cannot change .spec.replicas in namespace "default" through "replicationcontrollers/scale"`, []string{"granular:specification"}},
		{"approval of a certificate", signingRequest(t), "approval", "merge", `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"R","message":"M"}]}}`,
			`cannot change .status.conditions`, []string{"granular:condition(Approved)", "approve"}},
		{"approval of a certificate by who holds conditions", signingRequest(t), "approval", "strategic", `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"R","message":"M"}]}}`,
			`through "certificatesigningrequests/approval"`, []string{"granular:conditions", "approve"}},
		{"the status of a certificate", signingRequest(t), "status", "merge", `{"status":{"conditions":[{"type":"Failed","status":"True","reason":"R","message":"M"}]}}`,
			`through "certificatesigningrequests/status"`, []string{"granular:condition(Failed)", "sign"}},
		{"the secrets of a service account", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: sub}}`, "", "merge", `{"secrets":[{"name":"s"}]}`,
			`cannot change .secrets`, []string{"granular:mountableSecrets"}},
		{"whether a service account's token is mounted", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: sub}}`, "", "merge", `{"automountServiceAccountToken":false}`,
			`cannot change .automountServiceAccountToken`, []string{"granular:tokenMounting"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			path, live := s.CreateObject(t, tc.manifest)
			one, method, body := path, http.MethodPatch, tc.body
			if tc.subresource != "" {
				one += "/" + tc.subresource
			}
			if tc.way == "json" {
				method = http.MethodPut
				body = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},%s`, live["apiVersion"], live["kind"], harness.Metadata(t, live)["name"], body[1:])
			}
			before := harness.Metadata(t, live)["resourceVersion"]
			s.Twins(t, path, tc.says, append(tc.grants, "granular", "get"), func(user string) harness.Answer {
				return s.Send(t, user, method, one, harness.ContentTypes[tc.way], body)
			})
			if now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t); harness.Metadata(t, now)["resourceVersion"] == before {
				t.Error("nothing was stored")
			}
		})
	}
}

// signingRequest returns a CertificateSigningRequest with a valid request for a client
// certificate.
func signingRequest(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	request := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: sub}, spec: {signerName: example.com/signer, usages: [client auth], request: ` + request + `}}`
}
