// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package alike

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	restclient "k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
)

func cmpDiff(want, got any) string { return cmp.Diff(want, got) }

// server is one of the servers whose responses are compared.
type server struct {
	*cluster.Cluster
	client *http.Client
}

// start starts a server, and checks that the feature gate on is enabled, and no other of gates.
// If on is empty, none may be enabled.
func start(t *testing.T, on string) *server {
	t.Helper()
	var flags []string
	if on != "" {
		flags = []string{"--feature-gates", on + "=true"}
	}
	c, err := cluster.Start(flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Cluster: c}
	if s.client, err = restclient.HTTPClientFor(config); err != nil {
		t.Fatal(err)
	}
	_, metrics := s.do(t, http.MethodGet, "/metrics", "", nil)
	for _, gate := range gates {
		enabled := map[bool]string{true: "1", false: "0"}[gate == on]
		if !strings.Contains(string(metrics), fmt.Sprintf("kubernetes_feature_enabled{name=%q,stage=\"ALPHA\"} %s", gate, enabled)) {
			t.Fatalf("the server does not say that %s is %s", gate, enabled)
		}
	}
	return s
}

func (s *server) do(t *testing.T, method, path, contentType string, body any) (int, []byte) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		data = nil
	}
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// define creates the CustomResourceDefinition, and waits until both versions of the custom
// resource are served. It also creates the service account that pods need, because no controller
// does.
func (s *server) define(t *testing.T) {
	t.Helper()
	if code, answer := s.do(t, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", "application/json", document("{metadata: {name: default}}")); code != http.StatusCreated && code != http.StatusConflict {
		t.Fatalf("%d %s", code, answer)
	}
	one := func(name, stored string) string {
		return strings.NewReplacer("NAME", name, "STORED", stored, "\n", " ").Replace(version)
	}
	text := strings.NewReplacer("VERSION1", one("v1", "true"), "VERSION2", one("v2", "false")).Replace(definition)
	if code, answer := s.do(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", document(text)); code != http.StatusCreated {
		t.Fatalf("%d %s", code, answer)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		for _, v := range []string{"v1", "v2"} {
			if code, _ := s.do(t, http.MethodGet, "/apis/pruned.example.com/"+v+"/widgets", "", nil); code != http.StatusOK {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// answer is what is compared between the servers after each request.
type answer struct {
	Code int
	// There is true if the object exists after the request.
	There bool
	// Message is the error message, if the request was refused. Managed are the entries of
	// managedFields, one per line. Object is the rest of the object.
	Message, Managed, Object string
}

const name = "object"

// accidents matches those parts of an object that differ between servers: times, UIDs and
// resource versions.
var accidents = regexp.MustCompile(`( at )?\d{4}-\d\d-\d\dT[0-9:]+Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|resourceVersion\W+\d+`)

// send sends the request that w describes, and reads the object afterwards.
func (s *server) send(t *testing.T, k kind, w write) answer {
	t.Helper()
	collection := fmt.Sprintf(k.collection, w.version)
	one := collection + "/" + name
	path, query := one, "?fieldManager="+w.manager
	if w.status {
		path += "/status"
	}
	var code int
	var body []byte
	switch w.way {
	case "post":
		code, body = s.do(t, http.MethodPost, collection+query, "application/json", overlay(k.object(w.version), w.change))
	case "put":
		_, live := s.do(t, http.MethodGet, path, "", nil)
		object := map[string]any{}
		if err := json.Unmarshal(live, &object); err != nil || object["kind"] != k.kind {
			object = k.object(w.version) // a PUT of an object that does not exist creates it
		}
		object = overlay(object, w.change)
		switch metadata := object["metadata"].(map[string]any); w.fields {
		case "absent":
			delete(metadata, "managedFields")
		case "emptied":
			metadata["managedFields"] = []any{map[string]any{}}
		}
		code, body = s.do(t, http.MethodPut, path+query, "application/json", object)
	case "merge", "strategic":
		code, body = s.do(t, http.MethodPatch, path+query, "application/"+map[string]string{"merge": "merge", "strategic": "strategic-merge"}[w.way]+"-patch+json", w.change)
	case "json":
		code, body = s.do(t, http.MethodPatch, path+query, "application/json-patch+json", operations("", w.change, nil))
	case "apply":
		intent := overlay(map[string]any{"apiVersion": k.groupVersion(w.version), "kind": k.kind, "metadata": map[string]any{"name": name}}, w.change)
		code, body = s.do(t, http.MethodPatch, path+query+fmt.Sprintf("&force=%v", w.force), "application/apply-patch+yaml", intent)
	case "delete":
		code, body = s.do(t, http.MethodDelete, one+"?gracePeriodSeconds=0", "", nil)
	}
	out := answer{Code: code}
	if code >= 400 {
		status := struct{ Message string }{}
		if err := json.Unmarshal(body, &status); err != nil {
			t.Fatal(err)
		}
		// The order of several errors in a message is random, and so is the spacing in a diff.
		// So lines are sorted, and spaces are unified. A message may contain the whole object, and any entry of its
		// managedFields may be the last one, before the brackets.
		lines := strings.FieldsFunc(accidents.ReplaceAllString(status.Message, ""), func(r rune) bool { return r == '\n' || r == ',' })
		for i := range lines {
			lines[i] = strings.TrimRight(strings.Join(strings.Fields(lines[i]), " "), "]}")
		}
		slices.Sort(lines)
		out.Message = strings.Join(lines, "\n")
	}
	found, live := s.do(t, http.MethodGet, one, "", nil)
	out.There = found == http.StatusOK
	out.Managed, out.Object = managed(t, live), rest(t, live)
	return out
}

func (k kind) groupVersion(version string) string {
	return strings.TrimPrefix(k.group+"/"+version, "/")
}

func (k kind) object(version string) map[string]any {
	return overlay(k.base(version), map[string]any{"apiVersion": k.groupVersion(version), "kind": k.kind, "metadata": map[string]any{"name": name}})
}

// operations converts a merge patch to a JSON patch. Maps in metadata are added as a whole, in
// case the object does not have them.
func operations(path string, change map[string]any, out []any) []any {
	names := make([]string, 0, len(change))
	for name := range change {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		switch value := change[name].(type) {
		case nil:
			out = append(out, map[string]any{"op": "remove", "path": at})
		case map[string]any:
			if strings.Count(at, "/") > 1 && len(value) > 0 && strings.HasPrefix(at, "/metadata/") {
				out = append(out, map[string]any{"op": "add", "path": at, "value": overlay(map[string]any{}, value)})
			} else {
				out = operations(at, value, out)
			}
		default:
			out = append(out, map[string]any{"op": "add", "path": at, "value": value})
		}
	}
	if out == nil {
		return []any{}
	}
	return out
}

// managed returns the entries of managedFields without their times, sorted, one per line.
func managed(t *testing.T, object []byte) string {
	t.Helper()
	var o struct {
		Metadata struct {
			ManagedFields []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	var lines []string
	for _, entry := range o.Metadata.ManagedFields {
		var b strings.Builder
		for _, key := range []string{"manager", "operation", "apiVersion", "subresource", "fieldsType", "fieldsV1"} {
			fmt.Fprintf(&b, "%s: %s ", key, entry[key])
		}
		fmt.Fprintf(&b, "has a time: %v\n", len(entry["time"]) > 0)
		lines = append(lines, b.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// rest returns an object without managedFields and without the parts that differ between
// servers.
func rest(t *testing.T, object []byte) string {
	t.Helper()
	o := map[string]any{}
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	if metadata, ok := o["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	out, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return accidents.ReplaceAllString(string(out), "")
}
