// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/pkg/registry/authority"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// absent checks that a server serves the group authority.kube-granular.dev nowhere.
func absent(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, path := range []string{group, group + "/v1alpha1", group + "/v1alpha1/protectedattributes", group + "/v1alpha1/clusterprotectedattributes/c", "/openapi/v3/apis/authority.kube-granular.dev/v1alpha1"} {
		if status, _, body := do(t, c, http.MethodGet, path, "", "application/json", nil); status != http.StatusNotFound {
			t.Errorf("%s: status %d: %.200s", path, status, body)
		}
	}
	for _, accept := range []string{"application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"} {
		status, _, body := do(t, c, http.MethodGet, "/apis", "", accept, nil)
		if status != http.StatusOK || strings.Contains(string(body), "kube-granular") {
			t.Errorf("/apis as %s: status %d, or the group is there", accept, status)
		}
	}
	if _, _, body := do(t, c, http.MethodGet, "/readyz?verbose", "", "*/*", nil); !strings.Contains(string(body), "readyz check passed") || strings.Contains(string(body), "kube-granular") {
		t.Errorf("/readyz: %s", body)
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3"} {
		if _, _, body := do(t, c, http.MethodGet, path, "", "application/json", nil); strings.Contains(strings.ToLower(string(body)), "protectedattribute") {
			t.Errorf("%s shows the kinds", path)
		}
	}
	if out, err := harness.Kubectl(t, c, manifest, "create", "-f", "-"); err == nil || !strings.Contains(out, `no matches for kind "ProtectedAttribute"`) {
		t.Errorf("kubectl create: %s", out)
	}
	if out, err := harness.Kubectl(t, c, "", "get", "apiservice", "v1alpha1.authority.kube-granular.dev"); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("the APIService: %s", out)
	}
}

