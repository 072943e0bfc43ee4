// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestLoad checks that a file is loaded that upstream and the checks accept, and that each other one is an error that names the
// option.
func TestLoad(t *testing.T) {
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"
	config, err := Load(write("good.yaml", head+"authorizers: [{type: RBAC, name: rbac}]\n"))
	if err != nil || config == nil || len(config.Authorizers) != 1 {
		t.Errorf("%+v, %v", config, err)
	}
	for name, file := range map[string]string{"a missing file": filepath.Join(t.TempDir(), "gone.yaml"), "no authorizers": write("none.yaml", head), "no YAML": write("x.yaml", "{")} {
		if config, err := Load(file); config != nil || err == nil || !strings.Contains(err.Error(), "--authorization-config") {
			t.Errorf("%s: %+v, %v", name, config, err)
		}
	}
}

// TestCostOfInvalidCondition checks that a match condition that does not compile is an error too.
func TestCostOfInvalidCondition(t *testing.T) {
	for expression, valid := range map[string]bool{"request.user == 'jane'": true, "request.user ==": false, "1": false} {
		if err := checkCost(authorizationcel.NewDefaultCompiler(), apiserverapi.WebhookMatchCondition{Expression: expression}); (err == nil) != valid {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

// TestUnreadableConnections checks that a connection that can't be read equals neither another one nor itself after its fault has
// changed, so that it is looked at again.
func TestUnreadableConnections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	w := &apiserverapi.WebhookConfiguration{ConnectionInfo: apiserverapi.WebhookConnectionInfo{KubeConfigFile: &file}}
	missing := connectionOf(w)
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if broken := connectionOf(w); broken == missing || missing == (connection{}) {
		t.Error("a file that is missing and one that is broken are the same connection")
	}
}

// TestLoadConnection checks that a connection has the content of the files that its kubeconfig names,
// and no name, so that none is read again later; and that a file that can't be read is an error.
func TestLoadConnection(t *testing.T) {
	h := newHook(t, "h", nil)
	dir := t.TempDir()
	token, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca")
	put(t, token, []byte("a-token"))
	put(t, ca, h.ca())
	h.write(t, func(c *clientcmdapi.Config) {
		c.Clusters["w"].CertificateAuthorityData, c.Clusters["w"].CertificateAuthority = nil, ca
		c.AuthInfos["w"].TokenFile = token
	})
	config, err := loadConnection(h.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if config.BearerToken != "a-token" || string(config.CAData) != string(h.ca()) || config.BearerTokenFile+config.CAFile != "" {
		t.Errorf("token %q of %q, CA %q of %q", config.BearerToken, config.BearerTokenFile, config.CAData, config.CAFile)
	}
	h.write(t, func(c *clientcmdapi.Config) {
		c.Clusters["w"].CertificateAuthorityData, c.Clusters["w"].CertificateAuthority = nil, dir
	})
	if _, err := loadConnection(h.kubeconfig); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder as the CA file: %v", err)
	}
}

// TestConnectionsByProxy checks that connections through two proxies differ.
func TestConnectionsByProxy(t *testing.T) {
	h := newHook(t, "h", nil)
	var got []connection
	for _, proxy := range []string{"http://127.0.0.1:1", "http://127.0.0.1:2"} {
		h.write(t, func(c *clientcmdapi.Config) { c.Clusters["w"].ProxyURL = proxy })
		got = append(got, connectionOf(h.in().Webhook))
	}
	if got[0] == got[1] {
		t.Error("another proxy is the same connection")
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestConnectionOfProbe checks that the connection of a probe ends with it, and that the request itself is not changed.
func TestConnectionOfProbe(t *testing.T) {
	req, closed := &http.Request{}, false
	req = req.WithContext(t.Context())
	_, err := once{transport(func(sent *http.Request) (*http.Response, error) { closed = sent.Close; return nil, nil })}.RoundTrip(req)
	if err != nil || !closed || req.Close {
		t.Errorf("closes: %t, the request of the caller: %t, %v", closed, req.Close, err)
	}
}

// TestProbeWithoutConnection checks that a webhook is not healthy that can't be asked: its connection can't be read, or it is to
// be asked in a version that does not exist.
func TestProbeWithoutConnection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const config = `{"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	for says, w := range map[string]*apiserverapi.WebhookConfiguration{
		"no such file": {SubjectAccessReviewVersion: "v1", ConnectionInfo: apiserverapi.WebhookConnectionInfo{KubeConfigFile: &gone}},
		"v9":           {SubjectAccessReviewVersion: "v9", ConnectionInfo: apiserverapi.WebhookConnectionInfo{KubeConfigFile: &file}},
	} {
		if err := (probed{name: "w", webhook: w}).ask(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, wanted one with %q", err, says)
		}
	}
}
