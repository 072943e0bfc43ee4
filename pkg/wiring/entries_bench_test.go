// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/fieldpermission"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/modelstest"
)

// nobody allows nothing: the ordinary verb of a request is asked before the Gate is.
type nobody struct{ authorizer.Authorizer }

// read is the index of a server that has read all FieldPermissions.
type read struct{ *fieldpermission.Index }

func (r read) Entries(group, resource string) (*overlay.Entries, bool) {
	entries, _ := r.Index.Entries(group, resource)
	return entries, true
}

// closing returns an index with FieldPermissions for resources that do not exist.
func closing(others int) *fieldpermission.Index {
	index := fieldpermission.NewIndex()
	for i := range others {
		store(index, fmt.Sprintf("r%d.example.com", i), i, ".spec.a")
	}
	return index
}

func store(index *fieldpermission.Index, name string, version int, paths ...string) {
	p := &v1alpha1.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: fmt.Sprint(version + 1)},
		Spec:       v1alpha1.FieldPermissionSpec{Version: "v1", Mode: v1alpha1.ModeEnforce},
	}
	for i, path := range paths {
		p.Spec.Fields = append(p.Spec.Fields, v1alpha1.FieldEntry{Path: path, Permission: fmt.Sprintf("example.com/p%d", i), Excluded: true})
	}
	index.Observe(p, false)
}

// served is a built-in resource as a server has it.
func served(resource, definition string, kind schema.GroupVersionKind) granular.Target {
	models := modelstest.Marked(modelstest.BuiltIn(), definition, kind)
	return granular.Target{Kind: kind, Resource: kind.GroupVersion().WithResource(resource),
		Convertor: apiruntime.UnsafeObjectConvertor(legacyscheme.Scheme), Schema: granular.NewSchema(models)}
}

func updating(target granular.Target) context.Context {
	ctx := request.WithUser(context.Background(), &user.DefaultInfo{Name: "jane"})
	return request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "update", APIGroup: target.Kind.Group,
		APIVersion: target.Kind.Version, Resource: target.Resource.Resource, Namespace: "n", Name: "o"})
}

var (
	configMaps  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	pods        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// BenchmarkResourceWithoutEntries measures what the Gate does for an ordinary update of a resource without entries: without
// FieldPermissions, and beside a thousand of them for other resources.
func BenchmarkResourceWithoutEntries(b *testing.B) {
	target := served("configmaps", "io.k8s.api.core.v1.ConfigMap", configMaps)
	ctx := updating(target)
	for name, option := range map[string]gate.Option{
		"gate off": gate.WithFieldPermissions(nil), "no FieldPermission": gate.WithFieldPermissions(read{closing(0)}),
		"1000 for others": gate.WithFieldPermissions(read{closing(1000)}),
	} {
		b.Run(name, func(b *testing.B) {
			g := gate.New(nobody{}, option)
			b.ReportAllocs()
			for b.Loop() {
				if g.Begin(ctx, target) != nil {
					b.Fatal("something is verified")
				}
			}
		})
	}
}

// BenchmarkEditOfFieldPermission measures one edit of one FieldPermission of a thousand, with the first request after it: the
// index takes it, and the kind of its resource is compiled again. The entries differ each time.
func BenchmarkEditOfFieldPermission(b *testing.B) {
	for name, tc := range map[string]struct {
		target granular.Target
		source string
		paths  []string
	}{
		"configmaps": {served("configmaps", "io.k8s.api.core.v1.ConfigMap", configMaps), "configmaps", []string{".data", ".immutable"}},
		"pods":       {served("pods", "io.k8s.api.core.v1.Pod", pods), "pods", []string{".spec.hostNetwork", ".spec.hostPID"}},
		"deployments": {served("deployments", "io.k8s.api.apps.v1.Deployment", deployments), "deployments.apps",
			[]string{".spec.paused", ".spec.template.spec.hostNetwork"}},
	} {
		b.Run(name, func(b *testing.B) {
			index, ctx, version := closing(1000), updating(tc.target), 1000
			g := gate.New(nobody{}, gate.WithFieldPermissions(read{index}))
			b.ReportAllocs()
			for b.Loop() {
				version++
				store(index, tc.source, version, tc.paths[version%2])
				if g.Begin(ctx, tc.target) == nil {
					b.Fatal("nothing is verified")
				}
			}
		})
	}
}

// BenchmarkMemoryOfEntries measures the memory of the tree of one kind with entries, in bytes, beside that without.
func BenchmarkMemoryOfEntries(b *testing.B) {
	const kinds = 20
	for name, tc := range map[string]struct {
		resource, definition, source, path string
		kind                               schema.GroupVersionKind
	}{
		"configmaps":  {"configmaps", "io.k8s.api.core.v1.ConfigMap", "configmaps", ".data", configMaps},
		"pods":        {"pods", "io.k8s.api.core.v1.Pod", "pods", ".spec.hostNetwork", pods},
		"deployments": {"deployments", "io.k8s.api.apps.v1.Deployment", "deployments.apps", ".spec.template.spec.hostNetwork", deployments},
	} {
		b.Run(name, func(b *testing.B) {
			none, index := gate.New(nobody{}, gate.WithFieldPermissions(read{closing(0)})), closing(0)
			store(index, tc.source, 1, tc.path)
			with := gate.New(nobody{}, gate.WithFieldPermissions(read{index}))
			var bytes int64
			for b.Loop() {
				var targets []granular.Target
				for range kinds {
					target := served(tc.resource, tc.definition, tc.kind)
					none.Begin(updating(target), target)
					targets = append(targets, target)
				}
				before := heap()
				for _, target := range targets {
					if with.Begin(updating(target), target) == nil {
						b.Fatal("nothing is verified")
					}
				}
				bytes += (heap() - before) / kinds
				runtime.KeepAlive(targets)
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "B/kind")
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
