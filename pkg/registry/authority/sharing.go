// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"reflect"
	"slices"
	"unique"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/apis/authority"
)

// sharing is the codec of the storage. Delegations that it decodes take less memory: the watch cache holds each of
// them, and nearly all rules of many delegations are equal. Equal texts of rules are one in memory, whatever delegation
// they are of. The rules in the status of a delegation are those of its spec, if both are equal; nothing is shared between
// two delegations that somebody could change.
type sharing struct{ runtime.Codec }

// Decode implements runtime.Decoder.
func (s sharing) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, kind, err := s.Codec.Decode(data, defaults, into)
	if d, ok := object.(*authority.AuthorityDelegation); ok && err == nil {
		shareRules(d)
	}
	return object, kind, err
}

func shareRules(d *authority.AuthorityDelegation) {
	shareTexts(d.Spec.Rules)
	if reflect.DeepEqual(d.Spec.Rules, d.Status.Rules) {
		d.Spec.Rules = slices.Clip(d.Spec.Rules) // so that nobody appends to both
		d.Status.Rules = d.Spec.Rules
		return
	}
	shareTexts(d.Status.Rules)
}

// shareTexts replaces the texts of rules by equal ones that others use too.
func shareTexts(rules []rbacv1.PolicyRule) {
	for i := range rules {
		r := &rules[i]
		for _, list := range [][]string{r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs} {
			for j, text := range list {
				list[j] = unique.Make(text).Value()
			}
		}
	}
}
