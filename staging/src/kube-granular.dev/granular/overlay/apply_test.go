// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
)

var (
	update      = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")
	application = gvkschema.GroupVersionKind{Group: "example.io", Version: "v1", Kind: "Application"}
)

// definitions returns the test's definitions, after replacing texts: old, new, old, new and so on.
func definitions(t testing.TB, replace ...string) map[string]*spec.Schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "application.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("no text %q", replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	out := map[string]*spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// entries returns entries for texts such as ".spec.project acme.io/project excluded".
func entries(t testing.TB, lines ...string) *overlay.Entries {
	t.Helper()
	out := &overlay.Entries{Source: "applications.example.io", Version: "v1"}
	for _, line := range lines {
		words := strings.Fields(line)
		path, err := overlay.ParsePath(words[0])
		if err != nil {
			t.Fatal(line, err)
		}
		out.Fields = append(out.Fields, overlay.Field{Path: path, Permission: words[1], Excluded: len(words) > 2})
	}
	return out
}

// applied is the result of Apply, with the tree.
func applied(t testing.TB, all map[string]*spec.Schema, e *overlay.Entries, enforced bool) (*schema.Tree, []overlay.Outcome) {
	t.Helper()
	changed, outcomes, err := overlay.Apply(all, application, e, enforced)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := schema.ByKind(changed, application)
	if err != nil {
		t.Fatal(err)
	}
	if err := overlay.Verify(tree, e, outcomes); err != nil {
		t.Fatal(err)
	}
	return tree, outcomes
}

var everything = []string{
	".metadata.finalizers acme.io/finalizers excluded",
	".spec.project acme.io/project",
	".spec.destination acme.io/destination excluded",
	".spec.destination.server acme.io/server",
	`.spec.destination["a.b"] acme.io/dotted excluded`,
	".spec.syncPolicy acme.io/syncPolicy",
	".spec.syncPolicy.automated.prune acme.io/prune excluded",
	".spec.replicas acme.io/replicas excluded",
	".spec.sources acme.io/sources excluded",
	".spec.sources[*].path acme.io/path",
	".spec.ports[*].number acme.io/portNumber excluded",
	".spec.limits[*].value acme.io/limit excluded",
	".spec.helm.values acme.io/values excluded",
	".spec.guard.mode acme.io/guardMode",
	".spec.template.image acme.io/image excluded",
	".status.phase acme.io/phase",
}

