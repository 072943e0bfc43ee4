// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/test/integration/etcd"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// request is the request to send to a path. must is true if a caller with every general
// permission must succeed.
type request struct {
	url, contentType string
	body             func() any
	must             bool
}

func code(status int) string { return strconv.Itoa(status) }

// operations are resources and subresources that do something else than write fields of an
// object. They are posted, or connect to another server. The server refuses granular callers
// before it reads a body.
var operations = map[string]string{
	"bindings": "", "selfsubjectreviews": "", "tokenreviews": "",
	"localsubjectaccessreviews": "", "selfsubjectaccessreviews": "", "selfsubjectrulesreviews": "", "subjectaccessreviews": "",
	"pods/attach": "", "pods/binding": "", "pods/eviction": "", "pods/exec": "", "pods/portforward": "", "pods/proxy": "", "pods/proxy/{path}": "",
	"services/proxy": "", "services/proxy/{path}": "", "nodes/proxy": "", "nodes/proxy/{path}": "", "serviceaccounts/token": "", "things": "",
}

// changes maps subresources other than status to the change that the test merges into the
// object.
var changes = map[string]string{
	"ephemeralcontainers": `{"spec":{"ephemeralContainers":[{"name":"e","image":"i","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]}}`,
	"finalize":            `{"spec":{"finalizers":["kubernetes","example.com/f"]}}`,
	"expiration":          `{"spec":{"expirationTimestamp":"2099-01-01T00:00:00Z"}}`,
	"approval":            `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"r"}]}}`,
}

// statuses are used for resources whose test data in upstream has no usable status.
var statuses = map[string]string{
	"cronjobs": `{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}`,
}

// request creates the object of a path if necessary, and returns the request to send.
func (s *server) request(t *testing.T, p path, data map[schema.GroupVersionResource]etcd.StorageData) request {
	t.Helper()
	stub, known := data[p.GroupVersionResource]
	if _, ok := operations[p.resource()]; ok {
		return request{url: p.url(namespace, operationName(p)), contentType: contentType(p), body: func() any {
			return map[string]any{"apiVersion": p.kind.GroupVersion().String(), "kind": p.kind.Kind,
				"metadata": map[string]any{"name": operationName(p)}}
		}}
	}
	if !known {
		t.Fatalf("nothing is known about %s: if it is an operation, name it as such; else upstream's test data lacks it", p.GroupVersionResource)
	}
	object := parse(t, stub.Stub, p)
	if p.subresource != "" {
		object["kind"] = s.kind(t, p)
	}
	name := object["metadata"].(map[string]any)["name"].(string)
	if p.verb == "create" {
		// If the request were allowed, the status would be 201, or 409 if the object exists.
		return request{url: p.url(namespace, "") + "?dryRun=All", contentType: mediaJSON,
			body: func() any { return object }}
	}
	s.make(t, p, stub, object, name)
	s.turn++
	change := map[string]any{"metadata": map[string]any{"labels": map[string]any{"paths.example.com/walked": strconv.Itoa(s.turn)}}}
	must := p.subresource == ""
	switch {
	case p.subresource == "status":
		change = s.statusChange(t, p, stub, name)
	case p.subresource == "resize":
		change = s.resized(t, p, name)
	case p.subresource == "scale":
		change = map[string]any{"spec": map[string]any{"replicas": s.turn}}
	case p.subresource != "":
		text, ok := changes[p.subresource]
		if !ok {
			t.Fatalf("it is not known what to change through %s", p.resource())
		}
		change = map[string]any{}
		if err := json.Unmarshal([]byte(text), &change); err != nil {
			t.Fatal(err)
		}
	}
	url := p.url(namespace, name)
	if p.subresource != "" {
		url += "?dryRun=All" // a dry run, so that the next path finds the same object
	}
	if p.verb == "patch" {
		return request{url: url, contentType: mediaMerge, must: must, body: func() any { return change }}
	}
	return request{url: url, contentType: mediaJSON, must: must, body: func() any {
		live := map[string]any{}
		s.read(t, readable(p, namespace, name), &live)
		return corpus.Overlay(live, change)
	}}
}

