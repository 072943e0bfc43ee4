// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

func cut(name string) (resource, subresource string, found bool) { return strings.Cut(name, "/") }

// The forms in which a client can ask for metadata, for each verb, and for whole objects.
var (
	types  = []string{"application/json", "application/vnd.kubernetes.protobuf", "application/cbor", "application/yaml"}
	whole  = append([]string{"", "*/*", "application/json, " + as1("application/json", "PartialObjectMetadata")}, types...)
	tables = []string{as1("application/json", "Table"), kubectl, strings.ReplaceAll(as1("application/json", "Table"), "v=v1", "v=v1beta1")}
)

const kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"

func as1(mediaType, kind string) string { return mediaType + ";as=" + kind + ";g=meta.k8s.io;v=v1" }

func forms(kind string) (out []string) {
	for _, one := range types {
		out = append(out, as1(one, kind), as1(one, kind)+","+one)
	}
	return append(out, strings.ReplaceAll(as1("application/json", kind), "v=v1", "v=v1beta1"))
}

// request is one request of the sweep. answered is set if a holder of readmetadata gets an answer.
type request struct {
	path, accept string
	answered     bool
}

func (r served) requests() (out []request) {
	add := func(answered bool, path string, accepts ...string) {
		for _, accept := range accepts {
			out = append(out, request{path, accept, answered})
		}
	}
	one, many := r.object(), r.collection("")
	if slices.Contains(r.verbs, "get") {
		add(true, one, append(forms("PartialObjectMetadata"), tables...)...)
		add(true, one+"?includeObject=Object", tables...)
		add(true, one+"?includeObject=None&pretty=true", tables...)
		add(false, one, append(forms("PartialObjectMetadataList"), whole...)...)
	}
	if slices.Contains(r.verbs, "list") {
		add(true, many, append(forms("PartialObjectMetadataList"), tables...)...)
		add(true, many+"?includeObject=Object&resourceVersion=0", tables...)
		add(true, many+"?limit=1&labelSelector=app%3Dshop", append(forms("PartialObjectMetadataList"), tables...)...)
		add(true, r.collection(r.namespace())+"?fieldSelector=metadata.name%3D"+name, forms("PartialObjectMetadataList")...)
		add(false, many, append(forms("PartialObjectMetadata"), whole...)...)
	}
	if slices.Contains(r.verbs, "watch") {
		const initial = "&resourceVersion=0&timeoutSeconds=1"
		const streamed = "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
		add(true, many+"?watch=1"+initial, append(forms("PartialObjectMetadata"), tables...)...)
		add(true, many+"?watch=1"+streamed, forms("PartialObjectMetadata")...)
		add(true, many+"?watch=1&includeObject=Object"+initial, tables...)
		add(false, many+"?watch=1"+initial, append(forms("PartialObjectMetadataList"), whole...)...)
	}
	for _, sub := range r.subresources {
		add(false, one+"/"+sub, append(forms("PartialObjectMetadata"), append(tables, whole...)...)...)
	}
	return out
}

