// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"
	"kube-granular.dev/test/integration/harness/etcd"
)

// client returns a client that sends through the proxy. Each request selects what its context
// names.
func (b *between) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	config.Wrap(transport.New)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestOneServerWithoutTheGate checks requests with a selection in a cluster in which one server
// lacks the gate. That server ignores the header, uses all rights of the caller, and does not
// repeat the header. Our client asks a server first, so it sends nothing to that one. If both
// servers share an address, the client notices from the first response, and sends nothing more.
//
// Attack: a server of the cluster that does not know selections
// Answer: the client sends nothing; behind a shared address, an error for the request that got through
func TestOneServerWithoutTheGate(t *testing.T) {
	endpoint := etcd.Start(t)
	with := start(t, append([]string{"--etcd-servers", endpoint, "--feature-gates", "SelectedAuthority=true", "--"}, flags...)...)
	without := start(t, append([]string{"--etcd-servers", endpoint, "--"}, flags...)...)
	policy(t, with, "peers", "jane", "edit", "view")
	jane := person("jane")
	const maps = "/api/v1/namespaces/peers/configmaps"
	selectsView := []string{clusterRole("view")}
	request{as: jane, method: "GET", path: maps, selects: []string{clusterRole("edit")}}.eventuallyFrom(t, with, 200)
	request{as: jane, method: "GET", path: maps, selects: selectsView}.eventuallyFrom(t, with, 200)
	request{as: jane, method: "GET", path: "/api/v1/namespaces/peers/secrets"}.eventuallyFrom(t, without, 200)

	// First the plain HTTP answers of both servers to the same header.
	create := request{as: jane, method: "POST", path: maps, body: `{"metadata":{"name":"a"}}`, selects: selectsView}
	if got := create.to(t, with); got.status != 403 || !slices.Equal(got.header[selection.Header], selectsView) {
		t.Errorf("with the gate: %s, repeats %q", got, got.header[selection.Header])
	}
	if got := create.to(t, without); got.status != 201 || got.header[selection.Header] != nil {
		t.Errorf("without the gate: %s, repeats %q", got, got.header[selection.Header])
	}
	if got := (request{as: jane, method: "DELETE", path: maps + "/a", selects: selectsView}).to(t, with); got.status != 403 {
		t.Errorf("what the other server stored: %s", got)
	}

	view, edit := transport.With(t.Context(), selection.ClusterRole("view")), transport.With(t.Context(), selection.ClusterRole("edit"))
	var not *transport.NotAppliedError
	// A client that reaches only the server without the gate.
	b := stand(t, without, jane)
	if err := b.client(t).CoreV1().ConfigMaps("peers").Delete(edit, "a", metav1.DeleteOptions{}); !errors.As(err, &not) || not.Sent {
		t.Errorf("error %v", err)
	}
	if seen := b.requests(); !slices.Equal(seen, []string{"GET /version " + clusterRole("edit")}) {
		t.Errorf("it was sent %q", seen)
	}
	// A client whose address leads to one server or the other.
	b = stand(t, with, jane)
	client := b.client(t).CoreV1().ConfigMaps("peers")
	if err := client.Delete(view, "a", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("error %v", err)
	}
	b.to(t, without)
	if err := client.Delete(view, "a", metav1.DeleteOptions{}); !errors.As(err, &not) || !not.Sent {
		t.Errorf("error %v", err)
	}
	if got := (request{as: jane, method: "GET", path: maps + "/a"}).to(t, with); got.status != 404 {
		t.Errorf("the request that got through: %s", got)
	}
	b.requests()
	if _, err := client.Create(edit, configMap("b"), metav1.CreateOptions{}); !errors.As(err, &not) || not.Sent {
		t.Errorf("error %v", err)
	}
	if _, err := client.List(view, metav1.ListOptions{}); !errors.As(err, &not) || not.Sent {
		t.Errorf("error %v", err)
	}
	if seen := b.requests(); !slices.Equal(seen, []string{"GET /version " + clusterRole("edit"), "GET /version " + clusterRole("view")}) {
		t.Errorf("it was sent %q", seen)
	}
	b.to(t, with)
	if _, err := client.Create(edit, configMap("b"), metav1.CreateOptions{}); err != nil {
		t.Errorf("back at the server with the gate: %v", err)
	}
	// For a watch, the client checks the response headers when the watch begins.
	if w, err := client.Watch(view, metav1.ListOptions{}); err != nil {
		t.Error(err)
	} else {
		w.Stop()
	}
	b.to(t, without)
	if w, err := client.Watch(view, metav1.ListOptions{}); !errors.As(err, &not) {
		t.Errorf("a watch at the other server: %v, error %v", w, err)
	}
}

// TestTwoServersWithTheGate checks that both servers of a cluster answer a selection in the
// same way, even if a client reaches them in turn. A binding that is created or deleted on one
// counts on the other when its watch delivers the change.
func TestTwoServersWithTheGate(t *testing.T) {
	endpoint := etcd.Start(t)
	args := append([]string{"--etcd-servers", endpoint, "--feature-gates", "SelectedAuthority=true", "--"}, flags...)
	one, other := start(t, args...), start(t, args...)
	policy(t, one, "pair", "jane", "edit")
	jane := person("jane")
	const maps = "/api/v1/namespaces/pair/configmaps"
	read := request{as: jane, method: "GET", path: maps, selects: []string{clusterRole("edit")}}
	read.eventuallyFrom(t, one, 200)
	read.eventuallyFrom(t, other, 200)

	b := stand(t, one, jane)
	client := b.client(t).CoreV1().ConfigMaps("pair")
	edit := transport.With(t.Context(), selection.ClusterRole("edit"))
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if i%2 == 0 {
			b.to(t, other)
		} else {
			b.to(t, one)
		}
		if _, err := client.Create(edit, configMap(name), metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	apply(t, one, rbacPath+"namespaces/pair/roles", `{"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}]}`)
	bob := request{as: person("bob"), method: "GET", path: maps, selects: []string{role("pair", "reader")}}
	if got := bob.to(t, other); got.status != 403 {
		t.Errorf("before he is bound: %s", got)
	}
	apply(t, one, rbacPath+"namespaces/pair/rolebindings", `{"metadata":{"name":"bob"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"bob"}]}`)
	bob.eventuallyFrom(t, other, 200)
	if got := (request{as: master, method: "DELETE", path: rbacPath + "namespaces/pair/rolebindings/bob"}).to(t, one); got.status != 200 {
		t.Error(got)
	}
	bob.eventuallyFrom(t, other, 403)
}
