// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/vetting"
)

// vettedCluster serves what is vetted, with text in each name that other people choose.
type vettedCluster struct{ text string }

func (c vettedCluster) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	things := metav1.APIResource{Name: "things" + c.text, Namespaced: true, Kind: "Thing", Verbs: metav1.Verbs{"get"}}
	group := metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v1", Version: "v1"}
	answer, found := map[string]any{
		"/version": version.Info{GitVersion: "v1.37.1" + c.text},
		"/api":     metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}},
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "example.com", Versions: []metav1.GroupVersionForDiscovery{group}, PreferredVersion: group}}},
		"/apis/example.com/v1": metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{things}},
	}[req.URL.Path]
	if role, ok := strings.CutPrefix(req.URL.Path, "/apis/rbac.authorization.k8s.io/v1/clusterroles/"); ok {
		answer, found = rbacv1.ClusterRole{
			TypeMeta: metav1.TypeMeta{Kind: "ClusterRole", APIVersion: "rbac.authorization.k8s.io/v1"}, ObjectMeta: metav1.ObjectMeta{Name: role},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{"g" + c.text}, Resources: []string{"r" + c.text}, Verbs: []string{"v" + c.text}, ResourceNames: []string{"n" + c.text}}},
		}, true
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// TestVettedOfHostileText holds that names in a cluster add no line to the comparison and no
// document to the list, and that a terminal gets no control character.
func TestVettedOfHostileText(t *testing.T) {
	vetted := filepath.Join(t.TempDir(), "vetted.yaml")
	if err := os.WriteFile(vetted, []byte("version: v1.37.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(text string, args ...string) (out, errs string) {
		server := httptest.NewServer(vettedCluster{text})
		defer server.Close()
		config := clientcmdapi.NewConfig()
		config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
		config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
		config.CurrentContext = "c"
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		cmd := newVettedCommand()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(&stdout)
		cmd.SetErr(&stderr)
		cmd.SetArgs(append(args, "--kubeconfig", kubeconfig))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			_ = printing.Error(&stderr, err)
		}
		for _, r := range stdout.String() + stderr.String() {
			if r != '\n' && !strconv.IsPrint(r) {
				t.Errorf("%v: %q is printed in %q", args, r, stdout.String()+stderr.String())
			}
		}
		return stdout.String(), stderr.String()
	}
	for _, payload := range []string{"\n---\nkind: ClusterRoleBinding\n", "\r\x1b[2J\x1b]0;title\x07", "\u202e\u2028\u0085", "   x\t", "\", \"x\": {\"", "\x7f"} {
		out, errs := run("x"+payload, "compare", vetted)
		if want, _ := run("x", "compare", vetted); strings.Count(out, "\n") != strings.Count(want, "\n") || want == "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: the comparison is\n%s%swanted the lines of\n%s", payload, out, errs, want)
		}
		out, errs = run("x"+payload, "show")
		var got vetting.List
		if err := yaml.UnmarshalStrict([]byte(out), &got); err != nil || errs != "" || len(got.Resources) != 1 || got.Resources[0] != "example.com/thingsx"+payload+" namespaced" {
			t.Errorf("%q: %v, %s\n%s", payload, err, errs, out)
		}
	}
}
