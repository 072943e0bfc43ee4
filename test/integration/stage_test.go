// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/cluster"
)

// stage is a server whose authorization chain begins with callers.
type stage struct {
	*cluster.Cluster
	callers *callers

	client *http.Client
	close  []func() error

	mu     sync.Mutex
	mapper meta.RESTMapper
}

// theStage is shared by all tests that need callers made up on the spot, and
// started by the first of them.
var (
	theStage    *stage
	theStageErr error
	raiseStage  sync.Once
)

func onStage(t *testing.T) *stage {
	t.Helper()
	raiseStage.Do(func() { theStage, theStageErr = newStage() })
	if theStageErr != nil {
		t.Fatal(theStageErr)
	}
	return theStage
}

func newStage() (s *stage, err error) {
	s = &stage{callers: &callers{}}
	defer func() {
		if err != nil {
			_ = s.stop()
		}
	}()
	dir, err := os.MkdirTemp("", "kube-granular-stage-")
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, func() error { return os.RemoveAll(dir) })
	webhook := httptest.NewTLSServer(s.callers)
	s.close = append(s.close, func() error { webhook.Close(); return nil })
	config, err := chain(dir, webhook)
	if err != nil {
		return nil, err
	}
	if s.Cluster, err = cluster.Start("--authorization-config", config, "--feature-gates", "CBORServingAndStorage=true", "--", "--runtime-config=api/all=true"); err != nil {
		return nil, err
	}
	s.close = append(s.close, s.Cluster.Stop)
	admin, err := s.Config("admin")
	if err != nil {
		return nil, err
	}
	s.client, err = rest.HTTPClientFor(admin)
	return s, err
}

// stop undoes what newStage did, last first.
func (s *stage) stop() error {
	var first error
	for i := len(s.close) - 1; i >= 0; i-- {
		if err := s.close[i](); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// authority is what a webhook configuration needs to trust a test's server.
func authority(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// answer is what the server said.
type answer struct {
	code     int
	body     []byte
	warnings []string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.code, a.body) }

// message is that of a Status, or the whole body.
func (a answer) message() string {
	var status struct{ Message string }
	if yaml.Unmarshal(a.body, &status) != nil || status.Message == "" {
		return string(a.body)
	}
	return status.Message
}

func (a answer) object(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := utiljson.Unmarshal(a.body, &out); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
	return out
}

// send makes one request as a user, or as the administrator if user is empty.
// What is not a string or bytes is sent as JSON.
func (s *stage) send(t *testing.T, user, method, path, contentType string, body any) answer {
	t.Helper()
	return s.sendAccept(t, user, method, path, contentType, "application/json", body)
}

func (s *stage) sendAccept(t *testing.T, user, method, path, contentType, accept string, body any) answer {
	t.Helper()
	a, err := s.roundTrip(user, method, path, contentType, accept, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s *stage) roundTrip(user, method, path, contentType, accept string, body any) (answer, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	case []byte:
		data = b
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
	}
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(data))
	if err != nil {
		return answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", accept)
	if user != "" {
		req.Header.Set("Impersonate-User", user)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, out, resp.Header.Values("Warning")}, err
}

// must makes one request as the administrator, which has to succeed.
func (s *stage) must(t *testing.T, method, path, contentType string, body any) answer {
	t.Helper()
	a := s.send(t, "", method, path, contentType, body)
	if a.code >= 300 {
		t.Fatalf("%s %s: %s", method, path, a)
	}
	return a
}

// live gives what the server holds, once its watch cache holds it too: the storage
// makes the first attempt of an update on what is there, and an attempt on something
// older asks about changes that nobody has made.
func (s *stage) live(t *testing.T, path string) map[string]any {
	t.Helper()
	stored := s.must(t, http.MethodGet, path, "", nil).object(t)
	version, _ := metadata(t, stored)["resourceVersion"].(string)
	return s.must(t, http.MethodGet, path+"?resourceVersion="+version, "", nil).object(t)
}

// mapping says where objects of a kind are served.
func (s *stage) mapping(t *testing.T, gvk schema.GroupVersionKind) *meta.RESTMapping {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for fresh := false; ; fresh = true {
		if s.mapper != nil {
			mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
			if err == nil {
				return mapping
			}
			if fresh {
				t.Fatal(err)
			}
		}
		admin, err := s.Config("admin")
		if err != nil {
			t.Fatal(err)
		}
		client, err := discovery.NewDiscoveryClientForConfig(admin)
		if err != nil {
			t.Fatal(err)
		}
		groups, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			t.Fatal(err)
		}
		s.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	}
}

// paths of the collection and of one object.
func (s *stage) paths(t *testing.T, object map[string]any) (collection, one string) {
	t.Helper()
	u := unstructured.Unstructured{Object: object}
	mapping := s.mapping(t, u.GroupVersionKind())
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

// named makes a name for an object or user of what a test says.
func named(parts ...any) string {
	return strings.ToLower(strings.ReplaceAll(strings.Trim(fmt.Sprint(parts...), "-"), " ", "-"))
}
