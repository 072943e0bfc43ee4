// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ConversionWebhook returns a conversion webhook. It calls move to convert an object to another
// version of its API group. to is the new version, such as v2.
func ConversionWebhook(move func(object map[string]any, version string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		Review(w, req, func(review *apiextensionsv1.ConversionReview) error {
			asked := review.Request
			if asked == nil {
				return errors.New("not a review")
			}
			review.Request = nil
			review.Response = &apiextensionsv1.ConversionResponse{UID: asked.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
			_, version, _ := strings.Cut(asked.DesiredAPIVersion, "/")
			for _, raw := range asked.Objects {
				object := &unstructured.Unstructured{}
				if err := json.Unmarshal(raw.Raw, &object.Object); err != nil {
					return err
				}
				if object.GetAPIVersion() != asked.DesiredAPIVersion {
					move(object.Object, version)
				}
				object.SetAPIVersion(asked.DesiredAPIVersion)
				review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
			}
			return nil
		})
	})
}

// WriteAuthorizationConfig writes a structured authorization configuration into dir and returns
// its path. With it, the server asks first the webhook and then RBAC. If a call of the webhook
// fails, the server denies the request.
func WriteAuthorizationConfig(dir string, webhook *httptest.Server) (string, error) {
	return WriteAuthorizationConfigFailing(dir, webhook, "Deny")
}

// WriteAuthorizationConfigFailing is like WriteAuthorizationConfig, but with the given failure
// policy for the webhook.
func WriteAuthorizationConfigFailing(dir string, webhook *httptest.Server, failurePolicy string) (string, error) {
	kubeconfigFile, err := WriteWebhookKubeconfig(dir, webhook)
	if err != nil {
		return "", err
	}
	config := filepath.Join(dir, "authorization.yaml")
	return config, os.WriteFile(config, []byte(`
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: opinions
  webhook:
    timeout: 10s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: `+failurePolicy+`
    cacheAuthorizedRequests: false
    cacheUnauthorizedRequests: false
    authorizedTTL: 1s
    unauthorizedTTL: 1s
    connectionInfo:
      type: KubeConfigFile
      kubeConfigFile: `+kubeconfigFile+`
- type: RBAC
  name: rbac
`), 0o600)
}

// WebhookKubeconfig writes the kubeconfig by which the server calls a webhook, and returns its
// path.
func WebhookKubeconfig(t *testing.T, webhook *httptest.Server) string {
	t.Helper()
	file, err := WriteWebhookKubeconfig(t.TempDir(), webhook)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// WriteWebhookKubeconfig is like WebhookKubeconfig, but writes into dir, and returns an error instead of ending the test.
func WriteWebhookKubeconfig(dir string, webhook *httptest.Server) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{
		Server:                   webhook.URL,
		CertificateAuthorityData: CABundle(webhook),
	}
	config.AuthInfos["server"] = &clientcmdapi.AuthInfo{}
	config.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook", AuthInfo: "server"}
	config.CurrentContext = "webhook"
	file := filepath.Join(dir, "webhook.kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// CABundle returns the certificate of a test's server in PEM, for a webhook configuration.
func CABundle(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
