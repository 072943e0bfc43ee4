// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"net/http"
	"testing"
)

// TestRequests checks the invariant of the package: who is refused something is allowed something else on the same object.
func TestRequests(t *testing.T) {
	type pair struct{ user, path string }
	open := map[pair]bool{}
	for _, r := range Requests {
		open[pair{r.User, r.Path}] = open[pair{r.User, r.Path}] || r.Want == http.StatusOK
	}
	for who, ok := range open {
		if !ok {
			t.Errorf("%s is allowed nothing on %s", who.user, who.path)
		}
	}
}

// TestManifests checks that each object can be read, has a name, and is in the namespace or in none.
func TestManifests(t *testing.T) {
	manifests, err := (&Objects{namespace: "here"}).manifests()
	if err != nil || len(manifests) < len(Requests)/2 {
		t.Fatalf("%d objects, %v", len(manifests), err)
	}
	for _, manifest := range manifests {
		metadata, _ := manifest["metadata"].(map[string]any)
		if name, _ := metadata["name"].(string); manifest["kind"] == nil || name == "" {
			t.Errorf("an object without kind or name: %v", manifest)
		}
		if namespace := metadata["namespace"]; namespace != nil && namespace != "here" {
			t.Errorf("%v %v is in the namespace %v", manifest["kind"], metadata["name"], namespace)
		}
	}
}
