// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/test/integration/cluster"
)

// history holds every state of every object from the time when follow was called.
type history struct {
	mu    sync.Mutex
	steps []step
	ends  []func()
}

var (
	deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	widgetResource     = schema.GroupVersionResource{Group: "concurrency.example.com", Version: "v1",
		Resource: "widgets"}
)

// last is the name of an object whose creation marks the end of the history.
const last = "last"

// follow records all states of the objects. It watches deployments through the API, and widgets
// in etcd, because each change of the schema would end a watch of widgets through the API.
func follow(t *testing.T, c *cluster.Cluster, client dynamic.Interface) *history {
	t.Helper()
	h := &history{}
	h.followAPI(t, client.Resource(deploymentResource).Namespace("concurrency"))
	h.followStorage(t, c, client.Resource(widgetResource).Namespace("concurrency"))
	return h
}

func (h *history) note(object string, content map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, step{object: object, fields: flatten(content)})
}

// end waits until all writes were seen, and returns the history.
func (h *history) end() []step {
	for _, end := range h.ends {
		end()
	}
	return h.steps
}

func (h *history) followAPI(t *testing.T, of dynamic.ResourceInterface) {
	t.Helper()
	list, err := of.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		h.note(apps+item.GetName(), item.Object)
	}
	events, err := of.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok || object.GetKind() == "Status" {
				break
			}
			if object.GetName() == last {
				return
			}
			h.note(apps+object.GetName(), object.Object)
		}
		t.Error("the watch of deployments broke off")
	}()
	h.ends = append(h.ends, func() {
		create(t, of, "apps/v1", "Deployment", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "c"}}, "template": template()})
		await(t, done)
		events.Stop()
	})
}

func (h *history) followStorage(t *testing.T, c *cluster.Cluster, of dynamic.ResourceInterface) {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(c.Dir, "run", "*"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("the socket of etcd: %q %v", sockets, err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + sockets[0]}})
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "/registry/concurrency.example.com/widgets/concurrency/"
	now, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	note := func(key, value []byte) {
		content := map[string]any{}
		if err := json.Unmarshal(value, &content); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		h.note(widgets+path.Base(string(key)), content)
	}
	for _, kv := range now.Kvs {
		note(kv.Key, kv.Value)
	}
	ctx, cancel := context.WithCancel(t.Context())
	events := client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(now.Header.Revision+1))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for response := range events {
			for _, event := range response.Events {
				if path.Base(string(event.Kv.Key)) == last {
					return
				}
				note(event.Kv.Key, event.Kv.Value)
			}
		}
		t.Error("the watch of widgets broke off")
	}()
	h.ends = append(h.ends, func() {
		create(t, of, "concurrency.example.com/v1", "Widget", map[string]any{})
		await(t, done)
		cancel()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
}

func create(t *testing.T, of dynamic.ResourceInterface, apiVersion, kind string, spec map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	object.SetName(last)
	if _, err := of.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func await(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the watch did not report the last object within a minute")
	}
}
