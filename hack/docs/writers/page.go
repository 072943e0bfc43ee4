// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"fmt"
	"strings"

	"kube-granular.dev/granular/overlay"
)

// File is the path of the page.
const File = "docs/generated/indirect-writers.md"

const header = `<!-- Written by hack/update-docs.sh from the table that the server warns by. Don't edit it. -->

# Who writes fields for others

A [FieldPermission](../field-permissions.md) closes a field to those who write it. A controller, or the server's
admission, may write the field for others, from fields of another object: who may write these sets the closed
field. Kubernetes' own controllers hold the verb bypass, so an exclusion does not stop them. Close the fields in
the last column too. Labels and annotations take [protection](../protected-attributes.md) instead. Where a whole
specification takes no exclusion, RBAC alone says who writes it.

Two controllers write fields of every kind. The garbage collector removes an owner, and finalizers of deletion, for
whoever may delete the owner and leave its dependents. The horizontal-pod-autoscaler writes the replicas of each kind
that has the subresource scale, also of custom resources.

The server warns the author of such an exclusion, and kubectl granular field-permission plan names the
controllers. Pod templates are not in the table, because entries of pods hold in them. An *add-on* does not run
in each cluster, and is stopped unless it holds bypass or all verbs.

| field | written by | for whoever may write |
| --- | --- | --- |
`

// Page returns the page.
func Page() []byte {
	var b strings.Builder
	b.WriteString(header)
	for _, w := range overlay.IndirectWriters() {
		writer := w.By
		if w.AddOn {
			writer += " (add-on)"
		}
		sources := fmt.Sprintf("`%s` of `%s`", strings.Join(w.SourcePaths, "`, `"), w.Source)
		if w.Labels {
			sources += fmt.Sprintf(", labels of `%s`", w.Resource)
		}
		fmt.Fprintf(&b, "| `%s` of `%s` | %s | %s |\n", w.Path, w.Resource, writer, sources)
	}
	return []byte(b.String())
}
