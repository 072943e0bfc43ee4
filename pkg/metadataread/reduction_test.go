// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/pkg/audit"
)

const marker = "MARKER"

func convertTo(kind string) *schema.GroupVersionKind {
	gvk := metav1.SchemeGroupVersion.WithKind(kind)
	return &gvk
}

func begun(t *testing.T, answer granular.Answer) *reduction {
	t.Helper()
	r := &reduction{}
	if err := r.Begin(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	return r
}

func secret() *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "db", Namespace: "shop", UID: "u", ResourceVersion: "7",
			Labels:          map[string]string{"app": "shop"},
			Annotations:     map[string]string{"kubectl.kubernetes.io/last-applied-configuration": marker, metav1.InitialEventsAnnotationKey: "true"},
			Finalizers:      []string{"example.com/a", "example.com/b"},
			OwnerReferences: []metav1.OwnerReference{{Name: "a"}, {Name: "b"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: marker, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:MARKER":{}}}`)}}},
			SelfLink:        marker,
		},
		Type: marker, Data: map[string][]byte{marker: []byte(marker)}, StringData: map[string]string{marker: marker},
	}
}

// checkShown checks that obj has no marker, and its text all of the parts.
func checkShown(t *testing.T, obj any, parts ...string) {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), marker) || strings.Contains(string(text), "TUFSS0VS") { // also as base64
		t.Errorf("shows data: %s", text)
	}
	for _, part := range parts {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
}

// TestMetadataFields checks that somebody decided about each field of the metadata.
func TestMetadataFields(t *testing.T) {
	hidden := []string{"Annotations", "ManagedFields", "SelfLink"}
	full := reflect.New(reflect.TypeFor[metav1.ObjectMeta]()).Elem()
	seconds, now := int64(1), metav1.Now()
	full.Set(reflect.ValueOf(metav1.ObjectMeta{
		Name: "a", GenerateName: "b", Namespace: "c", SelfLink: "d", UID: "e", ResourceVersion: "f", Generation: 1,
		CreationTimestamp: now, DeletionTimestamp: &now, DeletionGracePeriodSeconds: &seconds,
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"a"},
		OwnerReferences: []metav1.OwnerReference{{Name: "a"}}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "a"}},
	}))
	reduced := reflect.ValueOf(reducedMetadata(full.Addr().Interface().(metav1.Object)))
	for i := range full.NumField() {
		name := full.Type().Field(i).Name
		if full.Field(i).IsZero() {
			t.Errorf("the test leaves out %s", name)
		}
		want := full.Field(i).Interface()
		if slices.Contains(hidden, name) {
			want = reflect.Zero(full.Field(i).Type()).Interface()
		}
		if got := reduced.Field(i).Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, wanted %v", name, got, want)
		}
	}
}

func TestReduce(t *testing.T) {
	shown := []string{`"name":"db"`, `"app":"shop"`, `"example.com/a","example.com/b"`, `"name":"b"`}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret())
	if err != nil {
		t.Fatal(err)
	}
	content["items"] = []any{map[string]any{"spec": marker}} // which makes Unstructured look like a list
	custom := &unstructured.Unstructured{Object: content}
	for name, obj := range map[string]runtime.Object{"built-in": secret(), "custom": custom} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"get", "watch"} {
				out, err := begun(t, granular.Answer{Verb: verb, Convert: convertTo(metadataKind)}).Reduce(t.Context(), obj)
				if err != nil {
					t.Fatal(err)
				}
				checkShown(t, out, shown...)
			}
		})
	}
	remaining := int64(3)
	list := &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next", RemainingItemCount: &remaining},
		Items: []corev1.Secret{*secret(), *secret()}}
	out, err := begun(t, granular.Answer{Verb: "list", Convert: convertTo(metadataListKind)}).Reduce(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	checkShown(t, out, append(shown, `"resourceVersion":"9"`, `"continue":"next"`, `"remainingItemCount":3`)...)
	if _, cached := out.(runtime.CacheableObject); cached {
		t.Error("the encoding may be cached")
	}
	nested := &corev1.List{Items: []runtime.RawExtension{{Object: secret()}, {Object: &metav1.Status{Message: marker}}}}
	for name, list := range map[string]runtime.Object{"an object": secret(), "a list of what has no metadata": nested} {
		if out, err := begun(t, granular.Answer{Verb: "list", Convert: convertTo(metadataListKind)}).Reduce(t.Context(), list); err == nil {
			t.Errorf("%s is answered as the list %v", name, out)
		}
	}
	for _, verb := range []string{"get", "list"} {
		kind := map[string]string{"get": metadataKind, "list": metadataListKind}[verb]
		if out, err := begun(t, granular.Answer{Verb: verb, Convert: convertTo(kind)}).Reduce(t.Context(), &metav1.Status{Message: marker}); err == nil {
			t.Errorf("%s: what has no metadata is answered as %v", verb, out)
		}
	}
}

