// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/integration/harness"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: protectedattributes.authority.kube-granular.dev}
spec:
  group: authority.kube-granular.dev
  scope: Namespaced
  names: {plural: protectedattributes, singular: protectedattribute, kind: ProtectedAttribute, shortNames: [pattr]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestDefinitionOfTheSameName checks a CustomResourceDefinition with the group and kind of our
// protected attributes. It is not served. Its deletion, which deletes all objects of a
// definition, deletes none of ours.
//
// Attack: a custom resource definition of the protected attributes' group and kind, with another
// version, created and deleted
// Answer: 404 in its version; the attributes stay
func TestDefinitionOfTheSameName(t *testing.T) {
	namespace(t, on, "definition")
	ours, _ := clients(t, on)
	attributes := ours.AuthorityV1alpha1().ProtectedAttributes("definition")
	if _, err := attributes.Create(t.Context(), attribute("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.MustKubectl(t, on, definition, "create", "-f", "-")
	harness.MustKubectl(t, on, "", "wait", "--for=condition=Established", "crd/protectedattributes.authority.kube-granular.dev")
	body := `{"apiVersion":"authority.kube-granular.dev/v1","kind":"ProtectedAttribute","metadata":{"name":"b"},"spec":{"attributeKind":"Nonsense"}}`
	other := group + "/v1/namespaces/definition/protectedattributes"
	// Our server serves the whole group natively, so no definition can serve a path below it.
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if status, _, answer := do(t, on, method, other, "application/json", "application/json", []byte(body)); status != http.StatusNotFound {
			t.Errorf("%s in the version of the definition: status %d: %s", method, status, answer)
		}
	}
	list, err := attributes.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("with the definition: %d objects, error %v", len(list.Items), err)
	}
	if out := harness.MustKubectl(t, on, "", "get", "pattr", "-n", "definition"); !strings.Contains(out, "example.com/tier") {
		t.Errorf("kubectl prefers the definition:\n%s", out)
	}
	// kubectl waits until the definition is gone. Before that, the server deletes all objects
	// of the definition.
	harness.MustKubectl(t, on, "", "delete", "--timeout=4m", "crd", "protectedattributes.authority.kube-granular.dev")
	if _, err := attributes.Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Errorf("after the definition was deleted: %v", err)
	}
	harness.Until(t, "the APIService is there", func() bool {
		_, err := harness.Kubectl(t, on, "", "get", "apiservice", "v1alpha1.authority.kube-granular.dev")
		return err == nil
	})
}
