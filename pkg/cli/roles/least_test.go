// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/schema/schematest"
)

const example = `{"type":"object","properties":{
	"loose":{"type":"string"},
	"metadata":{"type":"object","x-kubernetes-permission-verb":"metadata","properties":{
		"labels":{"type":"object","x-kubernetes-permission-verb":"labels","x-kubernetes-permission-parameter-source":"label-key",
			"additionalProperties":{"type":"string","x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameterized-by":"label-key","x-kubernetes-permission-parameter-treatment":"slash-delimited-prefix"}}}},
	"spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
		"other":{"type":"string"},
		"replicas":{"type":"integer","x-kubernetes-permission-verb":"replicas"},
		"guard":{"type":"object","x-kubernetes-permission-verb":"guard","x-kubernetes-permission-excluded":true,"properties":{
			"mode":{"type":"string","x-kubernetes-permission-verb":"guardMode"}}}}}}}`

func walker(t *testing.T) *change.Walker {
	t.Helper()
	return change.NewWalker(schematest.Compile(t, example))
}

func set(t *testing.T, w *change.Walker, text string) change.Set {
	t.Helper()
	object := map[string]any{}
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	out, err := w.Compare(change.All, map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "y"}}, "spec": map[string]any{"guard": map[string]any{}}}, object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// with returns an object with additional labels and fields of spec, given as JSON that begins with
// a comma.
func with(labels, spec string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{"x":"y"%s}},"spec":{"guard":{}%s}}`, labels, spec)
}

func TestLeast(t *testing.T) {
	w := walker(t)
	var many strings.Builder
	for i := range 80 {
		fmt.Fprintf(&many, `,"l%d.example/x":"y"`, i)
	}
	for name, test := range map[string]struct {
		sets  []string
		width Width
		want  []string
	}{
		"the narrowest": {[]string{with("", `,"replicas":3`)}, Narrow, []string{"granular:replicas"}},
		"wider": {[]string{with("", `,"replicas":3`)}, Wide,
			[]string{"granular:specification"}},
		"what covers another": {[]string{with("", `,"replicas":3,"other":"a"`)}, Narrow,
			[]string{"granular:specification"}},
		"in two requests": {[]string{with("", `,"replicas":3`), with("", `,"other":"a"`)}, Narrow,
			[]string{"granular:specification"}},
		"two requests apart": {[]string{with(`,"a.example/b":"c"`, ""), with("", `,"replicas":3`)},
			Narrow, []string{"granular:label(a.example)", "granular:replicas"}},
		"apart": {[]string{with(`,"a.example/b":"c"`, `,"replicas":3`)}, Narrow,
			[]string{"granular:label(a.example)", "granular:replicas"}},
		"two of one domain": {[]string{with(`,"a.example/b":"c","a.example/d":"c"`, "")}, Narrow,
			[]string{"granular:label(a.example)"}},
		"two of one domain, exact": {[]string{with(`,"a.example/b":"c","a.example/d":"c"`, "")}, Exact,
			[]string{"granular:label(a.example/b)", "granular:label(a.example/d)"}},
		"without a domain, exact": {[]string{with(`,"team":"c"`, `,"replicas":3`)}, Exact,
			[]string{"granular:label(/team)", "granular:replicas"}},
		"too many":        {[]string{with(many.String(), "")}, Narrow, []string{"granular:labels"}},
		"too many, exact": {[]string{with(many.String(), "")}, Exact, []string{"granular:labels"}},
		"excluded": {[]string{`{"metadata":{"labels":{"x":"y"}},"spec":{"other":"a","guard":{"mode":"b"}}}`},
			Narrow, []string{"granular:guardMode", "granular:specification"}},
		"excluded, wider": {[]string{`{"metadata":{"labels":{"x":"y"}},"spec":{"guard":{"mode":"b"}}}`},
			Wide, []string{"granular:guard"}},
		"nothing":                       {[]string{with("", "")}, Narrow, nil},
		"what is covered by no request": {nil, Narrow, nil},
	} {
		var sets []change.Set
		for _, s := range test.sets {
			sets = append(sets, set(t, w, s))
		}
		got, err := LeastVerbs(t.Context(), sets, test.width)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		for i := range got {
			less := slices.Delete(slices.Clone(got), i, i+1)
			if allows(t, sets, less) {
				t.Errorf("%s: %v are enough", name, less)
			}
		}
		if !allows(t, sets, got) {
			t.Errorf("%s: %v are not enough", name, got)
		}
	}
	if verbs, err := LeastVerbs(t.Context(), []change.Set{set(t, w, `{"loose":"a","metadata":{"labels":{"x":"y"}},"spec":{"guard":{}}}`)}, Narrow); err == nil || !strings.Contains(err.Error(), "no permission covers this field") {
		t.Errorf("a field that no permission covers: %v %v", verbs, err)
	}
}

func allows(t *testing.T, sets []change.Set, verbs []string) bool {
	t.Helper()
	for _, s := range sets {
		refusal, err := decide.New(heldVerbs(verbs), 0).Decide(t.Context(), s, true)
		if err != nil {
			t.Fatal(err)
		}
		if refusal != nil {
			return false
		}
	}
	return true
}

func TestParseSubject(t *testing.T) {
	for text, want := range map[string]string{
		"user:jane": "User jane", "jane": "User jane", "group:a:b": "Group a:b", "sa:shop/deployer": "ServiceAccount shop/deployer",
		"serviceaccount:shop/deployer": "ServiceAccount shop/deployer", "system:serviceaccount:shop:deployer": "ServiceAccount shop/deployer",
		"user:system:serviceaccount:shop:deployer": "ServiceAccount shop/deployer", "system:node:a": "User system:node:a",
		"user:": "", "group:": "", "sa:deployer": "", "sa:/x": "", "sa:x/": "", "": "", "robot:r2": "",
	} {
		s, err := ParseSubject(text)
		got := ""
		if err == nil {
			got = s.Kind + " " + s.Name
			if s.Namespace != "" {
				got = s.Kind + " " + s.Namespace + "/" + s.Name
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, err)
		}
	}
}
