// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/cli/ui/web"
)

// The size of a large cluster: kinds with those of Kubernetes, and how often roles are bound.
const (
	largeKinds      = 300
	largeSubjects   = 1_000
	largeBindings   = 50_000
	largeRoles      = 2_000
	largeNamespaces = 500
	// maxFile is the largest file of the page for such a cluster, in bytes.
	maxFile = 5 << 20
)

// generated returns the input of a large cluster. Its definitions have 40 fields with verbs each.
func generated(t testing.TB) *Input {
	t.Helper()
	in := &Input{Builtin: true, About: model.About{Live: true}}
	base, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range largeKinds - len(base.Kinds) {
		var text strings.Builder
		fmt.Fprintf(&text, "metadata: {name: things%[1]d.group%[2]d.example.com}\nspec:\n  group: group%[2]d.example.com\n  scope: Namespaced\n  names: {kind: Thing%[1]d, plural: things%[1]d}\n"+
			"  versions:\n  - name: v1\n    storage: true\n    served: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n"+
			"          spec:\n            type: object\n            x-kubernetes-permission-verb: specification\n            properties:\n", i, i/8)
		for j := range 40 {
			fmt.Fprintf(&text, "              field%d: {type: string, x-kubernetes-permission-verb: group%d.example.com/field%d}\n", j, i/8, j)
		}
		in.Definitions = append(in.Definitions, definition(t, text.String()))
	}
	for i := range largeRoles {
		kind := i % (largeKinds - len(base.Kinds))
		in.ClusterRoles = append(in.ClusterRoles, clusterRole(fmt.Sprintf("role-of-team-%d", i),
			rule(fmt.Sprintf("get granular granular:group%d.example.com/field%d", kind/8, i%40), fmt.Sprintf("group%d.example.com", kind/8), fmt.Sprintf("things%d", kind)),
			rule("get list update patch", "apps", "deployments statefulsets"), rule("get update", "", "configmaps", fmt.Sprintf("settings-%d", i))))
	}
	in.ClusterRoles = append(in.ClusterRoles, clusterRole("admin", rule("*", "*", "*")))
	for i := range largeBindings {
		in.RoleBindings = append(in.RoleBindings, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("binding-%d", i), Namespace: fmt.Sprintf("namespace-%d", i%largeNamespaces)},
			RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: fmt.Sprintf("role-of-team-%d", i*7%largeRoles)},
			Subjects: []rbacv1.Subject{
				{Kind: "User", Name: fmt.Sprintf("user-%d@example.com", i*3%largeSubjects)}, {Kind: "Group", Name: fmt.Sprintf("group-%d", i%50)},
			},
		})
	}
	return in
}

// TestSizeOfLargeCluster holds that the page of a large cluster is a file that can be sent.
func TestSizeOfLargeCluster(t *testing.T) {
	s, err := Make(generated(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Kinds) != largeKinds || len(s.Bindings) != largeBindings || len(s.Subjects) < largeSubjects {
		t.Errorf("%d kinds, %d bindings, %d subjects", len(s.Kinds), len(s.Bindings), len(s.Subjects))
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := web.Page("large", text)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, of these %d of the snapshot", len(document), len(text))
	if len(document) > maxFile {
		t.Errorf("the file has %d bytes", len(document))
	}
}

// BenchmarkMake measures how long the snapshot of a large cluster takes, and how large its JSON is.
func BenchmarkMake(b *testing.B) {
	in := generated(b)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Make(in)
		if err != nil {
			b.Fatal(err)
		}
		text, err := json.Marshal(s)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(text)), "bytes-of-JSON")
	}
}
