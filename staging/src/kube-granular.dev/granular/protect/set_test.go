// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

func TestActive(t *testing.T) {
	label, annot, both := schema.Label, schema.Annotation, schema.Label|schema.Annotation
	for _, test := range []struct {
		name      string
		entries   []Entry
		namespace string
		resource  string
		want      schema.Attribute
	}{
		{"nothing", nil, "default", "pods", 0},
		{"in the cluster", []Entry{env("p")}, "default", "pods", label},
		{"of a cluster-scoped object", []Entry{env("p")}, "", "nodes", label},
		{"both kinds", []Entry{env("p"), env("q", annotation)}, "default", "pods", both},
		{"in the namespace", []Entry{env("p", in("default"), annotation)}, "default", "pods", annot},
		{"in another", []Entry{env("p", in("other"))}, "default", "pods", 0},
		{"a cluster-scoped object and a namespace", []Entry{env("p", in("default"))}, "", "nodes", 0},
		{"a namespace object", []Entry{env("p", in("default"))}, "default", "namespaces", 0},
		{"for another resource", []Entry{env("p", forResources("pods"))}, "default", "configmaps", 0},
		{"for the resource", []Entry{env("p", forResources("pods"))}, "default", "pods", label},
		{"for what comes out", []Entry{env("p", forResources("pods"))}, "default", "deployments.apps", label},
		{"for what comes out of labels alone",
			[]Entry{env("p", annotation, forResources("endpointslices.discovery.k8s.io"))}, "default", "services", 0},
		{"for some keys of it", []Entry{env("p", forResources("pods"))}, "", "nodes", label},
		{"for what may come out", []Entry{env("p", annotation, forResources("pods"))}, "default",
			"fleets.example.com", annot},
		{"for what comes out of another", []Entry{env("p", forResources("jobs.batch"))}, "default",
			"deployments.apps", 0},
		{"for one group of events", []Entry{env("p", forResources("events"))}, "default", "events.events.k8s.io", label},
		{"for the other group", []Entry{env("p", forResources("events.events.k8s.io"))}, "default", "events", label},
		{"for all but one", []Entry{env("p", notResources("secrets"))}, "default", "configmaps", label},
		{"one for all and one for another", []Entry{env("p"), env("q", annotation, forResources("pods"))},
			"default", "configmaps", label},
		{"stamps, which the server sets", []Entry{env("p", annotation, key("pods.authority.kube-granular.dev/*"))}, "default", "pods", 0},
		{"what the server sets", []Entry{env("p", key("pod-template-hash"))}, "default", "pods", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, target := New(test.entries...), targetOf(t, resourceOf(test.resource))
			if got := set.Active(test.namespace, target); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			// The same set, made one scope at a time.
			var by *Set
			for _, e := range test.entries {
				var of []Entry
				for _, o := range test.entries {
					if o.Namespace == e.Namespace {
						of = append(of, o)
					}
				}
				by = by.With(e.Namespace, of...)
			}
			if got := by.Active(test.namespace, target); got != test.want {
				t.Errorf("with one scope at a time: got %s, want %s", got, test.want)
			}
		})
	}
}

func TestWith(t *testing.T) {
	target := targetOf(t, pods)
	first := New(env("p"), env("q", in("default")))
	second := first.With("default")
	third := second.With("")
	for i, test := range []struct {
		set  *Set
		want schema.Attribute
	}{{first, schema.Label}, {second, schema.Label}, {third, 0},
		{third.With("default", env("p", in("other"))), schema.Label}, {third.With("other", env("p")), 0}} {
		if got := test.set.Active("default", target); got != test.want {
			t.Errorf("%d: %s, want %s", i, got, test.want)
		}
	}
	moved := third.With("default", env("p", in("other")))
	c := callerWith("ClusterRole p in other", "ClusterRole p")
	changes := change.Attributes{{Kind: schema.Label, Key: "env", New: change.Value{Text: "prod", Present: true}, Path: change.Path{{Field: "metadata"}, {Field: "labels"}}}}
	if refusal, _, err := NewDecider(moved, "default", target, c, 0).Decide(t.Context(), changes); err != nil || shown(refusal) != ".metadata.labels[env] in default: ClusterRole p in default" {
		t.Errorf("an entry acts in its own namespace: %s, %v", shown(refusal), err)
	}
	if !first.RefersTo("default", role("q")) || second.RefersTo("default", role("q")) {
		t.Error("a set changed, or did not")
	}
}

