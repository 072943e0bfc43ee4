// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owners reports whether the request changes the owner references of the object. blocked are the owners
// whose deletion then waits for the object, and did not before: their field blockOwnerDeletion
// becomes true. They are formatted as Deployment.apps "web".
func (r *DryRun) Owners() (changed bool, blocked []string) {
	before, after := ownersOf(r.old), ownersOf(r.new)
	waits := map[any]bool{}
	for _, owner := range before {
		waits[owner["uid"]] = owner["blockOwnerDeletion"] == true
	}
	for _, owner := range after {
		if owner["blockOwnerDeletion"] == true && !waits[owner["uid"]] {
			group, _, found := strings.Cut(fmt.Sprint(owner["apiVersion"]), "/")
			if group = "." + group; !found {
				group = ""
			}
			blocked = append(blocked, fmt.Sprintf("%v%s %q", owner["kind"], group, fmt.Sprint(owner["name"])))
		}
	}
	return !reflect.DeepEqual(before, after), blocked
}

func ownersOf(object map[string]any) (out []map[string]any) {
	owners, _, _ := unstructured.NestedSlice(object, "metadata", "ownerReferences")
	for _, owner := range owners {
		if fields, ok := owner.(map[string]any); ok {
			out = append(out, fields)
		}
	}
	return out
}
