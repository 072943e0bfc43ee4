// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/test/integration/harness"
)

// TestClusterScoped checks that the validation of a ProtectedAttribute knows for every served
// resource whether it is namespaced.
func TestClusterScoped(t *testing.T) {
	client := harness.Administrator(t, server)
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for _, list := range lists {
		group, _, found := strings.Cut(list.GroupVersion, "/")
		if !found {
			group = ""
		}
		for _, r := range list.APIResources {
			// Objects of a resource that can't be updated, such as reviews, are not stored, so
			// they have no labels to protect.
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "update") {
				continue
			}
			met++
			if got := validation.ClusterScoped(v1alpha1.GroupResource{Group: group, Resource: r.Name}); got == r.Namespaced {
				t.Errorf("%s of %s is namespaced: %t, and validation has the contrary", r.Name, list.GroupVersion, r.Namespaced)
			}
		}
	}
	if met < 50 {
		t.Errorf("only %d resources are served", met)
	}
}
