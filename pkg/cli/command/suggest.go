// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/suggest"
)

// nearestVerb returns the verb of a permission tree that is most similar to a mistyped verb, or ""
// if none is similar.
func nearestVerb(text string, tree *schema.Tree) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, permission.General+":"), "(")
	verbs := map[string]string{}
	var names []string
	for _, info := range tree.Permissions() {
		if verbs[info.Name] == "" {
			names = append(names, info.Name)
		}
		verbs[info.Name] = kinds.VerbOf(info.Permission)
	}
	return verbs[suggest.Nearest(name, names)]
}
