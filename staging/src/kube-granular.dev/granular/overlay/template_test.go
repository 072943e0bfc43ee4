// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
)

// ofPods returns entries of pods.
func ofPods(t testing.TB, enforced bool, lines ...string) *overlay.Entries {
	t.Helper()
	e := entries(t, lines...)
	e.Source, e.Enforced = "pods", enforced
	return e
}

func told(e *overlay.Entries) string {
	if e == nil {
		return "none"
	}
	out := []string{fmt.Sprintf("%s %s %t", e.Source, e.Version, e.Enforced)}
	for i := range e.Fields {
		f := &e.Fields[i]
		text := f.Path.String() + " " + f.Permission
		if f.Excluded {
			text += " excluded"
		}
		if f.Named != nil {
			text += " named " + f.Named.String()
		}
		if f.Origin != nil {
			text += fmt.Sprintf(" of %s %t", f.Origin.Source, f.Origin.Enforced)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestInForce checks which entries hold for a resource, with which source and mode.
func TestInForce(t *testing.T) {
	pods := ofPods(t, true, ".spec.hostNetwork acme.io/net excluded", ".spec.dnsConfig acme.io/dns", ".spec acme.io/all",
		".metadata.finalizers acme.io/f excluded", ".metadata.ownerReferences acme.io/o excluded", ".status acme.io/s")
	own := entries(t, ".spec.replicas acme.io/r excluded")
	own.Source = "deployments.apps"
	for name, tc := range map[string]struct {
		resource  string
		own, pods *overlay.Entries
		want      string
	}{
		"a template": {"deployments.apps", nil, pods, "pods v1 true; .spec.template.spec.hostNetwork acme.io/net excluded; .spec.template.spec.dnsConfig acme.io/dns; " +
			".spec.template.spec acme.io/all; .spec.template.metadata.finalizers acme.io/f excluded"},
		"a deeper one":  {"cronjobs.batch", nil, ofPods(t, false, ".spec.a acme.io/a"), "pods v1 false; .spec.jobTemplate.spec.template.spec.a acme.io/a"},
		"a shorter one": {"podtemplates", nil, ofPods(t, false, ".spec.a acme.io/a"), "pods v1 false; .template.spec.a acme.io/a"},
		"both": {"deployments.apps", own, ofPods(t, true, ".spec.a acme.io/a excluded"),
			"deployments.apps v1 false; .spec.replicas acme.io/r excluded; .spec.template.spec.a acme.io/a excluded of pods true"},
		"a history": {"controllerrevisions.apps", nil, pods, `pods v1 true; .data[".spec.hostNetwork"] acme.io/podTemplateNet excluded named .hostNetwork; ` +
			`.data[".metadata.finalizers"] acme.io/podTemplateF excluded named .finalizers`},
		"all of a history":         {"controllerrevisions.apps", nil, ofPods(t, true, ".spec acme.io/a excluded"), `pods v1 true; .data[".spec"] acme.io/podTemplateA excluded named .spec`},
		"a history without any":    {"controllerrevisions.apps", nil, ofPods(t, true, ".spec.a acme.io/a"), "none"},
		"nothing in the template":  {"deployments.apps", nil, ofPods(t, true, ".metadata.ownerReferences acme.io/o excluded", ".specs acme.io/a"), "none"},
		"no entries of pods":       {"deployments.apps", own, nil, told(own)},
		"no template":              {"services", nil, pods, "none"},
		"no template, own entries": {"services", own, pods, told(own)},
		"of the same name":         {"deployments.example.com", nil, pods, "none"},
		"nothing":                  {"deployments.apps", nil, nil, "none"},
	} {
		var before = told(tc.own) + told(tc.pods)
		got := overlay.InForce(gvkschema.ParseGroupResource(tc.resource), tc.own, tc.pods)
		if told(got) != tc.want {
			t.Errorf("%s: %s, want %s", name, told(got), tc.want)
		}
		if told(tc.own)+told(tc.pods) != before {
			t.Errorf("%s: the arguments changed", name)
		}
		if tc.want == told(tc.own) && got != tc.own {
			t.Errorf("%s: another pointer to the same", name)
		}
	}
	// Entries of one resource hold together with others later, and share no memory with what held before.
	own.Fields = slices.Grow(own.Fields, 4)
	deployments := gvkschema.ParseGroupResource("deployments.apps")
	first := overlay.InForce(deployments, own, ofPods(t, true, ".spec.a acme.io/a"))
	before := told(first)
	if overlay.InForce(deployments, own, ofPods(t, true, ".spec.b acme.io/b")); told(first) != before {
		t.Errorf("later entries change earlier ones: %s, before %s", told(first), before)
	}
	if all := overlay.HoldsIn(); len(all) != 9 || !slices.IsSortedFunc(all[:8], func(a, b gvkschema.GroupResource) int { return strings.Compare(a.String(), b.String()) }) {
		t.Error(all)
	}
}

// TestModes checks what entries of one or two FieldPermissions enforce and count.
func TestModes(t *testing.T) {
	deployments := gvkschema.GroupResource{Group: "apps", Resource: "deployments"}
	own := func(enforced bool, line string) *overlay.Entries {
		e := entries(t, line)
		e.Source, e.Enforced = "deployments.apps", enforced
		return e
	}
	var none *overlay.Entries
	for name, tc := range map[string]struct {
		e                 *overlay.Entries
		enforces, audits  bool
		origins, excluded string
	}{
		"nothing":          {e: none},
		"a name":           {e: own(true, ".spec.a acme.io/a"), origins: "deployments.apps"},
		"enforced":         {e: own(true, ".spec.a acme.io/a excluded"), enforces: true, origins: "deployments.apps"},
		"counted":          {e: own(false, ".spec.a acme.io/a excluded"), audits: true, origins: "deployments.apps"},
		"enforced of pods": {e: overlay.InForce(deployments, own(false, ".spec.a acme.io/a excluded"), ofPods(t, true, ".spec.a acme.io/a excluded", ".spec.b acme.io/b")), enforces: true, audits: true, origins: "deployments.apps pods"},
		"counted of pods":  {e: overlay.InForce(deployments, own(true, ".spec.a acme.io/a"), ofPods(t, false, ".spec.a acme.io/a excluded")), audits: true, origins: "deployments.apps pods"},
	} {
		if tc.e.Enforces() != tc.enforces || tc.e.Audits() != tc.audits || tc.e.Excludes() != (tc.enforces || tc.audits) {
			t.Errorf("%s: enforces %t, audits %t", name, tc.e.Enforces(), tc.e.Audits())
		}
		if tc.e == nil {
			continue
		}
		var sources []string
		for _, o := range tc.e.Origins() {
			sources = append(sources, o.Source)
		}
		if got := strings.Join(sources, " "); got != tc.origins {
			t.Errorf("%s: of %s", name, got)
		}
	}
}

// TestEntriesOfTwo checks the tree with entries of two FieldPermissions: neither opens what the other excludes, each has its
// mode, and a name inside an exclusion of the other is no key to it.
func TestEntriesOfTwo(t *testing.T) {
	all := definitions(t)
	own := entries(t, ".spec.destination acme.io/own excluded", `.spec.destination["a.b"] acme.io/inner`, ".spec.replicas acme.io/replicas excluded")
	other := entries(t, ".spec.destination.server acme.io/other excluded", ".spec.replicas acme.io/otherReplicas excluded", `.spec.destination["a.b"] acme.io/otherName`)
	for name, tc := range map[string]struct {
		ownEnforced, otherEnforced, all bool
		want                            map[string]string
	}{
		"both": {true, true, false, map[string]string{".spec.destination.server": "none", `.spec.destination["a.b"]`: "acme.io/own acme.io/inner", ".spec.replicas": "none"}},
		"the first": {true, false, false, map[string]string{".spec.destination.server": "acme.io/own", `.spec.destination["a.b"]`: "acme.io/own acme.io/inner",
			".spec.replicas": "acme.io/replicas"}},
		"the second": {false, true, false, map[string]string{".spec.destination.server": "acme.io/other", ".spec.replicas": "acme.io/otherReplicas"}},
		"all":        {false, false, true, map[string]string{".spec.destination.server": "none", ".spec.replicas": "none"}},
		"neither":    {false, false, false, nil},
	} {
		both := *own
		both.Enforced = tc.ownEnforced
		origin := *other
		origin.Enforced = tc.otherEnforced
		both.Fields = slices.Clone(own.Fields)
		for _, f := range other.Fields {
			f.Origin = &origin
			both.Fields = append(both.Fields, f)
		}
		tree, outcomes := applied(t, all, &both, tc.all)
		for path, want := range tc.want {
			parsed, err := overlay.ParsePath(path)
			if err != nil {
				t.Fatal(err)
			}
			candidates, excluded := decide.Candidates(tree.Nearest(parsed.Steps()))
			var names []string
			for _, p := range candidates {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, " "); !excluded || got != strings.TrimPrefix(want, "none") {
				t.Errorf("%s, %s: %q, want %q", name, path, got, want)
			}
		}
		swapped := *own
		swapped.Fields = slices.Clone(both.Fields)
		for i := range swapped.Fields {
			swapped.Fields[i].Origin = nil
		}
		if (tc.otherEnforced || tc.all) && overlay.Verify(tree, &swapped, outcomes) == nil {
			t.Errorf("%s: entries of two FieldPermissions stand for those of one", name)
		}
	}
}

// TestAroundOfTwo checks that the innermost exclusion is that of one FieldPermission.
func TestAroundOfTwo(t *testing.T) {
	e := entries(t, ".spec acme.io/own excluded", ".spec.destination acme.io/other excluded")
	e.Fields[1].Origin = &overlay.Entries{Source: "pods"}
	way := []schema.Step{{Field: "spec"}, {Field: "destination"}}
	if own, other := e.Around(way, false), e.Around(way, true); own != &e.Fields[0] || other != &e.Fields[1] {
		t.Error(own, other)
	}
	if e.OriginOf(&e.Fields[0]) != e || e.OriginOf(&e.Fields[1]).Source != "pods" {
		t.Error("another origin")
	}
}

// TestNamedIn checks whether values without a schema have a field.
func TestNamedIn(t *testing.T) {
	for _, tc := range []struct {
		path, value string
		want        bool
	}{
		{".spec.hostNetwork", `{"hostNetwork": true}`, true},
		{".spec.hostNetwork", `{"hostNetwork": null}`, true},
		{".spec.hostNetwork", `{"a": [{"b": {"HOSTNETWORK": false}}]}`, true},
		{".spec.hostNetwork", `[[{"hostNetwork": 1}]]`, true},
		{".spec.hostNetwork", `{"hostnet": true, "a": "hostNetwork"}`, false},
		{".spec.hostNetwork", `"hostNetwork"`, false},
		{".spec.hostNetwork", `null`, false},
		{".spec.serviceAccountName", `{"serviceaccount": "a"}`, true},
		{".spec.serviceAccount", `{"serviceAccountName": "a"}`, true},
		{".spec.dnsConfig.options", `{"dnsConfig": {"a": 1}, "options": 2}`, false},
		{".spec.dnsConfig.options", `{"dnsConfig": {"dnsConfig": {"Options": 2}}}`, true},
		{".spec.volumes[*].hostPath", `{"volumes": [{"a": 1}, {"hostPath": {}}]}`, true},
		{".spec.volumes[*].hostPath", `{"volumes": {"x": {"hostPath": {}}}}`, true},
		{".spec.volumes[*].hostPath", `{"volumes": {"hostPath": {}}}`, false},
		{".spec.volumes[*]", `{"volumes": []}`, false},
		{".spec.volumes[*]", `{"volumes": [1]}`, true},
		{".spec.containers[*].env[*].name", `{"containers": [{"env": [{"value": 1}]}, {"env": [{"name": 1}]}]}`, true},
		{".spec.containers[*].env[*].name", `{"containers": [{"env": {"name": 1}}]}`, false},
	} {
		var value any
		if err := json.Unmarshal([]byte(tc.value), &value); err != nil {
			t.Fatal(err)
		}
		path, err := overlay.ParsePath(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		f := &overlay.Field{Named: path[1:]}
		if got := f.NamedIn(value); got != tc.want {
			t.Errorf("%s in %s: %t", tc.path, tc.value, got)
		}
	}
}

// TestShared checks which fields two FieldPermissions close.
func TestShared(t *testing.T) {
	deployments := gvkschema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, tc := range []struct{ own, pods, want string }{
		{".spec.template.spec.a acme.io/own excluded", ".spec.a acme.io/a excluded", ".spec.template.spec.a"},
		{".spec.template acme.io/own excluded", ".spec.a acme.io/a excluded", ".spec.template.spec.a"},
		{".spec.template.spec.a.b acme.io/own excluded", ".spec.a acme.io/a excluded", ".spec.template.spec.a.b"},
		{".spec.template.spec.a acme.io/a excluded", ".spec.a acme.io/a excluded", ""},
		{".spec.template.spec.a acme.io/own", ".spec.a acme.io/a excluded", ""},
		{".spec.template.spec.a acme.io/own excluded", ".spec.a acme.io/a", ""},
		{".spec.template.spec.b acme.io/own excluded", ".spec.a acme.io/a excluded", ""},
		{".spec.template acme.io/t excluded; .spec.template.spec acme.io/own excluded", ".spec.a acme.io/a excluded", ".spec.template.spec.a"},
		{".spec.template acme.io/t excluded", ".spec.a acme.io/a excluded; .spec.b acme.io/b excluded", ".spec.template.spec.a .spec.template.spec.b"},
	} {
		var got []string
		for _, p := range overlay.Shared(deployments, entries(t, strings.Split(tc.own, "; ")...), ofPods(t, true, strings.Split(tc.pods, "; ")...)) {
			got = append(got, p.String())
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s and %s: %q", tc.own, tc.pods, got)
		}
	}
	if overlay.Shared(deployments, nil, ofPods(t, true, ".spec.a acme.io/a excluded")) != nil || overlay.Shared(deployments, entries(t, ".spec.a acme.io/a excluded"), nil) != nil {
		t.Error("shared with nobody")
	}
}

// TestHistory checks that an exclusion of pods that is found by name is in the permission tree of a ControllerRevision,
// and not in the one for objects of a Go type.
func TestHistory(t *testing.T) {
	all := map[string]*spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(`
revision:
  type: object
  x-kubernetes-group-version-kind: [{group: apps, version: v1, kind: ControllerRevision}]
  properties: {data: {type: object}, revision: {type: integer}}
`), &all); err != nil {
		t.Fatal(err)
	}
	kind := gvkschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}
	own := entries(t, ".revision acme.io/r excluded")
	e := overlay.InForce(gvkschema.ParseGroupResource("controllerrevisions.apps"), own, ofPods(t, true, ".spec.hostNetwork acme.io/n excluded"))
	changed, outcomes, err := overlay.Apply(all, kind, e, true)
	if err != nil {
		t.Fatal(err)
	}
	if o := outcomes[1]; o.State != overlay.Active || !o.Excluded || o.Path != `.data[".spec.hostNetwork"]` {
		t.Errorf("the entry of pods: %+v", o)
	}
	tree, err := schema.ByKind(changed, kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := overlay.Verify(tree, e, outcomes); err != nil {
		t.Error(err)
	}
	before := told(e)
	if typed := e.WithoutNamed(); told(typed) != "applications.example.io v1 false; .revision acme.io/r excluded" || told(e) != before {
		t.Errorf("of a Go type: %s, of %s", told(typed), told(e))
	}
	if own.WithoutNamed() != own {
		t.Error("another pointer to the same")
	}
}

// TestWrittenFor checks which controllers write a field for others.
func TestWrittenFor(t *testing.T) {
	for _, tc := range []struct{ resource, path, want string }{
		{"deployments.apps", ".spec.replicas", "horizontal-pod-autoscaler"},
		{"deployments.apps", ".spec", "horizontal-pod-autoscaler"},
		{"deployments.apps", ".spec.paused", ""},
		{"deployments.example.com", ".spec.replicas", ""},
		{"persistentvolumeclaims", ".spec.volumeName", "ephemeral-volume-controller statefulset-controller persistent-volume-binder persistent-volume-binder"},
	} {
		path, err := overlay.ParsePath(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range overlay.WrittenFor(gvkschema.ParseGroupResource(tc.resource), path) {
			got = append(got, w.By)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s of %s: %q", tc.path, tc.resource, got)
		}
	}
}
