// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"net/http"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// on is the shared server with the gate ProtectedAttributes on.
var on *cluster.Cluster

const (
	gateOn = "ProtectedAttributes=true"
	group  = "/apis/authority.kube-granular.dev"
)

func TestMain(m *testing.M) {
	harness.Main(m, func(string) (stop func() error, err error) {
		on, err = cluster.Start("--demo=false", "--feature-gates", gateOn)
		return on.Stop, err
	})
}

// start runs a server with the given arguments until the test ends, or until stop is called.
func start(t *testing.T, args ...string) (c *cluster.Cluster, stop func()) {
	t.Helper()
	c = harness.Start(t, append([]string{"--demo=false"}, args...)...)
	return c, func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// storage starts an etcd that keeps its data when servers stop.
func storage(t *testing.T) (endpoint string, client *clientv3.Client) {
	t.Helper()
	endpoint = etcd.Start(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return endpoint, client
}

func config(t *testing.T, c *cluster.Cluster) *rest.Config {
	t.Helper()
	config := harness.Config(t, c, "admin")
	config.WarningHandler = rest.NoWarnings{}
	return config
}

func clients(t *testing.T, c *cluster.Cluster) (versioned.Interface, kubernetes.Interface) {
	t.Helper()
	ours, err := versioned.NewForConfig(config(t, c))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := kubernetes.NewForConfig(config(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// do sends one request as the administrator.
func do(t *testing.T, c *cluster.Cluster, method, path, contentType, accept string, body []byte) (int, http.Header, []byte) {
	t.Helper()
	a, err := harness.Connect(t, c, "admin").Do(t.Context(), harness.Call{Method: method, Path: path, ContentType: contentType, Accept: accept, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return a.Code, a.Header, a.Body
}

// namespace creates a namespace and returns its UID.
func namespace(t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	_, theirs := clients(t, c)
	made, err := theirs.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(made.UID)
}

// removeNamespace deletes a namespace and finalizes it as the namespace controller would, which
// does not run here.
func removeNamespace(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	_, theirs := clients(t, c)
	namespaces := theirs.CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	left, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left.Spec.Finalizers = nil
	if _, err := namespaces.Finalize(t.Context(), left, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "the namespace is gone", func() bool {
		_, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// next returns the next event of a watch and skips modifications, because the server itself
// writes statuses.
func next(w watch.Interface) watch.Event {
	for event := range w.ResultChan() {
		if event.Type != watch.Modified {
			return event
		}
	}
	return watch.Event{}
}

func spec() v1alpha1.ProtectedAttributeSpec {
	return v1alpha1.ProtectedAttributeSpec{
		AttributeKind: v1alpha1.AttributeLabel,
		AttributeName: "example.com/tier",
		RoleRef:       &v1alpha1.RoleReference{Kind: v1alpha1.ClusterRoleKind, Name: "tier-setter"},
	}
}

func attribute(name string) *v1alpha1.ProtectedAttribute {
	return &v1alpha1.ProtectedAttribute{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec()}
}

func clusterAttribute(name string) *v1alpha1.ClusterProtectedAttribute {
	return &v1alpha1.ClusterProtectedAttribute{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec()}
}
