// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOrderOfASetThatGrows checks that the order of a set in an embedded object belongs to the
// permission of the set, also if elements are added or removed at the same time. Elsewhere it
// belongs to nobody.
func TestOrderOfASetThatGrows(t *testing.T) {
	const set = `{x-kubernetes-permission-verb: tags, x-kubernetes-list-type: set, x-kubernetes-permission-parameter-source: tag,
	  items: {type: string, x-kubernetes-permission-verb: tag, x-kubernetes-permission-parameterized-by: tag}}`
	w := walkerFor(t, `{own: {properties: {tags: `+set+`}}, template: {x-kubernetes-permission-scope: template, properties: {tags: `+set+`}}}`)
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"only another order": {`{template: {tags: [a, b]}}`, `{template: {tags: [b, a]}}`, []string{"templateTags .template.tags"}},
		"another order and an element": {`{template: {tags: [a, b]}}`, `{template: {tags: [b, a, c]}}`,
			[]string{"templateTags .template.tags", `templateTag(c) .template.tags["c"]`}},
		"another order and one less": {`{template: {tags: [a, b, c]}}`, `{template: {tags: [c, a]}}`,
			[]string{"templateTags .template.tags", `templateTag(b) .template.tags["b"]`}},
		"an element in front": {`{template: {tags: [a, b]}}`, `{template: {tags: [c, a, b]}}`,
			[]string{`templateTag(c) .template.tags["c"]`}},
		"one less in the middle": {`{template: {tags: [a, b, c]}}`, `{template: {tags: [a, c]}}`,
			[]string{`templateTag(b) .template.tags["b"]`}},
		"twice, which is not new": {`{template: {tags: [a, b, a]}}`, `{template: {tags: [a, b]}}`,
			[]string{`templateTag(a) .template.tags["a"]`}},
		"not embedded": {`{own: {tags: [a, b]}}`, `{own: {tags: [b, a, c]}}`, []string{`tag(c) .own.tags["c"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, verbs(compareOrFail(t, w, All, plainOf(t, test.old), plainOf(t, test.new)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
