// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// unpatched returns the name of the image with upstream's server, or skips the test.
func unpatched(t *testing.T) string {
	t.Helper()
	image := os.Getenv("KUBE_GRANULAR_UNPATCHED")
	if image == "" {
		t.Skip("KUBE_GRANULAR_UNPATCHED names no image of upstream's server that the nodes have")
	}
	return image
}

const (
	manifest = manifests + "kube-apiserver.yaml"
	aside    = "/etc/kubernetes/ours.yaml"
)

// upstreams replaces the server of a node by upstream's, until the test ends.
func (s *set) upstreams(t *testing.T, node int, image string) {
	t.Helper()
	s.on(t, node, "cp "+manifest+" "+aside)
	t.Cleanup(func() { s.on(t, node, "[ ! -e "+aside+" ] || mv "+aside+" "+manifest) })
	s.on(t, node, `sed -e 's|image: .*kube-apiserver.*|image: `+image+`|' -e '/--feature-gates=/d' `+manifest+
		` >/etc/kubernetes/next; mv /etc/kubernetes/next `+manifest)
	s.runs(t, node, false)
}

// ours puts our server back on a node.
func (s *set) ours(t *testing.T, node int) {
	t.Helper()
	s.on(t, node, "mv "+aside+" "+manifest)
	s.runs(t, node, true)
}

// runs waits until the server of a node is ours, or upstream's, and is ready.
func (s *set) runs(t *testing.T, node int, ours bool) {
	t.Helper()
	s.until(t, fmt.Sprintf("the server of %s is ours: %t", s.nodes[node], ours), func(ctx context.Context) bool {
		data, err := s.direct[node].RESTClient().Get().AbsPath("/version").DoRaw(ctx)
		return err == nil && strings.Contains(string(data), "granular") == ours
	})
	s.ready(t, node)
}

// define installs a new definition of a kind with a permission.
func (s *set) define(t *testing.T, plural string) {
	t.Helper()
	client, err := apiextensions.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.ApiextensionsV1()
	_ = definitions.CustomResourceDefinitions().Delete(t.Context(), plural+".ha.example.com", metav1.DeleteOptions{})
	s.until(t, plural+" are defined", func(ctx context.Context) bool {
		return definitions.RESTClient().Post().Resource("customresourcedefinitions").
			SetHeader("Content-Type", "application/yaml").
			Body([]byte(strings.ReplaceAll(definition, "PLURAL", plural))).Do(ctx).Error() == nil
	})
	if !s.permission(t, 0, plural) {
		t.Fatalf("the definition of %s has no permission from the start", plural)
	}
	t.Cleanup(func() {
		_ = definitions.CustomResourceDefinitions().Delete(context.WithoutCancel(t.Context()), plural+".ha.example.com", metav1.DeleteOptions{})
	})
}

// permission reports whether the server of a node shows the permission in the definition of a
// kind.
func (s *set) permission(t *testing.T, node int, plural string) bool {
	t.Helper()
	data, err := s.direct[node].RESTClient().Get().
		AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + plural + ".ha.example.com").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(data), `"x-kubernetes-permission-verb":"example.com/valve"`)
}

// asUpstream reports whether an error is a refusal with upstream's message.
func asUpstream(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "needs one of")
}

// TestUnpatchedServerBeside replaces one of three servers by upstream's, and puts it back.
// Upstream's server must refuse granular callers with its own message, refuse nobody else, and
// leave the permissions in a stored definition that nobody writes meanwhile.
func TestUnpatchedServerBeside(t *testing.T) {
	image, s := unpatched(t), open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	s.define(t, "boilers")

	l.skewed(true)
	s.upstreams(t, 1, image)
	l.progress(t, s, "beside upstream's server", ordinary)
	l.progress(t, s, "beside upstream's server, still", ordinary)
	if !s.permission(t, 0, "boilers") {
		t.Error("the definition has lost its permission, and nobody wrote it")
	}
	// A writer keeps its connection to one server, so the test asks each server itself.
	for node, want := range []bool{true, false, true} {
		err := s.as(t, node, l.writers[0])
		if want && err != nil || !want && !asUpstream(err) {
			t.Errorf("%s answers a granular caller with %v, want it allowed: %t", s.nodes[node], err, want)
		}
	}
	s.ours(t, 1)
	l.progress(t, s, "with three servers of ours", everybody)
	l.skewed(false)
	l.progress(t, s, "with all servers alike", everybody)
	for node := range s.nodes {
		if !s.permission(t, node, "boilers") {
			t.Errorf("%s: the definition has lost its permission", s.nodes[node])
		}
	}
	l.check(t)
}

// TestDowngradeAndUpgrade replaces all three servers by upstream's, one after the other, and
// puts them back. A stored definition keeps its permissions if nobody writes it meanwhile,
// although upstream's servers do not show them. A definition that is written through upstream's
// server loses its permissions, until its author applies it again.
func TestDowngradeAndUpgrade(t *testing.T) {
	image, s := unpatched(t), open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	s.define(t, "boilers")
	s.define(t, "kettles")

	l.skewed(true)
	for node := range s.nodes {
		s.upstreams(t, node, image)
		l.progress(t, s, "after "+s.nodes[node]+" was downgraded", ordinary)
	}
	for node := range s.nodes {
		if s.permission(t, node, "boilers") {
			t.Errorf("%s: upstream's server shows a permission, which it does not know", s.nodes[node])
		}
		if err := s.as(t, node, l.writers[0]); !asUpstream(err) {
			t.Errorf("%s answers a granular caller with %v, want a refusal as upstream's", s.nodes[node], err)
		}
	}
	s.label(t, "kettles")
	for node := range s.nodes {
		s.ours(t, node)
		l.progress(t, s, "after "+s.nodes[node]+" was upgraded", ordinary)
	}
	l.progress(t, s, "with three servers of ours", everybody)
	l.skewed(false)
	l.progress(t, s, "with all servers alike", everybody)
	for node := range s.nodes {
		if !s.permission(t, node, "boilers") {
			t.Errorf("%s: a definition that nobody wrote has lost its permission", s.nodes[node])
		}
		if s.permission(t, node, "kettles") {
			t.Errorf("%s: a definition that upstream's server wrote has a permission: the docs say that it is lost", s.nodes[node])
		}
	}
	s.define(t, "kettles")
	l.check(t)
}

// label sets a label on a definition through upstream's server, so that this server stores the
// definition.
func (s *set) label(t *testing.T, plural string) {
	t.Helper()
	client, err := apiextensions.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metadata":{"labels":{"example.com/written":"by-upstream"}}}`)
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Patch(t.Context(), plural+".ha.example.com", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// definition is a definition of a kind with an excluded permission (one that `update` does not
// include).
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.ha.example.com
spec:
  group: ha.example.com
  scope: Namespaced
  names: {plural: PLURAL, kind: PLURAL}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          valve: {type: string, x-kubernetes-permission-verb: example.com/valve, x-kubernetes-permission-excluded: true}
`