func TestBegin(t *testing.T) {
	selector := func(text string) fields.Selector { return fields.ParseSelectorOrDie(text) }
	for name, tc := range map[string]struct {
		answer           granular.Answer
		forbidden, fails bool
	}{
		"get":                     {answer: granular.Answer{Verb: "get", Convert: convertTo(metadataKind)}},
		"table":                   {answer: granular.Answer{Verb: "list", Convert: convertTo(tableKind)}},
		"whole object":            {answer: granular.Answer{Verb: "get"}, forbidden: true},
		"list kind for a watch":   {answer: granular.Answer{Verb: "watch", Convert: convertTo(metadataListKind)}, forbidden: true},
		"another kind":            {answer: granular.Answer{Verb: "get", Convert: convertTo("Secret")}, forbidden: true},
		"subresource":             {answer: granular.Answer{Verb: "get", Subresource: "status", Convert: convertTo(metadataKind)}, forbidden: true},
		"another verb":            {answer: granular.Answer{Verb: "connect", Convert: convertTo(metadataKind)}, forbidden: true},
		"selected by name":        {answer: granular.Answer{Verb: "list", Convert: convertTo(tableKind), Selector: selector("metadata.name=a,metadata.namespace!=b")}},
		"everything":              {answer: granular.Answer{Verb: "list", Convert: convertTo(tableKind), Selector: fields.Everything()}},
		"selected by type":        {answer: granular.Answer{Verb: "list", Convert: convertTo(tableKind), Selector: selector("type=Opaque")}, fails: true},
		"selected by name and by": {answer: granular.Answer{Verb: "watch", Convert: convertTo(tableKind), Selector: selector("metadata.name=a,spec.nodeName!=")}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&reduction{}).Begin(t.Context(), tc.answer)
			if errors.Is(err, granular.ErrForbidden) != tc.forbidden || apierrors.IsBadRequest(err) != tc.fails || (err != nil) != (tc.forbidden || tc.fails) {
				t.Error(err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	r := &reduction{}
	for name, err := range map[string]error{
		"webhook":    apierrors.NewInternalError(errors.New(marker)),
		"conversion": errors.New(marker),
		"invalid":    apierrors.NewInvalid(schema.GroupKind{Kind: "A"}, marker, nil),
		"conflict":   apierrors.NewConflict(secrets, "a", errors.New(marker)),
		"wrapped":    fmt.Errorf("%s: %w", marker, apierrors.NewNotFound(secrets, "a")),
	} {
		if out := r.Error(t.Context(), err); strings.Contains(out.Error(), marker) {
			t.Errorf("%s: %v", name, out)
		}
	}
	for name, err := range map[string]error{
		"not found": apierrors.NewNotFound(secrets, "a"),
		"expired":   apierrors.NewResourceExpired("too old"),
		"too many":  apierrors.NewTooManyRequests("wait", 1),
	} {
		if out := r.Error(t.Context(), err); out.Error() != err.Error() || apierrors.ReasonForError(out) != apierrors.ReasonForError(err) {
			t.Errorf("%s: %v", name, out)
		}
	}
}

func TestRequest(t *testing.T) {
	r := begun(t, granular.Answer{Verb: "list", Convert: convertTo(tableKind)})
	for _, query := range []string{"includeObject=Object&limit=5", "includeObject=None&includeObject=Object"} {
		req := httptest.NewRequest("GET", "/api/v1/secrets?"+query, nil)
		if out := r.Request(req).URL.Query(); slices.Contains(out["includeObject"], "Object") {
			t.Errorf("%s becomes %v", query, out)
		}
		if req.URL.RawQuery != query {
			t.Error("the request is changed")
		}
	}
	req := httptest.NewRequest("GET", "/api/v1/secrets?includeObject=None", nil)
	if r.Request(req) != req {
		t.Error("a request for no objects is changed")
	}
}

func TestWatch(t *testing.T) {
	events := watch.NewFakeWithChanSize(10, false)
	r := begun(t, granular.Answer{Verb: "watch", Convert: convertTo(metadataKind)})
	w := r.Watch(t.Context(), events)
	defer w.Stop()
	next := func(want watch.EventType) watch.Event {
		t.Helper()
		event, more := <-w.ResultChan()
		if !more || event.Type != want {
			t.Fatalf("%v, wanted %s", event, want)
		}
		return event
	}
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		events.Action(kind, secret())
		event := next(kind)
		checkShown(t, event.Object, `"name":"db"`)
		if strings.Contains(fmt.Sprint(event.Object), metav1.InitialEventsAnnotationKey) {
			t.Error("an object keeps an annotation")
		}
	}
	events.Action(watch.Bookmark, secret())
	bookmark := next(watch.Bookmark).Object
	checkShown(t, bookmark, `"resourceVersion":"7"`, metav1.InitialEventsAnnotationKey)
	if annotations := bookmark.(metav1.Object).GetAnnotations(); len(annotations) != 1 {
		t.Errorf("a bookmark has %v", annotations)
	}
	gone := apierrors.NewResourceExpired("too old").Status()
	events.Action(watch.Error, &gone)
	checkShown(t, next(watch.Error).Object, "too old")
	events.Action(watch.Error, &metav1.Status{Message: marker, Reason: marker})
	checkShown(t, next(watch.Error).Object)
}

// TestWatchOfWhatCannotBeReduced checks that such an event ends the watch, and that of the storage.
func TestWatchOfWhatCannotBeReduced(t *testing.T) {
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, "NEW"} {
		events := watch.NewFakeWithChanSize(10, false)
		w := begun(t, granular.Answer{Verb: "watch", Convert: convertTo(metadataKind)}).Watch(t.Context(), events)
		events.Action(kind, &metav1.Status{Message: marker})
		events.Add(secret())
		event := <-w.ResultChan()
		if checkShown(t, event.Object); event.Type != watch.Error {
			t.Errorf("%s is answered with %v", kind, event)
		}
		if event, more := <-w.ResultChan(); more {
			t.Errorf("the watch goes on with %v", event)
		}
		if !events.IsStopped() {
			t.Errorf("after %s, the watch of the storage goes on", kind)
		}
	}
}

// endless is a watch of the storage that does not end its events when it is stopped.
type endless struct {
	events  chan watch.Event
	stopped chan struct{}
}

func (e endless) ResultChan() <-chan watch.Event { return e.events }
func (e endless) Stop()                          { close(e.stopped) }

// TestWatchStops checks that Stop ends the watch by itself, also while an event waits for its reader, and
// stops that of the storage.
func TestWatchStops(t *testing.T) {
	for _, waits := range []bool{false, true} {
		storage := endless{make(chan watch.Event), make(chan struct{})}
		w := begun(t, granular.Answer{Verb: "watch", Convert: convertTo(metadataKind)}).Watch(t.Context(), storage)
		if waits {
			storage.events <- watch.Event{Type: watch.Added, Object: secret()} // the watch has taken it
		}
		w.Stop()
		<-storage.stopped
		for event := range w.ResultChan() { // until it is closed
			checkShown(t, event.Object)
		}
	}
}

func TestWatchEnds(t *testing.T) {
	r := begun(t, granular.Answer{Verb: "watch", Convert: convertTo(metadataKind)})
	for name, end := range map[string]func(watch.Interface, *watch.FakeWatcher){
		"stopped by the handler":             func(w watch.Interface, _ *watch.FakeWatcher) { w.Stop() },
		"stopped with an event that waits":   func(w watch.Interface, events *watch.FakeWatcher) { events.Add(secret()); w.Stop() },
		"stopped twice":                      func(w watch.Interface, _ *watch.FakeWatcher) { w.Stop(); w.Stop() },
		"ended by the storage":               func(_ watch.Interface, events *watch.FakeWatcher) { events.Stop() },
		"ended by an event that nobody knew": func(_ watch.Interface, events *watch.FakeWatcher) { events.Action("NEW", secret()) },
	} {
		t.Run(name, func(t *testing.T) {
			events := watch.NewFakeWithChanSize(1, false)
			w := r.Watch(t.Context(), events)
			end(w, events)
			for event := range w.ResultChan() { // until it is closed
				checkShown(t, event.Object)
			}
		})
	}
}

// TestAudited checks that the audit event of a read says that only metadata was read, and that of a
// refused one does not.
func TestAudited(t *testing.T) {
	for kind, want := range map[string]string{metadataKind: "true", "Secret": ""} {
		ctx := upstreamaudit.WithAuditContext(t.Context())
		if err := upstreamaudit.AuditContextFrom(ctx).Init(upstreamaudit.RequestAuditConfig{Level: auditapi.LevelMetadata}, nil); err != nil {
			t.Fatal(err)
		}
		if err := (&reduction{}).Begin(ctx, granular.Answer{Verb: "get", Convert: convertTo(kind)}); (err == nil) != (want != "") {
			t.Error(err)
		}
		if got, _ := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(audit.MetadataOnlyAnnotation); got != want {
			t.Errorf("%s: %q, wanted %q", kind, got, want)
		}
	}
}
