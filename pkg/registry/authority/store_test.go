// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/registry/registrytest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// optionsOf returns storage options like those of a server with the watch cache.
type optionsOf struct{ t *testing.T }

func (o optionsOf) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config, server := registrytest.NewEtcdStorageForResource(o.t, resource)
	stored = server
	config.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	return generic.RESTOptions{
		StorageConfig: config, Decorator: genericregistry.StorageWithCacher(),
		DeleteCollectionWorkers: 1, ResourcePrefix: "not/this",
	}, nil
}

// stored is the etcd storage of the store that open opened last.
var stored *etcd3testing.EtcdTestServer

func open(t *testing.T, observe func(authority.Attribute, bool)) (resourceREST, statusREST) {
	t.Helper()
	store, status, err := newStore(kinds[0], optionsOf{t}, namespaces("real").CoreV1(), observe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Destroy)
	until(t, func() bool { return store.Storage.Storage.ReadinessCheck() == nil })
	return store, status
}

// change returns the body of an update that applies f to the stored object.
func change(f func(*authority.ProtectedAttribute)) rest.UpdatedObjectInfo {
	return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		next := old.DeepCopyObject().(*authority.ProtectedAttribute)
		f(next)
		return next, nil
	})
}

// TestObserve holds that each change is reported once it is stored, with increasing versions,
// and that dry runs and refused requests are not reported.
func TestObserve(t *testing.T) {
	var seen []string
	var last uint64
	store, status := open(t, func(a authority.Attribute, gone bool) {
		what := fmt.Sprintf("%s %s", a.GetName(), a.(*authority.ProtectedAttribute).Spec.Mode)
		if gone {
			what += " gone"
		} else if a.GetDeletionTimestamp() != nil {
			what += " waits"
		}
		version, err := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
		if err != nil || version <= last {
			t.Errorf("%s: version %d after %d, %v", what, version, last, err)
		}
		last = version
		seen = append(seen, what)
	})
	ctx := as("jane")
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		if _, err := store.Create(ctx, attribute("a"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Create(ctx, attribute("a"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	update := func(options *metav1.UpdateOptions, f func(*authority.ProtectedAttribute)) error {
		_, _, err := store.Update(ctx, "a", change(f), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, options)
		return err
	}
	audit := func(a *authority.ProtectedAttribute) { a.Spec.Mode = v1alpha1.ModeAudit }
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		if err := update(&metav1.UpdateOptions{DryRun: dryRun}, audit); err != nil {
			t.Fatal(err)
		}
	}
	if err := update(&metav1.UpdateOptions{}, func(a *authority.ProtectedAttribute) { a.Spec.Mode = "Warn" }); !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
	if _, _, err := status.Update(ctx, "a", change(func(a *authority.ProtectedAttribute) { a.Status.HolderCount = 1 }), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// A server-side apply of a new object creates it through an update.
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		info := rest.DefaultUpdatedObjectInfo(attribute("b"))
		if _, created, err := store.Update(ctx, "b", info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{DryRun: dryRun}); err != nil || !created {
			t.Fatal(created, err)
		}
	}
	// A finalizer delays the removal, which is reported when the last finalizer is removed.
	if err := update(&metav1.UpdateOptions{}, func(a *authority.ProtectedAttribute) { a.Finalizers = []string{"example.com/wait"} }); err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		if _, gone, err := store.Delete(ctx, "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: dryRun}); err != nil || gone {
			t.Fatal(gone, err)
		}
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		if err := update(&metav1.UpdateOptions{DryRun: dryRun}, func(a *authority.ProtectedAttribute) { a.Finalizers = nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		if _, err := store.DeleteCollection(ctx, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: dryRun}, &metainternalversion.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a Enforce", "a Audit", "a Audit", "b Enforce", "a Audit", "a Audit waits", "a Audit gone", "b Enforce gone"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestListWatch holds that a reflector in this process can read the attributes of all namespaces
// from the registry's own store, and sees every later change.
func TestListWatch(t *testing.T) {
	store, _ := open(t, nil)
	create := func(namespace, name string) {
		t.Helper()
		a := attribute(name)
		a.Namespace = namespace
		ctx := genericapirequest.WithNamespace(as("jane"), namespace)
		clear := store.BeginCreate
		store.BeginCreate = nil // this test needs no namespaces
		defer func() { store.BeginCreate = clear }()
		if _, err := store.Create(ctx, a, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("n", "a")
	create("m", "a")
	kind := newKind(kinds[0], store)
	list, err := kind.ListWatch.ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	items := list.(*authority.ProtectedAttributeList)
	if len(items.Items) != 2 {
		t.Fatalf("%d attributes in all namespaces", len(items.Items))
	}
	w, err := kind.ListWatch.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: items.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	create("m", "b")
	if event := <-w.ResultChan(); event.Type != watch.Added || event.Object.(authority.Attribute).GetName() != "b" {
		t.Errorf("the watch reports %s %v", event.Type, event.Object)
	}

	known := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(kind.ListWatch, kind.Example, known, cache.ReflectorOptions{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go reflector.RunWithContext(ctx)
	until(t, func() bool { return len(known.ListKeys()) == 3 })
	create("m", "c")
	until(t, func() bool { return len(known.ListKeys()) == 4 })
	if _, _, err := store.Delete(genericapirequest.WithNamespace(as("jane"), "m"), "c", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(known.ListKeys()) == 3 })
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not become true within a minute")
		}
	}
}

// TestStored holds that objects are stored as JSON of v1alpha1, below a prefix that can't belong
// to a CustomResourceDefinition.
func TestStored(t *testing.T) {
	store, _ := open(t, nil)
	if _, err := store.Create(as("jane"), attribute("a"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	key := "/" + etcd3testing.PathPrefix() + "/kube-granular/authority/protectedattributes/n/a"
	key = strings.ReplaceAll(key, "//", "/")
	got, err := stored.V3Client.KV.Get(t.Context(), key)
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("%s: %v, error %v", key, got, err)
	}
	text := string(got.Kvs[0].Value)
	for _, part := range []string{`"kind":"ProtectedAttribute"`, `"apiVersion":"authority.kube-granular.dev/v1alpha1"`, `"namespaceUID":"real"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
	if first, _, _ := strings.Cut(prefix, "/"); strings.Contains(first, ".") {
		t.Errorf("the prefix %s could be a group of custom resources", prefix)
	}
}

// TestSelectors holds that attributes can be selected by the key that they protect.
func TestSelectors(t *testing.T) {
	store, _ := open(t, nil)
	other := attribute("other")
	other.Spec.AttributeName = "example.com/other"
	for _, a := range []*authority.ProtectedAttribute{attribute("a"), other} {
		if _, err := store.Create(as("jane"), a, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.List(as("jane"), &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector(authority.SelectName, "example.com/other")})
	if err != nil {
		t.Fatal(err)
	}
	if items := list.(*authority.ProtectedAttributeList).Items; len(items) != 1 || items[0].Name != "other" {
		t.Errorf("selected %v", items)
	}
}

// TestWithoutProtobuf holds that the API group offers JSON and YAML, but not protobuf.
func TestWithoutProtobuf(t *testing.T) {
	info, err := (&Provider{Attributes: true}).NewRESTStorage(nothing{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, i := range info.NegotiatedSerializer.SupportedMediaTypes() {
		types = append(types, i.MediaType)
	}
	all := strings.Join(types, " ")
	if strings.Contains(all, "protobuf") || !strings.Contains(all, "application/json") || !strings.Contains(all, "application/yaml") {
		t.Errorf("offered: %s", all)
	}
	if len(info.VersionedResourcesStorageMap) != 0 {
		t.Error("a resource that is not enabled is served")
	}
}

// nothing is an API resource configuration in which no resource is enabled.
type nothing struct{}

func (nothing) ResourceEnabled(schema.GroupVersionResource) bool           { return false }
func (nothing) ResourceExplicitlyEnabled(schema.GroupVersionResource) bool { return false }
func (nothing) VersionExplicitlyEnabled(schema.GroupVersion) bool          { return false }
func (nothing) AnyResourceForGroupEnabled(string) bool                     { return false }
