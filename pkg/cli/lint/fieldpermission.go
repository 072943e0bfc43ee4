// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/overlay"
)

// fieldPermission checks a FieldPermission as the server does when it is created, except for what depends
// on the schema of the resource. It warns of an exclusion in one list of containers that leaves another list open.
func (l *objectLinter) fieldPermission(node *yaml.Node) error {
	var p v1alpha1.FieldPermission
	if ok, err := l.read(node, &p); !ok {
		return err
	}
	v1alpha1.SetObjectDefaults_FieldPermission(&p)
	l.reportErrors(node, validation.FieldPermission(&p))
	closed := closedPaths(&p)
	written := items(at(node, "spec", "fields"))
	for i := range min(len(written), len(p.Spec.Fields)) {
		path, err := overlay.ParsePath(p.Spec.Fields[i].Path)
		if err != nil || !p.Spec.Fields[i].Excluded {
			continue
		}
		if open := openSiblings(schema.GroupResource(validation.ResourceOf(p.Name)), path, closed); len(open) > 0 {
			l.report(at(written[i], "path"), Warning, "the entry does not close %s: close them too, with the same permission",
				strings.Join(open, " and "))
		}
	}
	return nil
}

// closedPaths returns the paths of the exclusions.
func closedPaths(p *v1alpha1.FieldPermission) (out []overlay.Path) {
	for _, f := range p.Spec.Fields {
		if path, err := overlay.ParsePath(f.Path); err == nil && f.Excluded {
			out = append(out, path)
		}
	}
	return out
}

// containerLists are the lists of containers in a pod. A pod template has no ephemeral containers.
var containerLists = []string{"containers", "initContainers", "ephemeralContainers"}

// ephemeralOnly is the field of ephemeral containers that other containers lack.
const ephemeralOnly = "targetContainerName"

// openSiblings returns the paths of the same field in the other lists of containers, without those that an
// exclusion closes. resource is that of the paths.
func openSiblings(resource schema.GroupResource, path overlay.Path, closed []overlay.Path) (open []string) {
	list := slices.IndexFunc(path, func(s overlay.Step) bool { return slices.Contains(containerLists, s.Name) })
	if list < 1 || !isPodSpec(resource, path[:list]) || len(path) > list+2 && path[list+2].Name == ephemeralOnly {
		return nil
	}
	for _, name := range containerLists {
		if name == path[list].Name || name == "ephemeralContainers" && resource != overlay.Pods {
			continue
		}
		sibling := slices.Clone(path)
		sibling[list].Name = name
		if !slices.ContainsFunc(closed, func(c overlay.Path) bool { return len(c) <= len(sibling) && slices.Equal(c, sibling[:len(c)]) }) {
			open = append(open, sibling.String())
		}
	}
	return open
}

// isPodSpec reports whether a path leads to the specification of a pod, or of a built-in pod template.
func isPodSpec(resource schema.GroupResource, path overlay.Path) bool {
	last := path[len(path)-1].Name == "spec"
	if resource == overlay.Pods {
		return last && len(path) == 1
	}
	return last && len(path) > 1 && path[len(path)-2].Name == "template" && slices.Contains(overlay.Templates(), resource)
}
