// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"kube-granular.dev/test/integration/cluster"
)

// Server is a server whose authorization chain begins with the webhook Callers, before RBAC.
type Server struct {
	*cluster.Cluster
	Callers *GrantWebhook

	client *Client
	close  []func() error

	mu     sync.Mutex
	mapper meta.RESTMapper
}

// NewServer starts a server; the caller must call Stop. flags are further flags of
// kube-apiserver.
func NewServer(flags ...string) (_ *Server, err error) {
	s := &Server{Callers: &GrantWebhook{}}
	defer func() {
		if err != nil {
			_ = s.Stop()
		}
	}()
	dir, err := os.MkdirTemp("", "kube-granular-stage-")
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, func() error { return os.RemoveAll(dir) })
	webhook := httptest.NewTLSServer(s.Callers)
	s.close = append(s.close, func() error { webhook.Close(); return nil })
	config, err := WriteAuthorizationConfig(dir, webhook)
	if err != nil {
		return nil, err
	}
	args := []string{"--authorization-config", config, "--feature-gates", "CBORServingAndStorage=true", "--", "--runtime-config=api/all=true"}
	if s.Cluster, err = cluster.Start(append(args, flags...)...); err != nil {
		return nil, err
	}
	s.close = append(s.close, s.Cluster.Stop)
	s.client, err = connect(s.Cluster, "admin")
	return s, err
}

// StartServer runs a server until the test and its subtests end. flags are as in NewServer.
func StartServer(t *testing.T, flags ...string) *Server {
	t.Helper()
	s, err := NewServer(flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Stop undoes what NewServer did, in reverse order.
func (s *Server) Stop() error {
	var first error
	for i := len(s.close) - 1; i >= 0; i-- {
		if err := s.close[i](); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Mapping returns the resource and scope of a kind.
func (s *Server) Mapping(t *testing.T, gvk schema.GroupVersionKind) *meta.RESTMapping {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var mapping *meta.RESTMapping
	known := func() (err error) {
		mapping, err = s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		return err
	}
	if s.mapper != nil && known() == nil {
		return mapping
	}
	client, err := discovery.NewDiscoveryClientForConfig(Config(t, s.Cluster, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	// The server serves a new definition a while before discovery lists it.
	Until(t, gvk.String()+" is in discovery", func() bool {
		groups, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			t.Fatal(err)
		}
		s.mapper = restmapper.NewDiscoveryRESTMapper(groups)
		return known() == nil
	})
	return mapping
}

// Paths returns the path of an object's collection and the path of the object.
func (s *Server) Paths(t *testing.T, object map[string]any) (collection, one string) {
	t.Helper()
	u := unstructured.Unstructured{Object: object}
	mapping := s.Mapping(t, u.GroupVersionKind())
	collection = "/apis/" + mapping.Resource.Group + "/" + mapping.Resource.Version
	if mapping.Resource.Group == "" {
		collection = "/api/" + mapping.Resource.Version
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		collection += "/namespaces/" + u.GetNamespace()
	}
	collection += "/" + mapping.Resource.Resource
	return collection, collection + "/" + url.PathEscape(u.GetName())
}