// expiration returns a request to the expiration of a delegation that the user created. The server
// refuses all other users before it looks at fields.
func (s *server) expiration(t *testing.T, p path, user string, stub etcd.StorageData) request {
	t.Helper()
	main, name := p, "own-"+user
	main.subresource = ""
	object := parse(t, stub.Stub, main)
	object["metadata"] = map[string]any{"name": name}
	call := harness.Call{Method: http.MethodPost, Path: main.url(namespace, ""), ContentType: mediaJSON, Body: object, As: harness.Impersonating(user, "system:masters")}
	if answer, err := s.Do(t.Context(), call); err != nil || answer.Code != http.StatusCreated && answer.Code != http.StatusConflict {
		t.Fatalf("create %s: %v, %d %s", name, err, answer.Code, answer.Body)
	}
	change := map[string]any{}
	if err := json.Unmarshal([]byte(changes[p.subresource]), &change); err != nil {
		t.Fatal(err)
	}
	if p.verb != "patch" {
		change["apiVersion"], change["kind"], change["metadata"] = object["apiVersion"], object["kind"], object["metadata"]
	}
	return request{url: p.url(namespace, name) + "?dryRun=All", contentType: contentType(p), must: true, body: func() any { return change }}
}

// readable returns the URL path where the object of a path can be read. Of the subresources,
// only scale can be read.
func readable(p path, namespace, name string) string {
	if p.subresource != "scale" {
		p.subresource = ""
	}
	return p.url(namespace, name)
}

func operationName(p path) string {
	if p.subresource == "" && p.verb == "create" {
		return ""
	}
	return "x"
}

func contentType(p path) string {
	if p.verb == "patch" {
		return mediaMerge
	}
	return mediaJSON
}

// kind returns the kind of the resource that a subresource belongs to.
func (s *server) kind(t *testing.T, p path) string {
	t.Helper()
	for _, main := range s.paths {
		if main.GroupVersionResource == p.GroupVersionResource && main.subresource == "" {
			return main.kind.Kind
		}
	}
	t.Fatalf("%s belongs to nothing", p.resource())
	return ""
}

// make creates the object of a path unless it exists.
func (s *server) make(t *testing.T, p path, stub etcd.StorageData, object map[string]any, name string) {
	t.Helper()
	main := p
	main.subresource = ""
	if status, _ := s.send(t, "", http.MethodGet, main.url(namespace, name), "", nil); status == http.StatusOK {
		return
	}
	for _, before := range stub.Prerequisites {
		for _, other := range s.paths {
			if other.GroupVersionResource == before.GvrData && other.subresource == "" && other.verb == "create" {
				status, answer := s.send(t, "", http.MethodPost, other.url(namespace, ""), mediaJSON, parse(t, before.Stub, other))
				if status >= 300 && status != http.StatusConflict {
					t.Fatalf("create %s: %d %s", other, status, answer)
				}
			}
		}
	}
	status, answer := s.send(t, "", http.MethodPost, main.url(namespace, ""), mediaJSON, object)
	if status >= 300 {
		t.Fatalf("create %s: %d %s", main.resource(), status, answer)
	}
}

// statusChange returns a status that differs from the stored one.
func (s *server) statusChange(t *testing.T, p path, stub etcd.StorageData, name string) map[string]any {
	t.Helper()
	live, change := map[string]any{}, map[string]any{}
	s.read(t, readable(p, namespace, name), &live)
	for _, text := range []string{statuses[p.Resource], stub.GetStatusStub(), stub.GetMutatedStatusStub()} {
		if text == "" {
			continue
		}
		change = map[string]any{}
		if err := json.Unmarshal([]byte(text), &change); err != nil {
			t.Fatal(err)
		}
		before, _ := json.Marshal(live["status"])
		after, _ := json.Marshal(corpus.Overlay(live, change)["status"])
		if string(before) != string(after) {
			break
		}
	}
	return map[string]any{"status": change["status"]}
}

// resized returns a change of the CPU of a pod's first container.
func (s *server) resized(t *testing.T, p path, name string) map[string]any {
	t.Helper()
	live := map[string]any{}
	s.read(t, readable(p, namespace, name), &live)
	containers := live["spec"].(map[string]any)["containers"].([]any)
	first := maps.Clone(containers[0].(map[string]any))
	first["resources"] = map[string]any{"limits": map[string]any{"cpu": fmt.Sprintf("%dM", s.turn)},
		"requests": map[string]any{"cpu": fmt.Sprintf("%dM", s.turn)}}
	return map[string]any{"spec": map[string]any{"containers": append([]any{first}, containers[1:]...)}}
}
