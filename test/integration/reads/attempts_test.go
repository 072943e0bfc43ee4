// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/harness"
)

// attempt is one request by which a holder of readmetadata tries to read data of the Secret "attempted".
type attempt struct {
	name string
	// method is GET if it is empty, and path begins below the namespace.
	method, path, body string
	// accept are the Accept headers, one for each value.
	accept []string
	header http.Header
	// want is the code of the answer. 0 is the answer that a caller without the verb gets.
	want int
}

var (
	oneForm = as1("application/json", "PartialObjectMetadata")
	upgrade = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		"Sec-Websocket-Version": {"13"}, "Origin": {"http://localhost"}}
)

// ofAccept are attempts by the header Accept: the entry that the filter reads is not the one that the
// handler chooses.
func ofAccept() []attempt {
	const object = "secrets/attempted"
	return []attempt{
		{name: "a second header", path: object, accept: []string{"application/json", oneForm}},
		{name: "a first header", path: object, accept: []string{oneForm, "application/json"}, want: 200},
		{name: "a better quality of the whole object", path: object, accept: []string{oneForm + ";q=0.1,application/json;q=0.9"}},
		{name: "a better quality of the metadata", path: object, accept: []string{"application/json;q=0.1," + oneForm + ";q=0.9"}, want: 200},
		{name: "any type", path: object, accept: []string{"*/*;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}, want: 200},
		{name: "any type and the whole object", path: object, accept: []string{"*/*, " + oneForm}, want: 200},
		{name: "lower case", path: object, accept: []string{strings.ToLower(oneForm)}},
		{name: "no group", path: object, accept: []string{"application/json;as=PartialObjectMetadata;v=v1"}},
		{name: "no version", path: object, accept: []string{"application/json;as=PartialObjectMetadata;g=meta.k8s.io"}},
		{name: "an unknown version first", path: object, accept: []string{"application/json;as=Table;g=meta.k8s.io;v=v9," + oneForm}, want: 200},
		{name: "the last of two kinds", path: object, accept: []string{"application/json;as=Secret;as=Table;g=meta.k8s.io;v=v1"}, want: 200},
		{name: "the first of two kinds", path: object, accept: []string{"application/json;as=Table;as=Secret;g=meta.k8s.io;v=v1"}},
		{name: "quoted", path: object, accept: []string{`application/json;as="Table";g="meta.k8s.io";v="v1"`}},
		{name: "a stream", path: object, accept: []string{oneForm + ";stream=watch"}, want: 200},
		{name: "the kind itself", path: object, accept: []string{"application/json;as=Secret;g=;v=v1"}},
		{name: "the kind of the list", path: "secrets", accept: []string{"application/json;as=SecretList;g=;v=v1"}},
		{name: "a list of anything", path: "secrets", accept: []string{"application/json;as=List;g=;v=v1"}},
		{name: "a status", path: object, accept: []string{"application/json;as=Status;g=meta.k8s.io;v=v1"}},
		{name: "an event", path: "secrets?watch=1&timeoutSeconds=1", accept: []string{"application/json;as=WatchEvent;g=meta.k8s.io;v=v1"}},
		{name: "a table in protobuf", path: "secrets", accept: []string{as1("application/vnd.kubernetes.protobuf", "Table")}},
		{name: "a table in CBOR", path: "secrets", accept: []string{as1("application/cbor", "Table")}},
		{name: "text", path: object, accept: []string{as1("text/plain", "Table")}},
		{name: "a broken entry", path: object, accept: []string{"application/json;as=,;;=," + oneForm}},
	}
}

// ofQueries are attempts by parameters.
func ofQueries() (out []attempt) {
	token := func(start string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"` + start + `"}`))
	}
	add := func(want int, path string, accept string) {
		out = append(out, attempt{name: path, path: path, accept: []string{accept}, want: want})
	}
	add(400, "secrets/attempted?export=true", oneForm)
	add(200, "secrets/attempted?watch=1", oneForm)
	add(200, "secrets/attempted?fieldSelector=type%3DOpaque", oneForm) // a get has no selector
	add(200, "secrets/attempted?pretty=1&dryRun=All&fieldValidation=Strict&fieldManager=a", oneForm)
	add(200, "secrets/attempted?resourceVersion=0", kubectl)
	add(504, "secrets/attempted?resourceVersion=99999999999", oneForm)
	add(400, "secrets/attempted?includeObject=object", kubectl)
	add(200, "secrets/attempted?includeobject=Object", kubectl)
	add(200, "secrets/attempted?includeObject=None&includeObject=Object", kubectl)
	add(200, "secrets?includeObject=Object&includeObject=None", kubectl)
	add(200, "secrets?watch=1&timeoutSeconds=1&resourceVersion=0&includeObject=Object&includeObject=Metadata", kubectl)
	add(200, "secrets?resourceVersion=1&resourceVersionMatch=Exact", listed)
	add(422, "secrets?resourceVersion=0&resourceVersionMatch=Exact", listed)
	add(422, "secrets?watch=1&sendInitialEvents=true&timeoutSeconds=1", oneForm)
	add(400, "secrets?limit=1&continue="+token("../../configmaps/default/"), listed)
	add(400, "secrets?limit=1&continue="+token("/../kube-system/"), listed)
	add(200, "secrets?limit=1&continue="+token("a"), listed)
	add(400, "secrets?limit=1&continue="+marker, listed)
	add(400, "secrets?limit=many", listed)
	add(400, "secrets?limit=many", "application/json,"+listed) // parameters are judged before the form of the answer
	add(400, "secrets?labelSelector=%21%21", listed)
	for _, field := range []string{"data", "data.password", "type", "immutable", "metadata.annotations", "metadata.annotations.note", "metadata.labels.made",
		"metadata.uid", "metadata.managedFields", "metadata.creationTimestamp", "metadata.resourceVersion"} {
		add(400, "secrets?fieldSelector="+field+"%3Da", listed)
		add(400, "secrets?fieldSelector=metadata.name%3Dattempted%2C"+field+"%21%3Da", listed)
	}
	for _, one := range []string{"involvedObject.name", "reason", "source", "type"} {
		add(400, "events?fieldSelector="+one+"%3Da", listed)
	}
	return out
}

// ofPaths are attempts by methods, subresources, and paths that the filter and the handlers may read
// differently.
func ofPaths() (out []attempt) {
	add := func(method, path, accept string, header http.Header) {
		out = append(out, attempt{name: method + " " + path, method: method, path: path, accept: []string{accept}, header: header})
	}
	for path, accept := range map[string]string{"secrets/attempted": oneForm, "secrets": listed} { // no handler has this method
		out = append(out, attempt{name: "HEAD " + path, method: http.MethodHead, path: path, accept: []string{accept}, want: 405})
	}
	for _, method := range []string{http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		add(method, "secrets/attempted?dryRun=All", oneForm, http.Header{"Content-Type": {"application/merge-patch+json"}})
		add(method, "secrets?dryRun=All", listed, http.Header{"Content-Type": {"application/json"}})
	}
	add(http.MethodPost, "secrets", listed, http.Header{"X-Http-Method-Override": {"GET"}})
	for _, path := range []string{"secrets/attempted/status", "secrets/attempted/scale", "secrets/attempted/log", "secrets/attempted/none",
		"secrets/attempted%2Fstatus", "secrets/attempted/status/../..", "status", "finalize", "configmaps/attempted/status",
		"pods/attempted/log", "pods/attempted/status", "pods/attempted/ephemeralcontainers", "pods/attempted/resize", "pods/attempted/exec?command=ls",
		"pods/attempted/attach", "pods/attempted/portforward", "pods/attempted/proxy", "services/attempted/proxy", "services/attempted/proxy/secrets",
		"serviceaccounts/default/token"} {
		for _, accept := range []string{oneForm, kubectl} {
			add(http.MethodGet, path, accept, nil)
		}
	}
	for _, path := range []string{"/api/v1/nodes/a/proxy/pods", "/api/v1/proxy/namespaces/default/secrets/attempted", "/api/v1/nodes/a/proxy/logs?query=a",
		"/apis/apps/v1/namespaces/default/deployments/a/scale", "/apis/example.com/v1/namespaces/default/certificates/a/status",
		"/apis/example.com/v1/namespaces/default/certificates/a/scale", "/api/v1/namespaces/default/finalize", "/api/v1/namespaces/default/status",
		"/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval"} {
		add(http.MethodGet, path, oneForm, nil)
		add(http.MethodGet, path, kubectl, upgrade)
	}
	add(http.MethodGet, "pods/attempted/exec?command=ls", oneForm, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}})
	return out
}

// ofHeaders are attempts by other headers.
func ofHeaders() []attempt {
	return []attempt{
		{name: "compressed", path: "secrets", accept: []string{listed}, header: http.Header{"Accept-Encoding": {"gzip"}}, want: 200},
		{name: "a range", path: "secrets/attempted", accept: []string{oneForm}, header: http.Header{"Range": {"bytes=0-10"}}, want: 200},
		{name: "a condition", path: "secrets/attempted", accept: []string{oneForm}, header: http.Header{"If-None-Match": {"*"}}, want: 200},
		{name: "an upgraded get", path: "secrets/attempted", accept: []string{oneForm}, header: upgrade, want: 200},
		{name: "an upgraded list", path: "secrets", accept: []string{listed}, header: upgrade, want: 200},
		{name: "a binary WebSocket", path: "secrets?watch=1&resourceVersion=0&timeoutSeconds=1", accept: []string{oneForm},
			header: merged(upgrade, "Sec-Websocket-Protocol", "base64.binary.k8s.io"), want: 101},
		{name: "SPDY", path: "secrets?watch=1&resourceVersion=0&timeoutSeconds=1", accept: []string{oneForm},
			header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}, want: 200},
		{name: "another body", path: "secrets", accept: []string{listed}, header: http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}, want: 200},
	}
}

func merged(header http.Header, name, value string) http.Header {
	out := header.Clone()
	out.Set(name, value)
	return out
}

// sender sends requests with any headers, and does not uncompress answers.
func sender(t *testing.T, user string) func(attempt) harness.Answer {
	t.Helper()
	config := rest.CopyConfig(harness.Config(t, on, "admin"))
	config.NextProtos = []string{"http/1.1"} // upgrades need it
	config.DisableCompression = true
	config.Impersonate = harness.Impersonating(user, "system:unauthenticated")
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return func(a attempt) harness.Answer {
		t.Helper()
		path := a.path
		if !strings.HasPrefix(path, "/") {
			path = "/api/v1/namespaces/default/" + path
		}
		req, err := http.NewRequestWithContext(t.Context(), a.method, on.URL+path, strings.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = a.header.Clone()
		if req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header["Accept"] = a.accept
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body) // an upgraded connection ends without an end of its body
		if resp.Header.Get("Content-Encoding") == "gzip" {
			if unpacked, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, _ = io.ReadAll(unpacked)
			}
		}
		return harness.Answer{Code: resp.StatusCode, Body: body, Header: resp.Header}
	}
}

// TestAttempts sends every attempt as a holder of readmetadata on everything, and as a stranger. What is
// refused must be refused byte for byte as to the stranger.
//
// Attack: a caller with readmetadata alone sends several Accept headers, qualities, unknown kinds, continue tokens of other places,
// field selectors on annotations and data, other methods, subresources, proxies, upgrades or ranges
// Answer: metadata without annotations and managed fields, an error about the parameter, or the 403 of a caller without the verb
func TestAttempts(t *testing.T) {
	harness.Define(t, on, "certificates.example.com", definition)
	makeSecret(t, "attempted")
	allow(t, "attempter", rule("*", "*", "readmetadata"))
	reader, stranger := sender(t, "attempter"), sender(t, "stranger")
	all := append(append(ofAccept(), ofQueries()...), append(ofPaths(), ofHeaders()...)...)
	for _, one := range all {
		answer := reader(one)
		if shows(answer.Body) && !strings.Contains(one.path, marker) || shows([]byte(fmt.Sprint(answer.Header))) {
			t.Errorf("%s: shows data: %v", one.name, answer)
		}
		if one.want != 0 {
			if answer.Code != one.want {
				t.Errorf("%s: %v, wanted %d", one.name, answer, one.want)
			}
			continue
		}
		other := stranger(one)
		text := bytes.ReplaceAll(other.Body, []byte("stranger"), []byte("attempter"))
		if answer.Code != other.Code || isText(other) && !bytes.Equal(answer.Body, text) {
			t.Errorf("%s: %v, and a stranger gets %v", one.name, answer, other)
		}
		if answer.Code < 400 && one.method != http.MethodOptions {
			t.Errorf("%s: a stranger gets %v", one.name, other)
		}
	}
	t.Logf("%d attempts", len(all))
}

// TestSizes checks that the sizes of answers say nothing about the sizes of data, of annotations, or of
// the number of managers.
//
// Attack: a caller with readmetadata alone compares the sizes of answers about objects of different sizes
// Answer: the same size
func TestSizes(t *testing.T) {
	client := harness.Administrator(t, on)
	for name, size := range map[string]int{"size-small": 1, "size-large": 200_000} {
		if _, err := client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"note": strings.Repeat("a", size)}},
			StringData: map[string]string{"data": strings.Repeat("a", size)},
		}, metav1.CreateOptions{FieldManager: fmt.Sprintf("manager-%d", size)}); err != nil {
			t.Fatal(err)
		}
	}
	allow(t, "measurer", rule("", "secrets", "readmetadata"))
	reader := sender(t, "measurer")
	for _, accept := range []string{oneForm, kubectl, as1("application/vnd.kubernetes.protobuf", "PartialObjectMetadata"),
		as1("application/cbor", "PartialObjectMetadata")} {
		for _, encoding := range []string{"identity", "gzip"} {
			size := func(name string) (int, string) {
				answer := reader(attempt{path: "secrets/" + name, accept: []string{accept}, header: http.Header{"Accept-Encoding": {encoding}}})
				if answer.Code != http.StatusOK || len(answer.Body) > 2000 {
					t.Errorf("%s: %v", name, answer)
				}
				return len(answer.Body), answer.Header.Get("Content-Length")
			}
			small, smallLength := size("size-small")
			large, largeLength := size("size-large")
			if small != large || smallLength != largeLength {
				t.Errorf("%s, %s: %d (%s) and %d (%s) bytes", accept, encoding, small, smallLength, large, largeLength)
			}
		}
	}
}