// TestGolden compares outcomes and trees with golden files: of the definition for which the entries
// were written, and of what can become of it later.
func TestGolden(t *testing.T) {
	for name, tc := range map[string]struct {
		replace  []string
		enforced bool
	}{
		"enforced": {enforced: true},
		"audited":  {},
		"absent": {enforced: true, replace: []string{
			"prune: {type: boolean}", "other: {type: boolean}", "        replicas:", "        copies:", "        project:", "        team:"}},
		"retyped": {enforced: true, replace: []string{
			"automated: {type: object, properties: {prune: {type: boolean}}}", "automated: {type: boolean}",
			"          x-kubernetes-list-type: map\n          x-kubernetes-list-map-keys: [name]\n", "",
			"type: object, x-kubernetes-preserve-unknown-fields: true", "type: string",
			"additionalProperties: {type: object, properties: {value: {type: string}}}", "properties: {cpu: {type: string}}",
			"properties: {phase: {type: string}}", "properties: {phase: {type: object}}"}},
		"excludedByAuthor": {enforced: true, replace: []string{
			"replicas: {type: integer, x-kubernetes-permission-verb: replicas}",
			"replicas: {type: integer, x-kubernetes-permission-verb: replicas, x-kubernetes-permission-excluded: true}"}},
		"nameTakenByAuthor": {enforced: true, replace: []string{
			"x-kubernetes-permission-verb: replicas}", "x-kubernetes-permission-verb: acme.io/sources}"}},
	} {
		t.Run(name, func(t *testing.T) {
			tree, outcomes := applied(t, definitions(t, tc.replace...), entries(t, everything...), tc.enforced)
			var b strings.Builder
			for _, o := range outcomes {
				fmt.Fprintf(&b, "%s: %s", o.Path, o.State)
				for _, text := range []string{o.Reason, o.Held} {
					if text != "" {
						b.WriteString(" " + text)
					}
				}
				if o.Excluded {
					b.WriteString(" excluded")
				}
				b.WriteString("\n")
			}
			b.WriteString("\n" + tree.String())
			file := filepath.Join("testdata", name+".golden")
			if *update {
				t.Logf("REWRITING %s", file)
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("run with -update if that is meant (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRetyped checks that a name never covers more than its own path, and that no exclusion becomes one
// of the whole specification or status.
func TestRetyped(t *testing.T) {
	for name, tc := range map[string]struct {
		field    string
		enforced bool
		want     overlay.State
		reason   string
	}{
		"a name":                        {".spec.project.x acme.io/a", true, overlay.Idle, overlay.FieldRetyped},
		"an exclusion":                  {".spec.project.x acme.io/a excluded", true, overlay.Degraded, overlay.FieldRetyped},
		"an exclusion in mode Audit":    {".spec.project.x acme.io/a excluded", false, overlay.Idle, overlay.FieldRetyped},
		"the specification":             {".spec[*] acme.io/a excluded", true, overlay.Idle, overlay.FieldRetyped},
		"the status":                    {".status[*].x acme.io/a excluded", true, overlay.Idle, overlay.FieldRetyped},
		"another field of the root":     {".kind.x acme.io/a excluded", true, overlay.Degraded, overlay.FieldRetyped},
		"an atomic list":                {".spec.sources[*].path acme.io/a excluded", true, overlay.Degraded, overlay.AtomicList},
		"an atomic list, no such field": {".spec.sources[*].gone acme.io/a excluded", true, overlay.Idle, overlay.FieldAbsent},
		"what the author excludes":      {".spec.guard[*] acme.io/a excluded", true, overlay.Idle, overlay.ExcludedByAuthor},
	} {
		tree, outcomes := applied(t, definitions(t), entries(t, tc.field), tc.enforced)
		if o := outcomes[0]; o.State != tc.want || o.Reason != tc.reason || o.Excluded != (tc.want == overlay.Degraded) {
			t.Errorf("%s: %+v", name, o)
		}
		if has := strings.Contains(tree.String(), "by entry"); has != (tc.want != overlay.Idle) {
			t.Errorf("%s: the tree has it: %t", name, has)
		}
	}
}

// TestDefinitionsAreUnchanged checks that Apply writes into none of its arguments.
func TestDefinitionsAreUnchanged(t *testing.T) {
	all, before := definitions(t), definitions(t)
	roots := map[string]*spec.Schema{}
	for name, s := range all {
		roots[name] = s
	}
	e := entries(t, everything...)
	changed, _, err := overlay.Apply(all, application, e, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, before), asJSON(t, all)); diff != "" {
		t.Error(diff)
	}
	for name, s := range all {
		if roots[name] != s {
			t.Errorf("%s was replaced", name)
		}
		if (changed[name] == s) != (name != "io.example.v1.Application") {
			t.Errorf("%s: shared %t", name, changed[name] == s)
		}
	}
	same, outcomes, err := overlay.Apply(all, application, nil, true)
	if err != nil || outcomes != nil || same["io.example.v1.Application"] != all["io.example.v1.Application"] {
		t.Error("without entries there is a change")
	}
}

func asJSON(t testing.TB, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNothingIncludedOpens checks that no permission that update includes covers a field at or inside
// an exclusion, whatever the schema declares there, and that author's exclusions stay.
func TestNothingIncludedOpens(t *testing.T) {
	all := definitions(t)
	before, err := schema.ByKind(all, application)
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := applied(t, all, entries(t, ".spec acme.io/spec excluded", ".metadata.finalizers acme.io/finalizers excluded"), true)
	inside := 0
	for place := range tree.NodePaths() {
		candidates, excluded := decide.Candidates(place.Node())
		was, wasExcluded := decide.Candidates(before.Nearest(place.Steps()))
		if wasExcluded && !excluded {
			t.Errorf("%s is open", place.Pattern())
		}
		if p := place.Pattern(); !strings.HasPrefix(p, ".spec") && !strings.HasPrefix(p, ".metadata.finalizers") {
			if excluded != wasExcluded || len(candidates) != len(was) {
				t.Errorf("%s changed", p)
			}
			continue
		}
		inside++
		for _, p := range candidates {
			if !p.Excluded {
				t.Errorf("%s: %s opens it", place.Pattern(), p.Name)
			}
		}
		if !excluded {
			t.Errorf("%s is open", place.Pattern())
		}
	}
	if inside < 5 {
		t.Errorf("%d places", inside)
	}
}

// TestAnotherKindIsUnchanged checks that an entry for one kind does not reach another kind through a
// definition that both have.
func TestAnotherKindIsUnchanged(t *testing.T) {
	all := definitions(t)
	other := application
	other.Kind = "Other"
	all["other"] = &spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{
		"metadata": {SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")}}}}}
	all["other"].AddExtension("x-kubernetes-group-version-kind",
		[]any{map[string]any{"group": other.Group, "version": other.Version, "kind": other.Kind}})
	changed, _, err := overlay.Apply(all, application, entries(t, ".metadata.finalizers acme.io/finalizers excluded"), true)
	if err != nil {
		t.Fatal(err)
	}
	interner := schema.NewInterner()
	for _, kind := range []gvkschema.GroupVersionKind{application, other} {
		tree, err := schema.NewModels(changed, schema.WithInterner(interner)).ByKind(kind)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(tree.String(), "by entry"); has != (kind == application) {
			t.Errorf("%s: %t", kind.Kind, has)
		}
	}
	if _, _, err := overlay.Apply(all, application.GroupVersion().WithKind("None"), entries(t), true); err == nil {
		t.Error("a kind that has no definition")
	}
}

// TestNoTextIsAnEntry checks that the author of a definition can't write an entry.
func TestNoTextIsAnEntry(t *testing.T) {
	all := definitions(t, "project: {type: string,", `project: {type: string, x-kubernetes-permission-entries: [{Permission: acme.io/a}],`)
	if _, err := schema.ByKind(all, application); err == nil || !strings.Contains(err.Error(), "unknown extension") {
		t.Error(err)
	}
}

// TestUnread checks what becomes of an entry whose path can't be parsed.
func TestUnread(t *testing.T) {
	all := definitions(t)
	for name, tc := range map[string]struct {
		excluded, enforced, all, fails bool
	}{
		"a name": {false, true, true, false}, "counted": {true, false, false, false},
		"enforced": {true, true, false, true}, "counted, as if enforced": {true, false, true, true},
	} {
		e := entries(t, ".spec.project acme.io/project excluded")
		e.Enforced = tc.enforced
		e.Fields = append(e.Fields, overlay.Field{Unread: ".spec[later]", Permission: "acme.io/later", Excluded: tc.excluded})
		_, outcomes, err := overlay.Apply(all, application, e, tc.all)
		if tc.fails {
			if err == nil || !strings.Contains(err.Error(), `the path ".spec[later]" of an exclusion can't be read`) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := overlay.Outcome{Path: ".spec[later]", State: overlay.Idle, Reason: overlay.PathUnread}
		if err != nil || len(outcomes) != 2 || cmp.Diff(want, outcomes[1]) != "" || outcomes[0].State != overlay.Active {
			t.Errorf("%s: %+v, %v", name, outcomes, err)
		}
	}
	pods := &overlay.Entries{Source: "pods", Version: "v1", Enforced: true,
		Fields: []overlay.Field{{Unread: ".later", Permission: "acme.io/later", Excluded: true}}}
	for _, resource := range overlay.HoldsIn() {
		if held := overlay.InForce(resource, nil, pods); held == nil || len(held.Fields) != 1 ||
			held.Fields[0].Unread != ".later" || !held.Enforces() {
			t.Errorf("%s: %+v", resource, held)
		}
	}
}
