// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/pkg/cli/kinds"
)

var (
	pods   = &kinds.Kind{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Kind: corev1.SchemeGroupVersion.WithKind("Pod")}
	robots = &kinds.Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "robots"},
		Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Robot"}}
)

// TestRequestedObject checks which object a request asks for, in each way to write.
func TestRequestedObject(t *testing.T) {
	live := map[string]any{"spec": map[string]any{"a": int64(1), "list": []any{map[string]any{"name": "x", "image": "one"}}}}
	for name, tc := range map[string]struct {
		request Request
		creates bool
		want    string
		err     error
	}{
		"an update": {Request{Verb: "update", Kind: pods, Body: []byte(`{"spec":{"a":2}}`)}, false, `{"spec":{"a":2}}`, nil},
		"a create":  {Request{Verb: "create", Kind: pods, Body: []byte(`{"spec":{"a":2.5}}`)}, true, `{"spec":{"a":2.5}}`, nil},
		"an apply that creates": {Request{Verb: "patch", PatchType: types.ApplyPatchType, Kind: pods,
			Body: []byte("spec: {a: 2}")}, true, `{"spec":{"a":2}}`, nil},
		"a JSON patch": {Request{Verb: "patch", PatchType: types.JSONPatchType, Kind: robots,
			Body: []byte(`[{"op":"replace","path":"/spec/a","value":3}]`)}, false, `{"spec":{"a":3,"list":[{"image":"one","name":"x"}]}}`, nil},
		"a merge patch": {Request{Verb: "patch", PatchType: types.MergePatchType, Kind: robots,
			Body: []byte(`{"spec":{"a":null,"list":[]}}`)}, false, `{"spec":{"list":[]}}`, nil},
		"a strategic patch": {Request{Verb: "patch", PatchType: types.StrategicMergePatchType, Kind: pods,
			Body: []byte(`{"spec":{"containers":[{"name":"x"}]}}`)}, false,
			`{"spec":{"a":1,"containers":[{"name":"x"}],"list":[{"image":"one","name":"x"}]}}`, nil},
		"a strategic one of a CRD": {Request{Verb: "patch", PatchType: types.StrategicMergePatchType, Kind: robots,
			Body: []byte(`{}`)}, false, "", errNotComputable},
		"a strategic one of scale": {Request{Verb: "patch", PatchType: types.StrategicMergePatchType, Subresource: "scale",
			Kind: pods, Body: []byte(`{}`)}, false, "", errNotComputable},
		"an apply without schema": {Request{Verb: "patch", PatchType: types.ApplyPatchType, Kind: robots,
			Body: []byte(`{"apiVersion":"example.com/v1","kind":"Robot"}`)}, false, "", errNotComputable},
		"an unknown patch": {Request{Verb: "patch", PatchType: "other", Kind: robots}, false, "", errNotComputable},
	} {
		run := &DryRun{Request: tc.request, Creates: tc.creates, old: live}
		got, err := (&DryRunner{}).requestedObject(run)
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v", name, err)
		}
		if tc.err != nil {
			continue
		}
		text, err := json.Marshal(got)
		if err != nil || string(text) != tc.want {
			t.Errorf("%s: %s (%v), wanted %s", name, text, err, tc.want)
		}
	}
	for name, body := range map[string]string{"no patch": "{", "a path that is not there": `[{"op":"remove","path":"/spec/b/c"}]`} {
		run := &DryRun{Request: Request{Verb: "patch", PatchType: types.JSONPatchType, Kind: robots, Body: []byte(body)}, old: live}
		if got, err := (&DryRunner{}).requestedObject(run); err == nil || errors.Is(err, errNotComputable) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestNumbersOfBodies checks that numbers have the types by which the library compares them.
func TestNumbersOfBodies(t *testing.T) {
	got, err := asMap([]byte("a: 1\nb: 1.5\nc: 9007199254740993\n"))
	if diff := cmp.Diff(map[string]any{"a": int64(1), "b": 1.5, "c": int64(9007199254740993)}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, text := range []string{"- a", "a: [", "text"} {
		if got, err := asMap([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestProtobufOfRequests checks that an object in protobuf is read like one in JSON.
func TestProtobufOfRequests(t *testing.T) {
	object := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
	encoder := scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), corev1.SchemeGroupVersion)
	var body writer
	if err := encoder.Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	text, err := asJSON(body)
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.ConfigMap
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object, &got); diff != "" {
		t.Error(diff)
	}
	if _, err := asJSON([]byte("no object")); err == nil {
		t.Error("text is an object")
	}
}

type writer []byte

func (w *writer) Write(data []byte) (int, error) {
	*w = append(*w, data...)
	return len(data), nil
}

// TestNeededReads checks which reads of a recorded command a role must allow: replace works without the read of what it
// replaces, and every other command needs its reads.
func TestNeededReads(t *testing.T) {
	read := Read{"get", "", "pods", "shop", "web", ""}
	other := Read{"get", "", "pods", "shop", "api", ""}
	list := Read{"list", "", "pods", "shop", "", ""}
	recording := &Recording{Reads: []Read{read, other, list}, Requests: []Request{{Verb: "update", Kind: pods, Namespace: "shop",
		Name: "web"}}}
	for command, want := range map[string][]Read{"edit": {read, other, list}, "replace": {other, list}} {
		if diff := cmp.Diff(want, recording.neededReads([]string{"kubectl", command})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
	recording.Requests[0].Verb = "create"
	if got := recording.neededReads([]string{"replace"}); len(got) != 3 {
		t.Errorf("a replace that creates needs %v", got)
	}
}

// TestRehearsals checks which requests of an audit log are questions of this plugin, and so no use of a verb.
func TestRehearsals(t *testing.T) {
	for name, tc := range map[string]struct {
		agent, uri string
		resource   schema.GroupResource
		want       bool
	}{
		"a dry run": {Product + "/v1", "/api/v1/namespaces/a/pods/b?fieldManager=x&dryRun=All",
			schema.GroupResource{Resource: "pods"}, true},
		"a review of oneself": {Product + "/v1", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, true},
		"a review of another": {Product + "/v1", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, false},
		"a write":                {Product + "/v1", "/api/v1/namespaces/a/pods/b", schema.GroupResource{Resource: "pods"}, false},
		"a dry run in a name":    {Product + "/v1", "/api/v1/namespaces/a/pods/dryRun=All", schema.GroupResource{Resource: "pods"}, false},
		"another client":         {"kubectl/v1", "/api/v1/namespaces/a/pods/b?dryRun=All", schema.GroupResource{Resource: "pods"}, false},
		"a client of that name":  {Product, "/api/v1/namespaces/a/pods/b?dryRun=All", schema.GroupResource{Resource: "pods"}, false},
		"a query that is broken": {Product + "/v1", "/api/v1/namespaces/a/pods/b?dryRun=All&%", schema.GroupResource{Resource: "pods"}, false},
	} {
		if got := IsRehearsal(tc.agent, tc.uri, tc.resource); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestErrorsOfCommands checks that a command's error has each line that it printed, once.
func TestErrorsOfCommands(t *testing.T) {
	err := commandError(errors.New("exit status 1"), "\n one \n\ntwo\n")
	if err.Error() != "exit status 1\none\ntwo" {
		t.Errorf("%q", err)
	}
	one := errors.New("one")
	if got := distinct([]error{one, errors.New("two"), errors.New("one")}); len(got) != 2 || got[0] != one {
		t.Errorf("%v", got)
	}
	if got := (&Request{Kind: pods, Namespace: "shop", Name: "web",
		Subresource: "status"}).String(); got != `pods/status "web" in namespace "shop"` {
		t.Errorf("%s", got)
	}
}