// TestOffAndOn turns the gate on, off and on again. While it is off, the group is absent and
// its objects stay in etcd. An attribute of a namespace that was deleted meanwhile has no
// effect in a new namespace of the same name.
//
// Attack: an attribute of a namespace that was deleted while the gate was off, in a new namespace of the same
// name
// Answer: no effect: another UID is recorded
func TestOffAndOn(t *testing.T) {
	endpoint, _ := storage(t)
	c, stop := start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn)
	ours, _ := clients(t, c)
	stays, goes := namespace(t, c, "stays"), namespace(t, c, "goes")
	for _, name := range []string{"stays", "goes"} {
		if _, err := ours.AuthorityV1alpha1().ProtectedAttributes(name).Create(t.Context(), attribute("a"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ours.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), clusterAttribute("c"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()

	c, stop = start(t, "--etcd-servers", endpoint)
	harness.Until(t, "the APIService is gone", func() bool {
		_, err := harness.Kubectl(t, c, "", "get", "apiservice", "v1alpha1.authority.kube-granular.dev")
		return err != nil
	})
	absent(t, c)
	removeNamespace(t, c, "goes")
	successor := namespace(t, c, "goes")
	stop()

	c, _ = start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn)
	ours, _ = clients(t, c)
	if _, err := ours.AuthorityV1alpha1().ClusterProtectedAttributes().Get(t.Context(), "c", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	for name, now := range map[string]string{"stays": stays, "goes": successor} {
		a, err := ours.AuthorityV1alpha1().ProtectedAttributes(name).Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if in := authority.InNamespace(&a.Status, types.UID(now)); in != (name == "stays") {
			t.Errorf("%s: recorded %s, created in %s, is now %s: counts %t", name, a.Status.NamespaceUID, map[string]string{"stays": stays, "goes": goes}[name], now, in)
		}
	}
	// The leftover attribute can be deleted and created again, and then belongs to the new
	// namespace.
	attributes := ours.AuthorityV1alpha1().ProtectedAttributes("goes")
	if err := attributes.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	a, err := attributes.Create(t.Context(), attribute("a"), metav1.CreateOptions{})
	if err != nil || string(a.Status.NamespaceUID) != successor {
		t.Errorf("made anew: %+v, error %v", a.Status, err)
	}
	harness.Until(t, "the APIService is there", func() bool {
		_, err := harness.Kubectl(t, c, "", "get", "apiservice", "v1alpha1.authority.kube-granular.dev")
		return err == nil
	})
}

// TestDisabledResources checks that a server with the gate on does not start if --runtime-config turns one of the two kinds off:
// nothing would enforce the attributes that are stored. Another kind of the group does not matter.
//
// Attack: --runtime-config turns off the kinds of protected attributes, whose gate is on
// Answer: the server does not start, and names the gate, the flag and the resource
// Was: got through
func TestDisabledResources(t *testing.T) {
	const clusterWide = "clusterprotectedattributes.authority.kube-granular.dev"
	for config, resource := range map[string]string{
		"authority.kube-granular.dev/v1alpha1=false": "protectedattributes.authority.kube-granular.dev",
		"api/alpha=false": "protectedattributes.authority.kube-granular.dev",
		"authority.kube-granular.dev/v1alpha1/protectedattributes=false":        "protectedattributes.authority.kube-granular.dev",
		"authority.kube-granular.dev/v1alpha1/clusterprotectedattributes=false": clusterWide,
	} {
		t.Run(config, func(t *testing.T) {
			harness.Refuses(t, "the feature gate ProtectedAttributes is on, but --runtime-config turns the resource "+resource+" off",
				"--demo=false", "--feature-gates", gateOn, "--", "--runtime-config="+config)
		})
	}
	t.Run("another kind", func(t *testing.T) {
		c, _ := start(t, "--feature-gates", gateOn, "--", "--runtime-config=authority.kube-granular.dev/v1alpha1/fieldpermissions=false")
		status, _, body := do(t, c, http.MethodGet, group+"/v1alpha1/protectedattributes", "", "application/json", nil)
		if status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	})
}

// TestServerWithoutTheGate checks that a server that starts without the gate does not serve the
// group, and that the servers with the gate go on to serve it.
//
// Attack: starting a server without the gate, which deletes the APIService of the attributes
// Answer: the other servers create it again; they enforce and serve all the time
func TestServerWithoutTheGate(t *testing.T) {
	endpoint, _ := storage(t)
	gated, _ := start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn)
	ours, _ := clients(t, gated)
	if _, err := ours.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), clusterAttribute("c"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	uid := func() string {
		out, err := harness.Kubectl(t, gated, "", "get", "apiservice", "v1alpha1.authority.kube-granular.dev", "-o", "jsonpath={.metadata.uid}")
		if err != nil {
			return ""
		}
		return out
	}
	before := uid()
	ungated, stop := start(t, "--etcd-servers", endpoint)
	harness.Until(t, "the server without the gate deletes the APIService, and the other makes it again", func() bool {
		now := uid()
		return now != "" && now != before
	})
	// Check both servers several times while both run.
	for range 3 {
		status, _, body := do(t, gated, http.MethodGet, group+"/v1alpha1/clusterprotectedattributes/c", "", "application/json", nil)
		if status != http.StatusOK {
			t.Errorf("the server with the gate: %d %s", status, body)
		}
		if out := harness.MustKubectl(t, gated, "", "get", "cpattr"); !strings.Contains(out, "example.com/tier") {
			t.Error(out)
		}
		status, _, body = do(t, ungated, http.MethodGet, group+"/v1alpha1/clusterprotectedattributes/c", "", "application/json", nil)
		if status != http.StatusNotFound {
			t.Errorf("the server without the gate: %d %s", status, body)
		}
		// The server without the gate still serves its other kinds, even to a client that reads
		// the whole discovery.
		if out, err := harness.Kubectl(t, ungated, "", "get", "configmaps", "-A"); err != nil {
			t.Errorf("the server without the gate: %v\n%s", err, out)
		}
	}
	if now := uid(); now == before || now == "" {
		t.Error("the APIService is gone again")
	}
	stop()
	if out := harness.MustKubectl(t, gated, "", "get", "cpattr"); !strings.Contains(out, "example.com/tier") {
		t.Error(out)
	}
	_, _, err := ours.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Error(err)
	}
	if _, err := ours.AuthorityV1alpha1().ClusterProtectedAttributes().Get(t.Context(), "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
