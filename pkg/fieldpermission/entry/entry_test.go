// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestParseKeepsEntries checks that no entry is left out, and that only known modes let requests through.
//
// Attack: a newer server stores a path or a mode that this one can't read, and the field is open here
// Answer: the entry is kept as one that can't be read, and an unknown mode counts as Enforce
func TestParseKeepsEntries(t *testing.T) {
	for mode, enforced := range map[v1alpha1.Mode]bool{"": false, v1alpha1.ModeAudit: false, v1alpha1.ModeEnforce: true, "Later": true} {
		p := &v1alpha1.FieldPermission{ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"}}
		p.Spec.Mode = mode
		p.Spec.Fields = []v1alpha1.FieldEntry{
			{Path: ".spec.a", Permission: "example.com/a", Excluded: true},
			{Path: ".spec[?(@.later)]", Permission: "example.com/b", Excluded: true},
		}
		entries, errs := Parse(p)
		if len(errs) != 1 || errs[0].Field != "spec.fields[1].path" || entries.Enforced != enforced {
			t.Errorf("mode %q: enforced: %v, %v", mode, entries.Enforced, errs)
		}
		if got := entries.Fields; len(got) != 2 || got[0].Unread != "" || len(got[0].Path) != 2 ||
			got[1].Unread != ".spec[?(@.later)]" || !got[1].Excluded {
			t.Errorf("mode %q: %+v", mode, got)
		}
	}
}