func TestRefersTo(t *testing.T) {
	set := New(env("p"), env("edit", in("default")), env("own", in("default"), byRole), env("v", byVerb), env("a", audit))
	for _, test := range []struct {
		namespace string
		role      RoleRef
		want      bool
	}{
		{"", role("p"), true}, {"default", role("p"), false}, {"", role("a"), true},
		// An entry of a namespace that names the role edit does not concern other namespaces.
		{"default", role("edit"), true}, {"", role("edit"), false}, {"other", role("edit"), false},
		{"default", RoleRef{Role, "own"}, true}, {"default", role("own"), false},
		{"", RoleRef{}, false},
	} {
		if got := set.RefersTo(test.namespace, test.role); got != test.want {
			t.Errorf("%v in %q: %v", test.role, test.namespace, got)
		}
	}
	if (*Set)(nil).RefersTo("", role("p")) || (*Set)(nil).Active("default", targetOf(t, pods)) != 0 {
		t.Error("no set refers to something")
	}
}

// TestTargetFailsClosed checks that every filter of resources applies if the tree is not known, or
// if objects contain other objects.
func TestTargetFailsClosed(t *testing.T) {
	set := New(env("p", forResources("pods")), env("q", annotation, forResources("pods")))
	both := schema.Label | schema.Annotation
	revision := targetOf(t, revisions)
	if got := set.Active("default", revision); got != 0 {
		t.Errorf("a revision: %s", got)
	}
	for name, target := range map[string]*Target{"without a tree": builtin.Target(revisions, nil), "with what it embeds": revision.WithEmbedded()} {
		if got := set.Active("default", target); got != both {
			t.Errorf("%s: %s", name, got)
		}
	}
	data := plainOf(t, `{spec: {template: {metadata: {labels: {env: prod}}}}}`)
	changes := change.Embedded(both, nil, change.Path{{Field: "data"}}, nil, data)
	refusal, _, err := NewDecider(set, "default", revision.WithEmbedded(), callerWith(), 0).Decide(t.Context(), changes)
	if want := ".data.spec.template.metadata.labels[env]: ClusterRole p"; err != nil || shown(refusal) != want {
		t.Errorf("%s, %v", shown(refusal), err)
	}
	if refusal, _, err = NewDecider(set, "default", revision.WithEmbedded(), callerWith("ClusterRole p"), 0).Decide(t.Context(), changes); refusal != nil || err != nil {
		t.Errorf("%s, %v", shown(refusal), err)
	}
}

// TestEmbeddedMetadata checks that an embedded attribute never counts as the object's own,
// whatever its path is.
func TestEmbeddedMetadata(t *testing.T) {
	set := New(env("p", forResources("pods")))
	target := targetOf(t, revisions).WithEmbedded()
	changes := change.Embedded(schema.Label, nil, nil, nil, plainOf(t, labels("env: prod")))
	refusal, _, err := NewDecider(set, "default", target, callerWith(), 0).Decide(t.Context(), changes)
	if want := ".metadata.labels[env]: ClusterRole p"; err != nil || shown(refusal) != want {
		t.Errorf("%s, %v", shown(refusal), err)
	}
}

// TestPlacesOutOfScope checks that outside of scopes the resources of an attribute are known only
// in the object's own metadata. Elsewhere the labels belong to another, unknown object.
func TestPlacesOutOfScope(t *testing.T) {
	at := func(fields ...string) *change.Attribute {
		a := &change.Attribute{Kind: schema.Label, Key: "env"}
		for _, f := range fields {
			a.Path = append(a.Path, change.Step{Field: f})
		}
		return a
	}
	unreadable := func(fields ...string) *change.Attribute {
		a := at(fields...)
		a.Unreadable = true
		return a
	}
	for _, test := range []struct {
		a     *change.Attribute
		known bool
	}{
		{at("metadata", "labels"), true}, {at("spec", "labels"), false}, {at("metadata", "other", "labels"), false}, {at("labels"), false},
		// An unreadable location may be above labels.
		{unreadable("metadata", "labels"), true}, {unreadable("metadata"), true}, {unreadable("spec"), false}, {unreadable(), false},
	} {
		if out, known := builtin.of(services, test.a); known != test.known {
			t.Errorf("%s: %v, %v", test.a, out, known)
		}
	}
	definitions := map[string]*spec.Schema{}
	const text = `root: {properties: {spec: {properties: {labels: {type: object, x-kubernetes-permission-parameter-source: label-key}}}}}`
	if err := yaml.Unmarshal([]byte(text), &definitions); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.Compile(definitions, "root")
	if err != nil {
		t.Fatal(err)
	}
	if got := New(env("p", forResources("pods"))).Active("default", builtin.Target(services, tree)); got != schema.Label {
		t.Errorf("active for such a kind: %s", got)
	}
}

