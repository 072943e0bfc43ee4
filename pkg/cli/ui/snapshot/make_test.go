// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/pkg/cli/ui/model"
)

const widgets = `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    storage: true
    served: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-permission-verb: specification
            properties:
              guard:
                type: object
                x-kubernetes-permission-verb: example.com/guard
                x-kubernetes-permission-excluded: true
                properties: {mode: {type: string, x-kubernetes-permission-verb: example.com/guardMode}}
          status: {type: object, x-kubernetes-permission-verb: status}
`

func definition(t testing.TB, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func rule(verbs, group, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: strings.Fields(verbs), APIGroups: []string{group}, Resources: strings.Fields(resources), ResourceNames: names,
	}
}

// kindNamed returns a kind of a snapshot and its index.
func kindNamed(t *testing.T, s *model.Snapshot, resource string) (int, *model.Kind) {
	t.Helper()
	for i := range s.Kinds {
		if groupResource(&s.Kinds[i]) == schema.ParseGroupResource(resource) {
			return i, &s.Kinds[i]
		}
	}
	t.Fatalf("%s is not there", resource)
	return 0, nil
}

// held describes what rules hold on a kind, part by part.
func held(t *testing.T, s *model.Snapshot, rules int, resource string) string {
	t.Helper()
	at, k := kindNamed(t, s, resource)
	var out []string
	cells := s.Rules[rules].Cells
	for i := 0; i < len(cells); i += 2 {
		if cells[i] != at {
			continue
		}
		for _, h := range s.Cells[cells[i+1]] {
			text := strings.TrimSuffix(resource+"/"+k.Parts[h.Part].Name, "/")
			for _, degree := range []struct {
				name string
				of   int
			}{{"update", h.Update}, {"granular", h.Granular}, {"all", h.All}} {
				text += []string{"", " " + degree.name + " by name", " " + degree.name}[degree.of]
			}
			for _, v := range h.Verbs {
				text += " " + s.Verbs[v].Verb
			}
			for _, v := range h.Some {
				text += " some " + s.Verbs[v].Verb
			}
			for _, p := range h.Protected {
				text += " " + s.Protected[p].Key
			}
			out = append(out, strings.Join(append([]string{text}, h.Names...), ","))
		}
	}
	return strings.Join(out, "; ")
}

