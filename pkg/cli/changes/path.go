// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resourcePath is a parsed path of a resource or an object.
type resourcePath struct {
	Resource                     schema.GroupVersionResource
	Namespace, Name, Subresource string
}

// parsePath parses the path of a request. It returns false if the path is not that of a resource
// or an object, such as a path of discovery.
func parsePath(path string) (resourcePath, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var a resourcePath
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		a.Resource.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		a.Resource.Group, a.Resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return a, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		a.Namespace, parts = parts[1], parts[2:]
	}
	a.Resource.Resource = parts[0]
	if len(parts) > 1 {
		a.Name = parts[1]
	}
	if len(parts) > 2 {
		a.Subresource = strings.Join(parts[2:], "/")
	}
	return a, true
}
