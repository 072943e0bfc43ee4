// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

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
)

// TestEscalation checks that a caller that selects a role can't grant more than that role
// allows, when it creates or changes roles and bindings. Without the selection, each of these
// requests succeeds.
//
// Attack: creating or changing a role, a binding or an aggregation rule so that it exceeds the selected rules
// Answer: 403
func TestEscalation(t *testing.T) {
	const writes = `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings","clusterroles","clusterrolebindings"],"verbs":["create","update","get"]}`
	const pods, secrets = `{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}`, `{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}`
	policy(t, on, "granted", "nobody")
	bind(t, on, "", "boss", "ClusterRole", "cluster-admin")
	apply(t, on,
		rbacPath+"clusterroles", `{"metadata":{"name":"granter"},"rules":[`+writes+`,`+pods+`]}`,
		rbacPath+"clusterroles", `{"metadata":{"name":"escalator"},"rules":[`+writes+`,{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","clusterroles"],"verbs":["escalate","bind"]}]}`,
		rbacPath+"clusterroles", `{"metadata":{"name":"lists-pods"},"rules":[`+pods+`]}`,
		rbacPath+"clusterroles", `{"metadata":{"name":"lists-secrets"},"rules":[`+secrets+`]}`,
	)
	bind(t, on, "", "boss", "ClusterRole", "granter")
	bind(t, on, "", "boss", "ClusterRole", "escalator")
	boss := person("boss")
	ready := func(role string) {
		request{as: boss, method: "GET", path: rbacPath + "clusterroles/view", selects: []string{clusterRole(role)}}.eventually(t, 200)
	}
	ready("granter")
	ready("escalator")
	request{as: boss, method: "GET", path: "/api/v1/secrets"}.eventually(t, 200)

	n := 0
	made := func(kind, extra string) (path, body string) {
		n++
		path = rbacPath + map[string]string{"Role": "namespaces/granted/roles", "ClusterRole": "clusterroles",
			"RoleBinding": "namespaces/granted/rolebindings", "ClusterRoleBinding": "clusterrolebindings"}[kind]
		return path, fmt.Sprintf(`{"kind":%q,"apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"made-%d"},%s}`, kind, n, extra)
	}
	const subject = `,"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"joe"}]`
	roleRef := func(name string) string {
		return `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"` + name + `"}` + subject
	}
	for _, tc := range []struct {
		kind, within, beyond string
	}{
		{"Role", `"rules":[` + pods + `]`, `"rules":[` + secrets + `]`},
		{"ClusterRole", `"rules":[` + pods + `]`, `"rules":[` + pods + `,` + secrets + `]`},
		{"ClusterRole", `"rules":[]`,
			`"rules":[],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}`},
		{"RoleBinding", roleRef("lists-pods"), roleRef("lists-secrets")},
		{"ClusterRoleBinding", roleRef("lists-pods"), roleRef("lists-secrets")},
		{"ClusterRoleBinding", roleRef("lists-pods"), roleRef("cluster-admin")},
	} {
		granter, escalator := []string{clusterRole("granter")}, []string{clusterRole("escalator")}
		path, body := made(tc.kind, tc.beyond)
		request{as: boss, method: "POST", path: path, body: body, selects: granter}.want(t, 403)
		request{as: boss, method: "POST", path: path + "?dryRun=All", body: body, selects: escalator}.want(t, 201)
		request{as: boss, method: "POST", path: path, body: body}.want(t, 201)
		path, body = made(tc.kind, tc.within)
		request{as: boss, method: "POST", path: path, body: body, selects: granter}.want(t, 201)
		if tc.kind == "Role" || tc.kind == "ClusterRole" {
			name := fmt.Sprintf("/made-%d", n)
			body = fmt.Sprintf(`{"kind":%q,"apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":%q},%s}`, tc.kind, name[1:], tc.beyond)
			request{as: boss, method: "PUT", path: path + name, body: body, selects: granter}.want(t, 403)
			request{as: boss, method: "PUT", path: path + name + "?dryRun=All", body: body, selects: escalator}.want(t, 200)
			request{as: boss, method: "PUT", path: path + name, body: body}.want(t, 200)
		}
	}
}

// TestCredentials checks that the server issues no token and accepts no certificate request
// while the caller selects any role.
//
// Attack: a token or a certificate, which would outlive the selection
// Answer: 403, nothing is stored
func TestCredentials(t *testing.T) {
	policy(t, on, "minted", "nobody")
	apply(t, on, "/api/v1/namespaces/minted/serviceaccounts", `{"metadata":{"name":"robot"}}`)
	csr := fmt.Sprintf(`{"metadata":{"generateName":"c-"},"spec":{"request":%q,"signerName":"example.com/a","usages":["client auth"]}}`, certificateRequest(t))
	for _, tc := range []struct{ path, body string }{
		{"/api/v1/namespaces/minted/serviceaccounts/robot/token", `{"spec":{}}`},
		{"/apis/certificates.k8s.io/v1/certificatesigningrequests", csr},
	} {
		request{as: master, method: http.MethodPost, path: tc.path, body: tc.body,
			selects: []string{clusterRole("cluster-admin")}}.want(t, 403)
		request{as: master, method: http.MethodPost, path: tc.path, body: tc.body}.want(t, 201)
		request{method: http.MethodPost, path: tc.path, body: tc.body, anonymous: true, cert: &proxy,
			header: proxied("root", []string{"system:masters"}, clusterRole("cluster-admin"))}.want(t, 403)
	}
	request{as: master, method: "GET", path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
		selects: []string{clusterRole("cluster-admin")}}.want(t, 200)
}

func certificateRequest(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "root"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}
