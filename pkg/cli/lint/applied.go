// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
)

// checkApplied warns of fields that the configuration which kubectl applied last excludes, and the definition does
// not. A kube-apiserver without the patches drops the permission extensions when it writes a definition, and keeps
// the annotation with that configuration. An annotation that is no definition is ignored.
func (l *objectLinter) checkApplied(node *yaml.Node) error {
	annotation := at(node, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	var applied yaml.Node
	if annotation == nil || yaml.Unmarshal([]byte(annotation.Value), &applied) != nil || len(applied.Content) == 0 {
		return nil
	}
	return l.openings(node, applied.Content[0], func(place *yaml.Node, format string, args ...any) {
		l.report(place, Warning, "%s, unlike in the configuration that kubectl applied last: apply the file of the definition again",
			fmt.Sprintf(format, args...))
	})
}
