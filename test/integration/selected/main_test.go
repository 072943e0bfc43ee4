// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"kube-granular.dev/pkg/localcluster/pki"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// on is the shared server, with the gate on. It trusts a front proxy and a token webhook of
// these tests.
var on *cluster.Cluster

// proxy is the client certificate of the front proxy.
var proxy tls.Certificate

var auditLog string

// flags are the flags of kube-apiserver that every server of these tests has.
var flags []string

func TestMain(m *testing.M) {
	harness.Main(m, func(dir string) (stop func() error, err error) {
		authority, files, err := pki.Ensure(filepath.Join(dir, "proxy"))
		if err != nil {
			return nil, err
		}
		cert, key, err := authority.Client("front-proxy")
		if err != nil {
			return nil, err
		}
		if proxy, err = tls.X509KeyPair(cert, key); err != nil {
			return nil, err
		}
		certFile, keyFile := filepath.Join(dir, "proxy.crt"), filepath.Join(dir, "proxy.key")
		for file, data := range map[string][]byte{certFile: cert, keyFile: key} {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				return nil, err
			}
		}
		webhook := httptest.NewTLSServer(http.HandlerFunc(believe))
		webhookFile, err := harness.WriteWebhookKubeconfig(dir, webhook)
		if err != nil {
			return nil, err
		}
		flags = []string{
			"--requestheader-client-ca-file=" + files.CA, "--requestheader-allowed-names=front-proxy",
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + certFile, "--proxy-client-key-file=" + keyFile,
			"--authentication-token-webhook-config-file=" + webhookFile, "--authentication-token-webhook-version=v1",
		}
		auditLog = filepath.Join(dir, "audit.log")
		args := []string{"--demo=false", "--audit-log", auditLog, "--feature-gates", "SelectedAuthority=true", "--"}
		on, err = cluster.Start(append(args, flags...)...)
		return func() error {
			defer webhook.Close()
			return on.Stop()
		}, err
	})
}

// start runs a further server until the test ends.
func start(t *testing.T, args ...string) *cluster.Cluster {
	t.Helper()
	return harness.Start(t, append([]string{"--demo=false"}, args...)...)
}

// believe is a token webhook: it decodes the user from the token, as function token encodes it,
// and believes it.
func believe(w http.ResponseWriter, req *http.Request) {
	harness.Review(w, req, func(review *authenticationv1.TokenReview) error {
		review.Status = authenticationv1.TokenReviewStatus{}
		data, err := base64.RawURLEncoding.DecodeString(review.Spec.Token)
		review.Status.Authenticated = err == nil && json.Unmarshal(data, &review.Status.User) == nil
		return nil
	})
}

// token returns a token that names a user.
func token(u authenticationv1.UserInfo) string {
	data, err := json.Marshal(u)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// person returns a user that is a member of some groups.
func person(name string, groups ...string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: name, Groups: groups}
}

var master = person("root", "system:masters")
