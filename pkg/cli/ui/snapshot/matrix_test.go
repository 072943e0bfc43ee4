// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/schema/schematest"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/matrix"
	"kube-granular.dev/pkg/cli/ui/model"
)

// level joins what several lists of rules hold, as the page does, and returns to what extent a field of a part may
// be changed.
func level(s *model.Snapshot, rules []int, kind, part int, f *model.Field) int {
	update, of, verbs := 0, 0, 0
	for _, r := range rules {
		cells := s.Rules[r].Cells
		for i := 0; i < len(cells); i += 2 {
			if cells[i] != kind {
				continue
			}
			for _, h := range s.Cells[cells[i+1]] {
				if h.Part != part {
					continue
				}
				update, of, verbs = max(update, h.Update), max(of, h.Granular), max(verbs, h.All)
				for _, v := range f.Cover {
					if slices.Contains(h.Verbs, v) {
						verbs = model.Yes
					} else if slices.Contains(h.Some, v) {
						verbs = max(verbs, model.ByName)
					}
				}
			}
		}
	}
	if f.Excluded {
		return min(verbs, max(update, of))
	}
	return max(update, min(of, verbs))
}

// TestCellsAgreeWithMatrix holds, for random roles, that the cells of a snapshot say the same as kubectl granular
// matrix.
func TestCellsAgreeWithMatrix(t *testing.T) {
	d := definition(t, widgets)
	text, err := json.Marshal(d.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	of := kubeschema.GroupVersion{Group: "example.com", Version: "v1"}
	k := &kinds.Kind{Resource: of.WithResource("widgets"), Kind: of.WithKind("Widget"), Namespaced: true,
		Tree: schematest.Compile(t, string(text)), Subresources: []kinds.Subresource{{Name: "status", Kind: of.WithKind("Widget")}}}

	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	levels := map[int]int{}
	for range 500 {
		in := &Input{Definitions: []*apiextensionsv1.CustomResourceDefinition{d}}
		var objects []access.HeldRule
		for i := range 1 + random.IntN(3) {
			var r rbacv1.PolicyRule
			r.APIGroups, r.Resources = []string{pick("example.com", "example.com", "*", "apps")}, []string{pick("widgets", "widgets", "widgets/status", "*", "*/status", "gadgets")}
			for range 1 + random.IntN(3) {
				r.Verbs = append(r.Verbs, pick("get", "update", "patch", "granular", "granular", "*", "granular:specification", "granular:status", "granular:example.com/guard", "granular:example.com/guardMode"))
			}
			if random.IntN(4) == 0 {
				r.ResourceNames = []string{pick("a", "b")}
			}
			in.ClusterRoles = append(in.ClusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("r", i)}, Rules: []rbacv1.PolicyRule{r}})
			objects = append(objects, access.HeldRule{Rule: r})
		}
		s, err := Make(in)
		if err != nil {
			t.Fatal(err)
		}
		var held []int
		for i := range s.Roles {
			held = append(held, s.Roles[i].Rules)
		}
		for _, row := range matrix.New([]*kinds.Kind{k}, []matrix.Subject{{Name: "jane", Held: objects}}, "shop").Rows {
			steps := stepsOf(row.Fields[0])
			part := 0
			if steps[0] == "status" {
				part = 1
			}
			f := fieldAt(t, s, &s.Kinds[0], steps...)
			got := level(s, held, 0, part, f)
			if levels[got]++; got != int(row.Cells[0].Level) {
				t.Fatalf("%s: %d, and the matrix says %s, for %+v", row.Fields[0], got, row.Cells[0].Level, objects)
			}
		}
	}
	if len(levels) != 3 {
		t.Errorf("only the levels %v came up", levels)
	}
}
