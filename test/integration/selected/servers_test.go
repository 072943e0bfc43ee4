// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// client returns a client whose requests select what their contexts name.
func client(t *testing.T, c *cluster.Cluster) kubernetes.Interface {
	t.Helper()
	config := harness.Config(t, c, "admin")
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(transport.New)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestTransport checks that client-go selects the role in the context, and that a refusal is an
// ordinary Forbidden error.
func TestTransport(t *testing.T) {
	policy(t, on, "client", "nobody")
	request{as: master, method: "GET", path: "/api/v1/namespaces/client/configmaps",
		selects: []string{clusterRole("edit")}}.eventually(t, 200)
	request{as: master, method: "GET", path: "/api/v1/namespaces/client/configmaps",
		selects: []string{clusterRole("view")}}.eventually(t, 200)
	maps := client(t, on).CoreV1().ConfigMaps("client")
	edit, view := transport.With(t.Context(), selection.ClusterRole("edit")), transport.With(t.Context(), selection.ClusterRole("view"))
	if _, err := maps.Create(view, configMap("a"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("as view: %v", err)
	}
	if _, err := maps.Create(edit, configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Errorf("as edit: %v", err)
	}
	if list, err := maps.List(view, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("as view: %v, error %v", list, err)
	}
	if err := maps.Delete(view, "a", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("as view: %v", err)
	}
	if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Errorf("as the administrator: %v", err)
	}
	watch, err := client(t, on).CoreV1().ConfigMaps("client").Watch(view, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch.Stop()
}

// TestGateOff checks that, with the gate off, the server ignores the header and the extra
// field, and that our client notices this before it changes anything.
func TestGateOff(t *testing.T) {
	c := start(t, append([]string{"--"}, flags...)...)
	for _, selects := range [][]string{{clusterRole("none")}, {"nonsense", "twice"}} {
		got := request{as: master, method: "GET", path: "/api/v1/namespaces/default/secrets", selects: selects}.to(t, c)
		if got.status != 200 || got.header[selection.Header] != nil {
			t.Errorf("%q: %s, repeats %q", selects, got, got.header[selection.Header])
		}
	}
	acting := http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": {"system:masters"},
		"Impersonate-Extra-Authority.kube-granular.dev%2fselected": {"x"}}
	if got := (request{as: master, method: "GET", path: "/api/v1/namespaces/default/secrets", header: acting}).to(t, c); got.status != 200 {
		t.Errorf("impersonated: %s", got)
	}
	if got := (request{method: "GET", path: "/api/v1/namespaces/default/secrets", anonymous: true, cert: &proxy, header: proxied("root", []string{"system:masters"}, clusterRole("none"))}).to(t, c); got.status != 200 {
		t.Errorf("told by a front proxy: %s", got)
	}
	maps := client(t, c).CoreV1().ConfigMaps("default")
	var not *transport.NotAppliedError
	view := transport.With(t.Context(), selection.ClusterRole("edit"))
	if _, err := maps.Create(view, configMap("a"), metav1.CreateOptions{}); !errors.As(err, &not) || not.Sent {
		t.Errorf("error %v", err)
	}
	if _, err := maps.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object is there: %v", err)
	}
	if _, err := maps.List(view, metav1.ListOptions{}); !errors.As(err, &not) || not.Sent {
		t.Errorf("error %v", err)
	}
	kubectlWithout(t, c)
}

// TestWithoutRBAC checks that nothing can be selected on a server without RBAC, and that
// discovery still works.
//
// Attack: existing roles while RBAC is not configured
// Answer: 403
func TestWithoutRBAC(t *testing.T) {
	c := start(t, append([]string{"--feature-gates", "SelectedAuthority=true", "--", "--authorization-mode=AlwaysAllow"}, flags...)...)
	jane := person("jane")
	for path, status := range map[string]int{"/api/v1/namespaces/default/pods": 403, "/metrics": 403, "/version": 200, "/apis/apps/v1": 200} {
		got := request{as: jane, method: "GET", path: path, selects: []string{clusterRole("view")}}.to(t, c)
		if got.status != status || status == 403 && !strings.Contains(got.body, "RBAC is not among") {
			t.Errorf("%s: %s", path, got)
		}
		if got := (request{as: jane, method: "GET", path: path}).to(t, c); got.status != 200 {
			t.Errorf("%s without a selection: %s", path, got)
		}
	}
}

// reviewer is an authorization webhook that records what it is asked about jane.
type reviewer struct {
	mu    sync.Mutex
	asked []authorizationv1.SubjectAccessReviewSpec
}

func (w *reviewer) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	harness.Review(out, req, func(review *authorizationv1.SubjectAccessReview) error {
		review.Status = authorizationv1.SubjectAccessReviewStatus{}
		if a := review.Spec.ResourceAttributes; review.Spec.User == "jane" && a != nil {
			w.mu.Lock()
			w.asked = append(w.asked, review.Spec)
			w.mu.Unlock()
			review.Status.Allowed = a.Resource != "services"
			review.Status.Denied = a.Resource == "services"
		}
		return nil
	})
}

// TestWebhook checks an authorization webhook and a caller that selects a role. The webhook
// learns of the selection. It can deny the request, but it can't allow it. Cached answers for
// requests without a selection are not used.
//
// Attack: using a webhook's allow, also one from its cache, or evading its deny, by selecting a role
// Answer: 403
func TestWebhook(t *testing.T) {
	w := &reviewer{}
	file := harness.WebhookKubeconfig(t, harness.ServeWebhook(t, w))
	c := start(t, append([]string{"--feature-gates", "SelectedAuthority=true", "--", "--authorization-mode=Webhook,RBAC", "--authorization-webhook-config-file=" + file, "--authorization-webhook-version=v1"}, flags...)...)
	policy(t, c, "hooked", "nobody")
	jane := person("jane")
	get := func(resource string, selects ...string) int {
		return request{as: jane, method: "GET", path: "/api/v1/namespaces/hooked/" + resource, selects: selects}.to(t, c).status
	}
	// Each request is sent twice: the second answer comes from the webhook's cache.
	for range 2 {
		if got := get("pods"); got != 200 {
			t.Errorf("allowed by the webhook: %d", got)
		}
		if got := get("pods", clusterRole("view")); got != 403 {
			t.Errorf("allowed by the webhook, with a selection: %d", got)
		}
	}
	told := map[string]int{}
	for _, spec := range w.asked {
		told[strings.Join(spec.Extra[selection.ExtraKey], "+")]++
	}
	if told[""] != 1 || told[clusterRole("view")] != 1 || len(told) != 2 {
		t.Errorf("the webhook was asked %v", told)
	}
	bind(t, c, "hooked", "jane", "ClusterRole", "view")
	request{as: jane, method: "GET", path: "/api/v1/namespaces/hooked/pods", selects: []string{clusterRole("view")}}.eventuallyFrom(t, c, 200)
	if got := get("services", clusterRole("view")); got != 403 {
		t.Errorf("denied by the webhook, with a selection: %d", got)
	}
	if got := get("configmaps", clusterRole("view")); got != 200 {
		t.Errorf("allowed by the webhook and by the selection: %d", got)
	}
	if got := get("secrets", clusterRole("view")); got != 403 {
		t.Errorf("allowed by the webhook and not by the selection: %d", got)
	}
}
