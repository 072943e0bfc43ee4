// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	extensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/scheme"

	authorityscheme "kube-granular.dev/api/client/clientset/versioned/scheme"
	"kube-granular.dev/test/integration/harness"
)

// served is a resource that the server serves.
type served struct {
	schema.GroupVersionResource
	kind         string
	namespaced   bool
	verbs        []string
	subresources []string
}

func (r served) collection(namespace string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + r.Resource
}

// name is the name of the filled object of each resource. That of an APIService needs a dot.
const name = "v1.filled"

func (r served) namespace() string {
	if r.namespaced {
		return "default"
	}
	return ""
}

func (r served) object() string { return r.collection(r.namespace()) + "/" + name }

// discovered returns all resources that discovery lists and that can be read.
func discovered(t *testing.T) []served {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(harness.Config(t, on, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // as that of TestAggregated
		t.Fatal(err)
	}
	var out []served
	below := map[schema.GroupVersionResource][]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			resource, sub, found := cut(r.Name)
			if found {
				below[gv.WithResource(resource)] = append(below[gv.WithResource(resource)], sub)
			} else if slices.Contains(r.Verbs, "get") || slices.Contains(r.Verbs, "list") {
				out = append(out, served{gv.WithResource(r.Name), r.Kind, r.Namespaced, r.Verbs, nil})
			}
		}
	}
	for i := range out {
		out[i].subresources = below[out[i].GroupVersionResource]
	}
	return out
}

// prefixes are the prefixes in etcd that differ from the name of the resource. See upstream's
// pkg/kubeapiserver/default_storage_factory_builder.go.
var prefixes = map[schema.GroupResource]string{
	{Resource: "replicationcontrollers"}:                                   "controllers",
	{Resource: "endpoints"}:                                                "services/endpoints",
	{Resource: "nodes"}:                                                    "minions",
	{Resource: "services"}:                                                 "services/specs",
	{Group: "networking.k8s.io", Resource: "ingresses"}:                    "ingress",
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: "apiextensions.k8s.io/customresourcedefinitions",
	{Group: "apiregistration.k8s.io", Resource: "apiservices"}:             "apiregistration.k8s.io/apiservices",
	{Group: "example.com", Resource: "certificates"}:                       "example.com/certificates",
}

func (r served) key() string {
	prefix, special := prefixes[r.GroupResource()]
	switch {
	case special:
	case r.Group == "authority.kube-granular.dev":
		prefix = "kube-granular/authority/" + r.Resource
	default:
		prefix = r.Resource
	}
	key := "/registry/" + prefix
	if r.namespaced {
		key += "/" + r.namespace()
	}
	return key + "/" + name
}

func (r served) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.kind) }

// filled returns an object of the resource with the marker in every field that may not be read.
func (r served) filled() (any, error) {
	for _, known := range []*runtime.Scheme{scheme.Scheme, extensionsscheme.Scheme, aggregatorscheme.Scheme, authorityscheme.Scheme} {
		if !known.Recognizes(r.gvk()) {
			continue
		}
		obj, err := known.New(r.gvk())
		if err != nil {
			return nil, err
		}
		fill(reflect.ValueOf(obj).Elem(), top)
		obj.GetObjectKind().SetGroupVersionKind(r.gvk())
		m := reflect.ValueOf(obj).Elem().FieldByName("ObjectMeta")
		m.Set(reflect.ValueOf(objectMetadata(r.namespace(), name)))
		return obj, nil
	}
	if r.Group != "example.com" {
		return nil, fmt.Errorf("no type is known for %v", r.gvk())
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.PartialObjectMetadata{ObjectMeta: objectMetadata(r.namespace(), name)})
	if err != nil {
		return nil, err
	}
	content["apiVersion"], content["kind"] = r.GroupVersion().String(), r.kind
	for _, field := range []string{"spec", "status", "data"} {
		content[field] = map[string]any{marker: marker, "expires": marker, "list": []any{marker}}
	}
	return content, nil
}

// store writes the filled object of a resource into etcd. Validation would refuse it.
func store(t *testing.T, client *clientv3.Client, r served) {
	t.Helper()
	obj, err := r.filled()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	if _, err := client.Put(t.Context(), r.key(), string(data)); err != nil {
		t.Fatal(err)
	}
}

func storage(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
