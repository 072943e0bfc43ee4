// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/harness"
)

// TestServerWithoutPermissions checks the plugin's error for a server that publishes no
// permissions. It must name the cause and say what to do.
func TestServerWithoutPermissions(t *testing.T) {
	kubeconfig := without(t, "x-kubernetes-permission-")
	_, errs, err := granularAt(t, kubeconfig, "", "explain", "deployments")
	if err == nil || !strings.Contains(errs, "error: deployments.apps: the server publishes no permissions (x-kubernetes-permission-verb) in its OpenAPI") || !strings.Contains(errs, "--context") {
		t.Errorf("explain against a server without permissions: %v\n%s", err, errs)
	}
	// The twin: through the same proxy, but with the permissions, the command works.
	if _, errs, err := granularAt(t, without(t, "nothing at all"), "", "explain", "deployments"); err != nil {
		t.Errorf("explain through the same proxy: %v\n%s", err, errs)
	}
}

// without runs a proxy in front of our server that hides all occurrences of a text in the
// OpenAPI documents. It returns a kubeconfig for the proxy.
func without(t *testing.T, text string) string {
	t.Helper()
	config := harness.Config(t, on, "admin")
	config.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasPrefix(r.Request.URL.Path, "/openapi/v3") {
			return nil
		}
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte(text), []byte("x-nothing-"))
		r.Body = io.NopCloser(bytes.NewReader(data))
		r.Header.Set("Content-Length", strconv.Itoa(len(data)))
		r.ContentLength = int64(len(data))
		return nil
	}
	return harness.WebhookKubeconfig(t, harness.ServeWebhook(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Header.Del("Accept-Encoding")
		proxy.ServeHTTP(w, req)
	})))
}
