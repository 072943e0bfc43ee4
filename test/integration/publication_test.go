// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// TestPublication checks that only a server that authorizes single fields publishes permissions. Clients
// recognize such a server by them. Protected attributes need none.
func TestPublication(t *testing.T) {
	off := harness.Start(t, "--feature-gates", "GranularAuthorization=false,ProtectedAttributes=true")
	for _, server := range []struct {
		name      string
		cluster   *cluster.Cluster
		published bool
	}{{"on", on, true}, {"off", off, false}} {
		t.Run(server.name, func(t *testing.T) {
			harness.Define(t, server.cluster, "publications.publication.example.com", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
 metadata: {name: publications.publication.example.com}, spec: {group: publication.example.com, scope: Cluster,
 names: {plural: publications, singular: publication, kind: Publication}, versions: [{name: v1, served: true, storage: true,
 schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}]}}`)
			var documents map[string]string
			harness.Until(t, "the schema of the definition", func() bool {
				documents = publishedDocuments(t, server.cluster)
				return documents["apis/publication.example.com/v1"] != ""
			})
			for _, path := range []string{"api/v1", "apis/apps/v1", "apis/authorization.k8s.io/v1", "apis/apiextensions.k8s.io/v1",
				"apis/publication.example.com/v1", "/openapi/v2"} {
				if _, ok := documents[path]; !ok {
					t.Errorf("no document of %s among %q", path, slices.Sorted(maps.Keys(documents)))
				}
			}
			for path, text := range documents {
				// Each document with objects has their metadata, and permissions in it.
				want := server.published && strings.Contains(text, ".ObjectMeta\"")
				if found := extension.MatchString(text); found != want {
					t.Errorf("%s: permissions: %t, want %t", path, found, want)
				}
			}
		})
	}
}

// extension matches a permission in a document. The schema of schemas has properties with such names,
// whose values are objects.
var extension = regexp.MustCompile(`"x-kubernetes-permission-[a-z-]+": *[^{ ]`)

// publishedDocuments returns all OpenAPI documents of a server, by their names in its list of version 3
// and by path for version 2.
func publishedDocuments(t *testing.T, c *cluster.Cluster) map[string]string {
	t.Helper()
	read := func(path string) string {
		status, text, err := harness.Request(c, harness.Admin, http.MethodGet, path, "", "")
		if err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %v", path, status, err)
		}
		return text
	}
	var list struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(read("/openapi/v3")), &list); err != nil {
		t.Fatal(err)
	}
	documents := map[string]string{"/openapi/v2": read("/openapi/v2")}
	for name, document := range list.Paths {
		documents[name] = read(document.ServerRelativeURL)
	}
	return documents
}
