// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
)

// hook is a webhook that counts its reviews, with a kubeconfig for it.
type hook struct {
	*httptest.Server
	name, kubeconfig string

	mu      sync.Mutex
	asked   []authorizationv1.SubjectAccessReviewSpec
	headers []http.Header
}

// answering answers a review with a status.
func answering(status authorizationv1.SubjectAccessReviewStatus) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		review := &authorizationv1.SubjectAccessReview{}
		if err := json.NewDecoder(req.Body).Decode(review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Status = status
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}
}

// saying answers every request with a text.
func saying(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(text))
	}
}

// newHook starts a webhook, whose kubeconfig has its certificate.
func newHook(t *testing.T, name string, handler http.HandlerFunc) *hook {
	t.Helper()
	h := &hook{name: name, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		review := &authorizationv1.SubjectAccessReview{}
		if err := json.Unmarshal(body, review); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		h.asked, h.headers = append(h.asked, review.Spec), append(h.headers, req.Header.Clone())
		h.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, req)
	}))
	t.Cleanup(h.Close)
	h.write(t, func(*clientcmdapi.Config) {})
	return h
}

// write writes the kubeconfig of the webhook, after edit changed it.
func (h *hook) write(t *testing.T, edit func(*clientcmdapi.Config)) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["w"] = &clientcmdapi.Cluster{Server: h.URL, CertificateAuthorityData: h.ca()}
	config.AuthInfos["w"] = &clientcmdapi.AuthInfo{}
	config.Contexts["w"] = &clientcmdapi.Context{Cluster: "w", AuthInfo: "w"}
	config.CurrentContext = "w"
	edit(config)
	if err := clientcmd.WriteToFile(*config, h.kubeconfig); err != nil {
		t.Fatal(err)
	}
}

func (h *hook) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
}

// count returns how many reviews the webhook got.
func (h *hook) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}

// in returns the webhook as an authorizer. No request of the tests meets its match condition.
func (h *hook) in() apiserverapi.AuthorizerConfiguration {
	return apiserverapi.AuthorizerConfiguration{Type: "Webhook", Name: h.name, Webhook: &apiserverapi.WebhookConfiguration{
		SubjectAccessReviewVersion: "v1", FailurePolicy: apiserverapi.FailurePolicyDeny,
		ConnectionInfo:  apiserverapi.WebhookConnectionInfo{Type: "KubeConfigFile", KubeConfigFile: &h.kubeconfig},
		MatchConditions: []apiserverapi.WebhookMatchCondition{{Expression: "request.user == 'nobody'"}},
	}}
}

// chained returns a configuration with authorizers.
func chained(authorizers ...apiserverapi.AuthorizerConfiguration) *apiserverapi.AuthorizationConfiguration {
	return &apiserverapi.AuthorizationConfiguration{Authorizers: append(authorizers, apiserverapi.AuthorizerConfiguration{Type: "RBAC", Name: "rbac"})}
}

// put writes a file.
func put(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// newPair returns a new certificate and its key.
func newPair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// anotherCA returns a certificate that no webhook has.
func anotherCA(t *testing.T) []byte {
	t.Helper()
	certificate, _ := newPair(t)
	return certificate
}

// deprecated answers reviews of version v1beta1.
func deprecated(w http.ResponseWriter, req *http.Request) {
	var review struct {
		metav1.TypeMeta `json:",inline"`
	}
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil || review.APIVersion != "authorization.k8s.io/v1beta1" {
		http.Error(w, fmt.Sprintf("%v %s", err, review.APIVersion), http.StatusBadRequest)
		return
	}
	saying("application/json", `{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview","status":{"allowed":true}}`)(w, req)
}