func TestWanted(t *testing.T) {
	set := New(env("k"), env("d", key("example.com/*")), env("t", in("default"), key("tenant")), env("a", annotation, key("note")))
	for _, test := range []struct {
		set       *Set
		namespace string
		kind      schema.Attribute
		key       string
		want      bool
	}{
		{set, "default", schema.Label, "env", true}, {set, "", schema.Label, "env", true},
		{set, "default", schema.Label, "example.com/a", true}, {set, "default", schema.Label, "example.org/a", false},
		{set, "default", schema.Label, "tenant", true}, {set, "other", schema.Label, "tenant", false}, {set, "", schema.Label, "tenant", false},
		{set, "default", schema.Label, "other", false}, {set, "default", schema.Label, "note", false}, {set, "default", schema.Annotation, "note", true},
		{nil, "default", schema.Label, "env", false}, {New(), "default", schema.Label, "env", false},
	} {
		if got := NewDecider(test.set, test.namespace, targetOf(t, pods), callerWith(), 0).Wanted(test.kind, test.key); got != test.want {
			t.Errorf("%s %s in %q: %v", test.kind, test.key, test.namespace, got)
		}
	}
}

// TestSetKeepsCopies checks that a Set is immutable: it copies every slice of its entries.
func TestSetKeepsCopies(t *testing.T) {
	for name, e := range map[string]Entry{
		"protected": env("p", only("prod")), "allowed": env("p", allowed("dev")),
		"resources": env("p", forResources("pods")), "excluded": env("p", notResources("nodes")),
	} {
		set := New(e)
		for _, of := range [][]string{e.ProtectedValues, e.AllowedValues} {
			for i := range of {
				of[i] = "prod2"
			}
		}
		for i := range e.Resources {
			e.Resources[i] = nodes
		}
		for i := range e.ExcludeResources {
			e.ExcludeResources[i] = pods
		}
		changes := change.Attributes{{Kind: schema.Label, Key: "env", New: change.Value{Text: "prod", Present: true}, Path: change.Path{{Field: "metadata"}, {Field: "labels"}}}}
		refusal, _, err := NewDecider(set, "default", targetOf(t, pods), callerWith(), 0).Decide(t.Context(), changes)
		if err != nil || refusal == nil {
			t.Errorf("%s: %s, %v", name, shown(refusal), err)
		}
	}
}

func TestTableWith(t *testing.T) {
	fleets := resourceOf("fleets.example.com")
	table := builtin.With(Source{From: fleets, Scope: "example.com/vehicleTemplate", Kinds: schema.Label, To: []Resource{resourceOf("vehicles.example.com")}})
	walker := walkerOf(t, fleets)
	run := func(table *Table, e Entry) *Refusal {
		d := NewDecider(New(e), "default", table.Target(fleets, walker.Tree()), callerWith(), 0)
		changes, err := walker.Attributes(schema.Label, d, nil, plainOf(t, template("env: prod")))
		if err != nil {
			t.Fatal(err)
		}
		refusal, _, err := d.Decide(t.Context(), changes)
		if err != nil {
			t.Fatal(err)
		}
		return refusal
	}
	if r := run(builtin, env("p", forResources("pods"))); r == nil {
		t.Error("a template that nobody knows is free")
	}
	if r := run(table, env("p", forResources("pods"))); r != nil {
		t.Error("a template that is known counts as one that is not")
	}
	if r := run(table, env("p", forResources("vehicles.example.com"))); r == nil {
		t.Error("what comes out is free")
	}
}

func TestConcerned(t *testing.T) {
	set := New(env("all"), env("prod", only("prod"), in("default")), env("dev", only("dev")), env("audits", audit), env("jobs", forResources("jobs.batch")), env("other", in("other")), env("a tenant's", only("test"), in("default")))
	for _, test := range []struct {
		old, new string
		want     []string
	}{
		{"{}", labels("env: prod"), values("all", "audits", "prod")},
		{labels("env: prod"), labels("env: dev"), values("all", "audits", "dev", "prod")},
		{labels("env: test"), "{}", values("a tenant's", "all", "audits")},
		{labels("a: b"), labels("a: c"), nil},
	} {
		c := callerWith()
		d := NewDecider(set, "default", targetOf(t, pods), c, 0)
		changes, err := walkerOf(t, pods).Attributes(schema.Label, nil, plainOf(t, test.old), plainOf(t, test.new))
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		if diff := cmp.Diff(test.want, d.Concerned(&changes[0])); diff != "" || len(c.asked) > 0 {
			t.Errorf("%s > %s: %s, asked %v", test.old, test.new, diff, c.asked)
		}
	}
}

