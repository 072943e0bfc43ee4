// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/overlay"
)

// indirectWarnings returns a warning for each controller of Kubernetes that writes an excluded field for
// others. Such controllers bypass FieldPermissions.
func indirectWarnings(p *v1alpha1.FieldPermission) (out []string) {
	for _, f := range p.Spec.Fields {
		path, err := overlay.ParsePath(f.Path)
		if err != nil || !f.Excluded {
			continue
		}
		for _, w := range overlay.WrittenFor(schema.GroupResource(validation.ResourceOf(p.Name)), path) {
			text := fmt.Sprintf("%s is not stopped: it writes %s for whoever may write %s; close or protect that too", w.By, w.Path, w.Sources())
			if !w.AddOn && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}
