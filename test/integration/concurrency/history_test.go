// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"encoding/json"
	"path"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/test/integration/cluster"
)

// kept describes the objects of one kind in etcd: the path of the kind's collection in the API,
// and a function that decodes a stored object.
type kept struct {
	path   string
	decode func([]byte) (map[string]any, error)
}

// stores maps prefixes of keys in etcd to the objects that are kept there.
var stores = map[string]kept{
	"/registry/deployments/concurrency/":                     {apps, decodeDeployment},
	"/registry/concurrency.example.com/widgets/concurrency/": {widgets, decodeWidget},
}

func decodeDeployment(data []byte) (map[string]any, error) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}

func decodeWidget(data []byte) (map[string]any, error) {
	content := map[string]any{}
	return content, json.Unmarshal(data, &content)
}

// history holds every state of every object from the time when follow was called.
type history struct {
	steps []step
	// end creates an object whose creation ends the history.
	end  func() error
	done chan struct{}
}

// follow records all states of the objects. It watches them in etcd: through the API, each change
// of the schema ends a watch of widgets, and a busy server ends the watch of a slow client.
func follow(t *testing.T, c *cluster.Cluster, client kubernetes.Interface) *history {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(c.Dir, "run", "*"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("the socket of etcd: %q %v", sockets, err)
	}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + sockets[0]}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	})
	const registry = "/registry/"
	now, err := etcd.Get(t.Context(), registry, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	last := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "last", Namespace: "concurrency"}}
	h := &history{done: make(chan struct{}), end: func() error {
		_, err := client.CoreV1().ConfigMaps(last.Namespace).Create(t.Context(), last, metav1.CreateOptions{})
		return err
	}}
	for _, kv := range now.Kvs {
		h.record(t, kv.Key, kv.Value)
	}
	events := etcd.Watch(t.Context(), registry, clientv3.WithPrefix(), clientv3.WithRev(now.Header.Revision+1))
	go func() {
		defer close(h.done)
		for response := range events {
			for _, event := range response.Events {
				if string(event.Kv.Key) == path.Join(registry, "configmaps", last.Namespace, last.Name) {
					return
				}
				h.record(t, event.Kv.Key, event.Kv.Value)
			}
		}
		t.Error("the watch of etcd broke off")
	}()
	return h
}

// record adds the state of an object, if it is of a kind that the writers write.
func (h *history) record(t *testing.T, key, value []byte) {
	prefix, name := path.Split(string(key))
	kind, ok := stores[prefix]
	if !ok {
		return
	}
	content, err := kind.decode(value)
	if err != nil {
		t.Errorf("%s: %v", key, err)
	}
	h.steps = append(h.steps, step{object: kind.path + name, fields: flatten(content)})
}

// wait waits until all writes were seen, and returns the history.
func (h *history) wait(t *testing.T) []step {
	t.Helper()
	if err := h.end(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.done:
	case <-time.After(time.Minute):
		t.Fatal("the watch did not report the last object within a minute")
	}
	return h.steps
}