// TestCells holds what rules hold on a kind.
func TestCells(t *testing.T) {
	for name, tc := range map[string]struct {
		rule     rbacv1.PolicyRule
		resource string
		want     string
	}{
		"update":                      {rule("get update", "apps", "deployments"), "deployments.apps", "deployments.apps update"},
		"patch":                       {rule("patch", "apps", "deployments"), "deployments.apps", "deployments.apps update"},
		"only reads":                  {rule("get list watch", "apps", "deployments"), "deployments.apps", ""},
		"another group":               {rule("update", "", "deployments"), "deployments.apps", ""},
		"another resource":            {rule("update", "apps", "replicasets"), "deployments.apps", ""},
		"a verb":                      {rule("granular granular:replicas", "apps", "deployments deployments/scale"), "deployments.apps", "deployments.apps granular granular:replicas; deployments.apps/scale granular granular:replicas"},
		"a verb without granular":     {rule("granular:replicas", "apps", "deployments"), "deployments.apps", "deployments.apps granular:replicas"},
		"a verb that no field has":    {rule("granular:nonsense", "apps", "deployments"), "deployments.apps", ""},
		"by name":                     {rule("granular granular:replicas", "apps", "deployments", "web"), "deployments.apps", "deployments.apps granular by name some granular:replicas,web"},
		"a parameter":                 {rule("granular granular:label(example.com)", "apps", "deployments"), "deployments.apps", "deployments.apps granular some granular:label(<label-key prefix>)"},
		"a parameter that is missing": {rule("granular granular:label", "apps", "deployments"), "deployments.apps", "deployments.apps granular"},
		"everything":                  {rule("*", "*", "*"), "secrets", "secrets update granular all"},
		"everything by name":          {rule("*", "", "secrets", "a"), "secrets", "secrets update by name granular by name all by name,a"},
		"all statuses":                {rule("update", "*", "*/status"), "deployments.apps", "deployments.apps/status update"},
		"a protected label":           {rule("granular:protectedLabel(example.com/tier)", "apps", "deployments"), "deployments.apps", "deployments.apps example.com/tier"},
		"another protected label":     {rule("granular:protectedLabel(example.com/other)", "apps", "deployments"), "deployments.apps", ""},
		"protected elsewhere":         {rule("granular:protectedLabel(example.com/tier)", "", "secrets"), "secrets", ""},
		"a label of a domain":         {rule("granular:protectedAnnotation(domain.example/x)", "", "secrets"), "secrets", "secrets domain.example/*"},
		"an excluded verb":            {rule("update granular:example.com/guard", "example.com", "widgets"), "widgets.example.com", "widgets.example.com update granular:example.com/guard"},
		"a status":                    {rule("granular granular:status", "example.com", "widgets/status"), "widgets.example.com", "widgets.example.com/status granular granular:status"},
	} {
		s, err := Make(&Input{
			Builtin: true, Definitions: []*apiextensionsv1.CustomResourceDefinition{definition(t, widgets)},
			ClusterRoles: []*rbacv1.ClusterRole{clusterRole("r", tc.rule)},
			Attributes: []protected.Attribute{
				{Name: "a", Spec: &v1alpha1.ProtectedAttributeSpec{AttributeKind: v1alpha1.AttributeLabel, AttributeName: "example.com/tier", Resources: []v1alpha1.GroupResource{{Group: "apps", Resource: "deployments"}}}},
				{Name: "b", Namespace: "shop", Spec: &v1alpha1.ProtectedAttributeSpec{AttributeKind: v1alpha1.AttributeAnnotation, AttributeName: "domain.example/*"}},
			},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := held(t, s, s.Roles[0].Rules, tc.resource); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// fieldAt returns the field at a path of a kind.
func fieldAt(t *testing.T, s *model.Snapshot, k *model.Kind, steps ...string) *model.Field {
	t.Helper()
	at := &s.Fields[k.Root]
	for _, step := range steps {
		i := slices.IndexFunc(at.Fields, func(f int) bool { return s.Fields[f].Name == step })
		if i < 0 {
			t.Fatalf("%s: %v is not there", k.Kind, steps)
		}
		at = &s.Fields[at.Fields[i]]
	}
	return at
}

// TestFieldsWithoutServer holds which verbs cover fields, by the registry and by a definition.
func TestFieldsWithoutServer(t *testing.T) {
	s, err := Make(&Input{Builtin: true, Definitions: []*apiextensionsv1.CustomResourceDefinition{definition(t, widgets)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Kinds) < 60 {
		t.Errorf("%d kinds", len(s.Kinds))
	}
	for _, tc := range []struct {
		resource, path, cover string
		excluded              bool
	}{
		{"deployments.apps", "spec replicas", "granular:specification granular:replicas", false},
		{"deployments.apps", "metadata labels [*]", "granular:metadata granular:labels granular:label(<label-key prefix>)", false},
		{"widgets.example.com", "spec guard", "granular:example.com/guard", true},
		{"widgets.example.com", "spec guard mode", "granular:example.com/guard granular:example.com/guardMode", true},
		{"widgets.example.com", "spec", "granular:specification", false},
		{"widgets.example.com", "metadata finalizers", "granular:metadata granular:finalizers", false},
	} {
		_, k := kindNamed(t, s, tc.resource)
		f := fieldAt(t, s, k, strings.Fields(tc.path)...)
		var cover []string
		for _, v := range f.Cover {
			cover = append(cover, s.Verbs[v].Verb)
		}
		if got := strings.Join(cover, " "); got != tc.cover || f.Excluded != tc.excluded {
			t.Errorf("%s %s: %q, %v", tc.resource, tc.path, got, f.Excluded)
		}
	}
	_, deployment := kindNamed(t, s, "deployments.apps")
	_, pod := kindNamed(t, s, "pods")
	if deployment.Through["status"] == nil || !pod.Namespaced {
		t.Errorf("%+v", deployment)
	}
	if scale := deployment.Parts[len(deployment.Parts)-1]; scale.Kind != "Scale" || len(scale.Fields) != 1 || scale.Fields[0].Path != ".spec.replicas" || len(scale.Fields[0].Cover) != 2 {
		t.Errorf("%+v", scale)
	}
	if _, widget := kindNamed(t, s, "widgets.example.com"); !widget.Excluded || widget.Rank != rankProtected {
		t.Errorf("%+v", widget)
	}
	for _, k := range s.Kinds {
		if k.Resource == "nodes" && k.Namespaced {
			t.Error("nodes have a namespace")
		}
	}
}

// TestUnknownIsNotMissing holds that a role that could not be read is not taken for one that does not exist.
func TestUnknownIsNotMissing(t *testing.T) {
	in := &Input{About: model.About{Live: true}, RoleBindings: []*rbacv1.RoleBinding{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "shop"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}, Subjects: []rbacv1.Subject{
			{Kind: "User", Name: "system:serviceaccount:ci:robot"}, {Kind: "ServiceAccount", Name: "robot"}, {Kind: "Group", Name: "system:authenticated"},
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ci"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}},
	}}
	for name, tc := range map[string]struct {
		unknown []model.Unknown
		want    string
	}{
		"all is read":     {nil, "missing missing"},
		"nothing is read": {[]model.Unknown{{What: model.UnknownRoles}}, "unknown unknown"},
		"one is read":     {[]model.Unknown{{What: model.UnknownRoles, Except: []string{"shop"}}}, "missing unknown"},
		"others are not":  {[]model.Unknown{{What: model.UnknownClusterRoles}}, "missing missing"},
	} {
		in.Unknown = tc.unknown
		s, err := Make(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Roles[0].State + " " + s.Roles[1].State; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		account := s.Subjects[s.Bindings[0][3]]
		if account.Kind != "ServiceAccount" || account.Namespace != "ci" || len(account.Groups) != 1 || s.Bindings[0][3] == s.Bindings[0][4] {
			t.Errorf("%+v", account)
		}
	}
}

// TestGroupsOfSubjects holds which groups a subject is certainly in. Rights of both add up: granular may be bound to
// everybody, and a permission verb to a group.
func TestGroupsOfSubjects(t *testing.T) {
	in := &Input{About: model.About{Live: true}, ClusterRoleBindings: []*rbacv1.ClusterRoleBinding{{Subjects: []rbacv1.Subject{
		{Kind: "Group", Name: "system:authenticated"}, {Kind: "Group", Name: "system:unauthenticated"},
		{Kind: "Group", Name: "system:serviceaccounts"}, {Kind: "Group", Name: "system:serviceaccounts:ci"}, {Kind: "Group", Name: "devs"},
		{Kind: "User", Name: "jane"}, {Kind: "User", Name: "system:anonymous"},
		{Kind: "ServiceAccount", Namespace: "ci", Name: "robot"}, {Kind: "ServiceAccount", Namespace: "shop", Name: "robot"},
	}}}}
	s, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i := range s.Subjects {
		var names []string
		for _, g := range s.Subjects[i].Groups {
			names = append(names, strings.TrimPrefix(s.Subjects[g].Name, "system:"))
		}
		got[s.Subjects[i].Namespace+"/"+s.Subjects[i].Name] = strings.Join(names, " ")
	}
	want := map[string]string{
		"/system:masters": "authenticated", "/system:authenticated": "", "/system:unauthenticated": "",
		"/system:serviceaccounts": "authenticated", "/system:serviceaccounts:ci": "authenticated serviceaccounts", "/devs": "authenticated",
		"/jane": "authenticated", "/system:anonymous": "unauthenticated",
		"ci/robot": "authenticated serviceaccounts serviceaccounts:ci", "shop/robot": "authenticated serviceaccounts",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPowers holds by which rules a holder can get more rights.
func TestPowers(t *testing.T) {
	for name, tc := range map[string]struct {
		rule rbacv1.PolicyRule
		want string
	}{
		"escalate":           {rule("escalate", rbacv1.GroupName, "roles"), "escalate"},
		"bind":               {rule("bind", rbacv1.GroupName, "clusterroles"), "bind"},
		"impersonate":        {rule("impersonate", "", "groups"), "impersonate"},
		"everything":         {rule("*", "*", "*"), "escalate bind impersonate"},
		"of another group":   {rule("bind", "", "clusterroles"), ""},
		"a write of a role":  {rule("update", rbacv1.GroupName, "roles"), ""},
		"of another's parts": {rule("impersonate", "", "pods"), ""},
	} {
		if got := strings.Join(powersOf([]rbacv1.PolicyRule{tc.rule}), " "); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestMetadata holds by which rules a holder reads the metadata of objects without their data.
func TestMetadata(t *testing.T) {
	for name, tc := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  string
	}{
		"one":           {[]rbacv1.PolicyRule{rule("readmetadata", "", "secrets")}, "secrets"},
		"several":       {[]rbacv1.PolicyRule{rule("readmetadata", "", "secrets"), rule("readmetadata", "apps", "deployments"), rule("readmetadata", "", "secrets")}, "secrets deployments.apps"},
		"all resources": {[]rbacv1.PolicyRule{rule("readmetadata", "*", "*")}, "*"},
		"everything":    {[]rbacv1.PolicyRule{rule("*", "*", "*")}, ""},
		"whole objects": {[]rbacv1.PolicyRule{rule("get", "", "secrets")}, ""},
	} {
		if got := strings.Join(metadataOf(tc.rules), " "); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestBypass holds which rules exempt from protected labels and annotations.
func TestBypass(t *testing.T) {
	for name, tc := range map[string]struct {
		rule rbacv1.PolicyRule
		want bool
	}{
		"bypass":          {rule("bypass", "authority.kube-granular.dev", "protectedattributes"), true},
		"everything":      {rule("*", "*", "*"), true},
		"by name":         {rule("bypass", "authority.kube-granular.dev", "protectedattributes", "a"), false},
		"another verb":    {rule("update", "authority.kube-granular.dev", "protectedattributes"), false},
		"another group":   {rule("bypass", "", "protectedattributes"), false},
		"others' objects": {rule("bypass", "authority.kube-granular.dev", "clusterprotectedattributes"), false},
	} {
		if got := bypasses([]rbacv1.PolicyRule{tc.rule}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestNoLists holds that a snapshot without anything has empty lists: a page can't read null.
func TestNoLists(t *testing.T) {
	s, err := Make(&Input{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%v %s", err, text)
	}
}

// TestLongTexts holds that a long description is cut behind a word, and a short one is whole.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("wörd ", 100)
	for text, want := range map[string]string{
		"short": "short", strings.Repeat("ö", maxText): strings.Repeat("ö", maxText),
		long: strings.TrimSpace(long[:len("wörd ")*48]) + " …", strings.Repeat("ö", maxText+1): strings.Repeat("ö", maxText) + " …",
	} {
		if got := beginning(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
