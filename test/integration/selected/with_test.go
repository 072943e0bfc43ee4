// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/cluster"
)

// between is a proxy between a client and a server that records each request with its
// selection.
type between struct {
	kubeconfig, cache string

	mu     sync.Mutex
	target *url.URL
	seen   []string
}

// to forwards all requests from now on to a server.
func (b *between) to(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	target, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.target = target
}

// stand starts a proxy in front of a server, and writes a kubeconfig for a user that leads to
// the proxy.
func stand(t *testing.T, c *cluster.Cluster, as authenticationv1.UserInfo) *between {
	t.Helper()
	b := &between{cache: t.TempDir()}
	b.to(t, c)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			b.mu.Lock()
			defer b.mu.Unlock()
			r.SetURL(b.target)
		},
		// The test does not depend on the certificate of the server, so the proxy does not
		// verify it.
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		FlushInterval: -1,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b.mu.Lock()
		b.seen = append(b.seen, req.Method+" "+req.URL.Path+" "+strings.Join(req.Header[selection.Header], "+"))
		b.mu.Unlock()
		forward.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token(as)}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "plugin"}
	config.CurrentContext = "x"
	b.kubeconfig = filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, b.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return b
}

// requests returns the requests that were recorded since the last call.
func (b *between) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.seen
	b.seen = nil
	return out
}

// with returns a command that runs `kubectl with` for the given role or delegation.
func (b *between) with(t *testing.T, authority string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl"), append([]string{"with", authority}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+b.kubeconfig, "KUBECACHEDIR="+b.cache, "HOME="+b.cache, "EDITOR=true", "KUBE_EDITOR=true")
	return cmd
}

func (b *between) run(t *testing.T, authority string, args ...string) (string, error) {
	t.Helper()
	out, err := b.with(t, authority, args...).CombinedOutput()
	return string(out), err
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}
`

// TestKubectlWith checks that `kubectl with` sends the selection in each request of each
// command, that the server then decides by the selected role, and that `kubectl with ROLE
// proxy` selects for everybody who uses the proxy.
func TestKubectlWith(t *testing.T) {
	policy(t, on, "plugin", "root")
	apply(t, on, "/api/v1/namespaces/plugin/serviceaccounts", `{"metadata":{"name":"default"}}`)
	for _, role := range []string{"edit", "view"} {
		request{as: master, method: "GET", path: "/api/v1/namespaces/plugin/configmaps",
			selects: []string{clusterRole(role)}}.eventually(t, 200)
	}
	b := stand(t, on, master)
	manifest := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(manifest, []byte(deployment), 0o600); err != nil {
		t.Fatal(err)
	}
	// The first word of each line says whether the command must succeed.
	for _, line := range []string{
		"ok apply -f FILE", "ok get deployments,pods -o wide", "ok describe deployment web", "ok label deployment web a=b",
		"ok annotate deployment web a=b", "ok patch deployment web -p {}", "ok scale deployment web --replicas=2",
		"ok set image deployment/web c=other", "ok rollout restart deployment web", "ok rollout history deployment web",
		"ok autoscale deployment web --max=3", "ok expose deployment web --port=80", "ok edit deployment web",
		"ok diff -f FILE", "ok replace -f FILE", "ok explain deployment.spec", "ok api-resources", "ok api-versions", "ok cluster-info",
		"ok auth can-i create pods", "ok auth can-i --list", "ok auth whoami", "ok version", "ok events", "ok create configmap m",
		"ok wait deployment web --for=jsonpath={.spec.replicas}=1", "ok run p --image=i", "ok get --raw /api/v1/namespaces/plugin/pods",
		"ok config view", "ok logs p", "fails exec p -- true", "fails attach p", "fails cp p:/x y", "fails port-forward p 0:80",
		"fails debug p --image=i --target=x --attach", "fails top pods", "fails taint nodes n a=b:NoSchedule", "fails cordon n", "fails drain n",
		"fails certificate approve x", "fails create token default", "fails create clusterrolebinding b --clusterrole=cluster-admin --user=x",
		"ok delete deployment web --wait=false",
	} {
		args := strings.Fields(strings.ReplaceAll(line, "FILE", manifest))
		out, err := b.run(t, "clusterrole/edit", args[1:]...)
		// kubectl diff exits with 1 if there is a difference.
		if ok := err == nil || args[1] == "diff"; ok != (args[0] == "ok") {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		seen := b.requests()
		if len(seen) == 0 && args[1] != "config" {
			t.Errorf("%s: no request: %s", line, out)
		}
		for _, request := range seen {
			if !strings.HasSuffix(request, " "+clusterRole("edit")) {
				t.Errorf("%s: %s", line, request)
			}
		}
	}
	for _, args := range [][]string{{"delete", "configmap", "m"}, {"create", "configmap", "other"}, {"get", "secrets"}} {
		if out, err := b.run(t, "clusterrole/view", args...); err == nil || !strings.Contains(out, `the selected ClusterRole "view" does not allow the request`) {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
	if out, err := b.run(t, "clusterrole/view", "get", "configmap", "m"); err != nil {
		t.Error(err, out)
	}
	if out, err := b.run(t, "delegation/nonsense", "get", "configmap", "m"); err == nil {
		t.Error(out)
	}
	b.requests()
	viaProxy(t, b)
}

// viaProxy checks that `kubectl with ROLE proxy` selects the role for all requests through the
// proxy.
func viaProxy(t *testing.T, b *between) {
	t.Helper()
	cmd := b.with(t, "clusterrole/view", "proxy", "--port=0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // the error says only that it was killed
	}()
	first, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + strings.TrimSpace(first[strings.LastIndex(first, " ")+1:]) + "/api/v1/namespaces/plugin/configmaps"
	for method, status := range map[string]int{http.MethodGet: 200, http.MethodDelete: 403} {
		req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Errorf("%s: %d %s, error %v", method, resp.StatusCode, text, err)
		}
		resp.Body.Close()
	}
	for _, request := range b.requests() {
		if !strings.HasSuffix(request, " "+clusterRole("view")) {
			t.Error("by the proxy:", request)
		}
	}
}

// kubectlWithout checks that `kubectl with` sends only GET /version to a server without the
// gate.
func kubectlWithout(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	b := stand(t, c, master)
	for _, args := range [][]string{
		{"get", "pods"}, {"delete", "namespace", "default"}, {"create", "configmap", "m"}, {"apply", "-f", "-"},
		{"exec", "p", "--", "true"}, {"get", "--raw", "/api/v1/namespaces/default/pods/p/proxy/x"}, {"auth", "whoami"},
	} {
		out, err := b.run(t, "clusterrole/cluster-admin", args...)
		if err == nil || args[0] != "apply" && !strings.Contains(out, "does not apply the header") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
		for _, request := range b.requests() {
			if !slices.Contains([]string{"GET /version"}, request[:strings.LastIndex(request, " ")]) {
				t.Errorf("%q: the server was sent %s", args, request)
			}
		}
	}
}
