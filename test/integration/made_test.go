// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// install creates a CustomResourceDefinition and returns once it is served.
func (s *stage) install(t *testing.T, manifest []byte) {
	t.Helper()
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(manifest, &crd); err != nil {
		t.Fatal(err)
	}
	if a := s.send(t, "", http.MethodPost, definitions, contentTypes["yaml"], manifest); a.code >= 300 && a.code != http.StatusConflict {
		t.Fatal(a)
	}
	served := fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, crd.Spec.Versions[0].Name, crd.Spec.Names.Plural)
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.send(t, "", http.MethodGet, served, "", nil).code == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("%s is not served: %v", served, err)
	}
}

func fromYAML(t *testing.T, manifest string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// made creates an object as the administrator, with a name of its own, and gives
// its path and what is stored.
func (s *stage) made(t *testing.T, manifest string) (path string, live map[string]any) {
	t.Helper()
	object := fromYAML(t, manifest)
	u := unstructured.Unstructured{Object: object}
	u.SetName(fmt.Sprintf("%s-%d", u.GetName(), namespaces.Add(1)))
	if u.GetNamespace() == "" && s.mapping(t, u.GroupVersionKind()).Scope.Name() == meta.RESTScopeNameNamespace {
		u.SetNamespace("default")
	}
	collection, _ := s.paths(t, object)
	one := s.post(t, collection, object)
	return one, s.live(t, one)
}

// madeIn is made where discovery need not know the kind yet. It returns the path.
func (s *stage) madeIn(t *testing.T, collection, manifest string) string {
	t.Helper()
	object := fromYAML(t, manifest)
	metadata(t, object)["name"] = fmt.Sprintf("%s-%d", metadata(t, object)["name"], namespaces.Add(1))
	return s.post(t, collection, object)
}

// post creates an object as the administrator and returns its path.
func (s *stage) post(t *testing.T, collection string, object map[string]any) string {
	t.Helper()
	s.must(t, http.MethodPost, collection, contentTypes["json"], object)
	return collection + "/" + url.PathEscape(metadata(t, object)["name"].(string))
}

// twins sends one request twice: by a caller who holds all of grants but the first,
// which is refused, says why and changes nothing at path; and by one who holds all
// of them, which is not. It gives the second answer.
func (s *stage) twins(t *testing.T, path, says string, grants []string, do func(user string) answer) answer {
	t.Helper()
	n := namespaces.Add(1)
	refused, allowed := fmt.Sprintf("refused-%d", n), fmt.Sprintf("allowed-%d", n)
	s.callers.call(refused, grants[1:]...)
	s.callers.call(allowed, grants...)
	before := s.send(t, "", http.MethodGet, path, "", nil)
	if a := do(refused); a.code != http.StatusForbidden || !strings.Contains(a.message(), says) {
		t.Errorf("without %s: got %s\nwanted 403 and %q", grants[0], a, says)
	}
	if after := s.send(t, "", http.MethodGet, path, "", nil); !bytes.Equal(before.body, after.body) {
		t.Errorf("it was refused and stored:\n%s\n%s", before, after)
	}
	a := do(allowed)
	if a.code >= 300 {
		t.Errorf("with all of %q: got %s", grants, a)
	}
	return a
}