// TestBudget checks that a caller, who chooses the keys, can't choose how many references are
// asked.
//
// Attack: more protected keys in one write than the server asks about
// Answer: 403 after 64 roles and verbs
func TestBudget(t *testing.T) {
	many := ""
	for i := range 3 * DefaultBudget {
		many += fmt.Sprintf("example.com/k%03d: x, ", i)
	}
	refusal, _, c, err := write{new: labels(many), holds: holdAll(3 * DefaultBudget)}.run(t, []Entry{env("d", key("example.com/*"), byVerb)})
	if err != nil || refusal == nil || refusal.Reason != Budget || len(c.asked) != DefaultBudget {
		t.Errorf("%s, %v, %d asked", shown(refusal), err, len(c.asked))
	}
	refusal, _, c, err = write{new: labels(many), holds: values("ClusterRole d")}.run(t, []Entry{env("d", key("example.com/*"))})
	if err != nil || refusal != nil || len(c.asked) != 1 {
		t.Errorf("%s, %v, %d asked", shown(refusal), err, len(c.asked))
	}
	_, findings, c, err := write{new: labels(many), holds: holdAll(3 * DefaultBudget)}.run(t, []Entry{env("d", key("example.com/*"), byVerb, audit)})
	if err != nil || len(findings) != 2*DefaultBudget || !findings[0].Undecided || len(c.asked) != DefaultBudget {
		t.Errorf("%d findings, %v, %d asked", len(findings), err, len(c.asked))
	}
}

func holdAll(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("granular:protectedLabel(example.com/k%03d)", i))
	}
	return out
}

func TestMessage(t *testing.T) {
	for _, test := range []struct {
		entries []Entry
		write   write
		want    string
	}{
		{[]Entry{env("p")}, write{new: labels("env: prod")},
			`cannot change .metadata.labels[env], a protected label: needs ClusterRole "p", for it is protected in the cluster`},
		{[]Entry{env("p", in("default"), byRole), env("v", in("default"), byVerb)}, write{new: labels("env: prod")},
			`cannot change .metadata.labels[env], a protected label: needs one of Role "p", the verb "granular:protectedLabel(env)", for it is protected in namespace "default"`},
		{[]Entry{env("a"), env("b"), env("c"), env("d"), env("e")}, write{new: labels("env: prod")},
			`cannot change .metadata.labels[env], a protected label: needs one of ClusterRole "a", ClusterRole "b", ClusterRole "c" or 2 others, for it is protected in the cluster`},
		{[]Entry{env("p", allowed("dev"))}, write{new: labels("env: prod")},
			`cannot change .metadata.labels[env], a protected label: no protected attribute in the cluster admits this value`},
		{[]Entry{env("p", annotation)}, write{resource: "fleets.example.com", new: "spec: {mapped: {m: {metadata: {annotations: {env: prod}}}}}"},
			`cannot change .spec.mapped[*].metadata.annotations[env], a protected annotation: needs ClusterRole "p", for it is protected in the cluster`},
		{[]Entry{env("p")}, write{resource: "fleets.example.com", new: "spec: {template: [a]}"},
			`cannot change .spec.template, a protected label: its new value can't be read, so it may have keys that are protected in the cluster`},
	} {
		refusal, _, _, err := test.write.run(t, test.entries)
		if err != nil || refusal == nil {
			t.Fatalf("%v, %v", refusal, err)
		}
		if got := refusal.Message(true); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// many returns n entries. None of them protects a key that these tests use.
func many(n int) []Entry {
	out := make([]Entry, n)
	for i := range out {
		out[i] = env(fmt.Sprint("p", i), key(fmt.Sprintf("d%d.example.com/k", i)))
		if i%10 == 0 {
			out[i].Key = fmt.Sprintf("d%d.example.com/*", i)
		}
		if i%2 == 0 {
			out[i].Namespace = "default"
		}
	}
	return out
}

func TestNoAllocations(t *testing.T) {
	target := targetOf(t, deployments)
	for _, n := range []int{0, 1, 1000} {
		set := New(many(n)...)
		d := NewDecider(set, "default", target, callerWith(), 0)
		if allocs := testing.AllocsPerRun(100, func() {
			set.Active("default", target)
			d.Wanted(schema.Label, "app.kubernetes.io/name")
		}); allocs != 0 {
			t.Errorf("%d entries: %v allocations", n, allocs)
		}
	}
}