// TestSweep stores an object of each resource that is served, with a marker in every field that may
// not be read. It sends every form of a read as a user with readmetadata on all resources, and looks
// for the marker in each answer. What is not answered is answered byte for byte as to a stranger
// (but for the name), and the administrator sees the marker, so it is there.
//
// Attack: a caller with readmetadata alone reads every resource in every form of an answer, to find one that shows data
// Answer: metadata without annotations and managed fields, or the 403 of a caller without the verb
func TestSweep(t *testing.T) {
	harness.Define(t, on, "certificates.example.com", definition)
	allow(t, "reader", rule("*", "*", "readmetadata"))
	client := storage(t)
	resources := slices.DeleteFunc(discovered(t), func(r served) bool { return r.Resource == "componentstatuses" }) // not stored
	sent, seen := atomic.Int64{}, sync.Map{}
	for _, r := range resources {
		store(t, client, r)
	}
	reader, stranger, administrator := as(t, "reader"), as(t, "stranger"), as(t, "")
	group, slots := sync.WaitGroup{}, make(chan struct{}, 24)
	for _, r := range resources {
		if slices.Contains(r.verbs, "get") {
			if full := administrator.get(t, r.object(), ""); full.Code != http.StatusOK || !bytes.Contains(full.Body, []byte(marker)) {
				t.Errorf("%v: the administrator gets %v", r.GroupVersionResource, full)
			}
		}
		if slices.Contains(r.verbs, "list") {
			// The objects were written to storage. Some requests are answered from the server's cache, whatever it has.
			harness.Until(t, fmt.Sprintf("%v is in the cache", r.GroupVersionResource), func() bool {
				return bytes.Contains(administrator.get(t, r.collection("")+"?resourceVersion=0", "").Body, []byte(name))
			})
		}
		for _, one := range r.requests() {
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				answer := reader.get(t, one.path, one.accept)
				got := answer.Code == http.StatusOK
				for seconds := 2; got && isCut(one, answer) && seconds <= 32; seconds *= 2 {
					longer := fmt.Sprintf("timeoutSeconds=%d", seconds)
					answer = reader.get(t, strings.ReplaceAll(one.path, "timeoutSeconds=1", longer), one.accept)
					got = answer.Code == http.StatusOK
				}
				sent.Add(1)
				what := fmt.Sprintf("GET %s as %q", one.path, one.accept)
				switch {
				case shows(answer.Body) || shows([]byte(fmt.Sprint(answer.Header))):
					t.Errorf("%s shows the marker: %v", what, answer)
				case got && !one.answered:
					t.Errorf("%s is answered: %v", what, answer)
				case got && !bytes.Contains(answer.Body, []byte(name)) && !strings.Contains(one.path, "limit=1"):
					t.Errorf("%s lacks the object: %v", what, answer)
				case got:
					seen.Store(r.GroupVersionResource, true)
				case one.answered && !unsupported(one, answer):
					t.Errorf("%s: %v", what, answer)
				case !one.answered:
					other := stranger.get(t, one.path, one.accept)
					sent.Add(1)
					if text := bytes.ReplaceAll(other.Body, []byte("stranger"), []byte("reader")); len(other.Body) > 0 && isText(other) &&
						(other.Code != answer.Code || !bytes.Equal(text, answer.Body)) {
						t.Errorf("%s: %v, and a stranger gets %v", what, answer, other)
					}
				}
			})
		}
	}
	group.Wait()
	for _, r := range resources {
		if _, found := seen.Load(r.GroupVersionResource); !found {
			t.Errorf("no form of a read of %v is answered", r.GroupVersionResource)
		}
	}
	t.Logf("%d requests about %d resources", sent.Load(), len(resources))
	if sent.Load() < 1000 {
		t.Errorf("only %d requests", sent.Load())
	}
}

// isCut reports whether a watch ended before the server sent the object, as it may on a busy machine.
func isCut(one request, a harness.Answer) bool {
	return strings.Contains(one.path, "timeoutSeconds=1") && !bytes.Contains(a.Body, []byte(name)) && !strings.Contains(one.path, "limit=1")
}

// unsupported reports whether the server answers nobody in this form: it streams no YAML, and one API
// group has no protobuf.
func unsupported(one request, a harness.Answer) bool {
	return a.Code == http.StatusNotAcceptable && (strings.Contains(one.path, "watch=") && strings.Contains(one.accept, "yaml") ||
		strings.HasPrefix(one.path, "/apis/authority.kube-granular.dev/") && strings.Contains(one.accept, "protobuf"))
}

// isText reports whether the name of a user has no other length in front of it.
func isText(a harness.Answer) bool {
	return strings.HasPrefix(a.Header.Get("Content-Type"), "application/json")
}

const definition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "certificates.example.com"},
	"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Certificate", "plural": "certificates", "singular": "certificate"},
		"versions": [{"name": "v1", "served": true, "storage": true,
			"subresources": {"status": {}},
			"additionalPrinterColumns": [{"name": "Expires", "type": "string", "jsonPath": ".spec.expires"}],
			"selectableFields": [{"jsonPath": ".spec.expires"}],
			"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				"properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"expires": {"type": "string"}}}}}}}]}}`
