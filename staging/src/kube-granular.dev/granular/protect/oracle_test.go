// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// The oracle is a second implementation that knows no tree, no path and no index. An
// object is a list of slots, each a map of strings; all that is asked is answered by going
// through everything.

// slot is one map of labels or annotations in an object of the oracle.
type slot struct {
	// place tells slots of one object apart, but for elem, which tells elements apart.
	place, elem string
	kind        string
	// out are the resources that come out, everything if it is "*".
	out string
}

// slots are the places in each resource, spelled out by hand.
var slots = map[string][]slot{
	"configmaps": {{place: "own", kind: "Label", out: "configmaps"}, {place: "own", kind: "Annotation", out: "configmaps"}},
	"namespaces": {{place: "own", kind: "Label", out: "namespaces"}, {place: "own", kind: "Annotation", out: "namespaces"}},
	"pods": {
		{place: "own", kind: "Label", out: "pods"}, {place: "own", kind: "Annotation", out: "pods"},
		{place: "volume", elem: "u", kind: "Label", out: "persistentvolumeclaims"}, {place: "volume", elem: "v", kind: "Label", out: "persistentvolumeclaims"},
	},
	"deployments.apps": {
		{place: "own", kind: "Label", out: "deployments.apps"}, {place: "own", kind: "Annotation", out: "deployments.apps replicasets.apps"},
		{place: "template", kind: "Label", out: "pods replicasets.apps"}, {place: "template", kind: "Annotation", out: "pods"},
	},
	"statefulsets.apps": {
		{place: "own", kind: "Label", out: "statefulsets.apps"},
		{place: "template", kind: "Label", out: "pods controllerrevisions.apps persistentvolumeclaims"},
		{place: "claim", elem: "u", kind: "Label", out: "persistentvolumeclaims"}, {place: "claim", elem: "v", kind: "Annotation", out: "persistentvolumeclaims"},
	},
	"cronjobs.batch": {
		{place: "own", kind: "Label", out: "cronjobs.batch"}, {place: "job", kind: "Label", out: "jobs.batch"}, {place: "job", kind: "Annotation", out: "jobs.batch"},
		{place: "jobpod", kind: "Label", out: "pods jobs.batch"}, {place: "jobpod", kind: "Annotation", out: "pods"},
	},
	"fleets.example.com": {
		{place: "own", kind: "Label", out: "fleets.example.com"}, {place: "pod", kind: "Label", out: "*"}, {place: "template", kind: "Annotation", out: "*"},
		{place: "named", elem: "u", kind: "Label", out: "*"}, {place: "named", elem: "v", kind: "Label", out: "*"},
		{place: "listed", elem: "u", kind: "Label", out: "*"}, {place: "listed", elem: "v", kind: "Label", out: "*"},
		{place: "mapped", elem: "u", kind: "Annotation", out: "*"}, {place: "mapped", elem: "v", kind: "Annotation", out: "*"},
	},
}

// thing is an object of the oracle: what each slot holds.
type thing map[slot]map[string]string

func (o thing) clone() thing {
	out := thing{}
	for s, m := range o {
		out[s] = maps.Clone(m)
	}
	return out
}

// object writes it as the API has it. Elements of lists come in any order.
func (o thing) object(r *rand.Rand, resource string) any {
	if o == nil {
		return nil
	}
	root := map[string]any{}
	into := func(fields ...string) map[string]any {
		at := root
		for _, f := range fields {
			if at[f] == nil {
				at[f] = map[string]any{}
			}
			at = at[f].(map[string]any)
		}
		return at
	}
	lists := map[string]map[string]map[string]any{}
	for s, m := range o {
		values := map[string]any{}
		for k, v := range m {
			values[k] = v
		}
		name := map[string]string{"Label": "labels", "Annotation": "annotations"}[s.kind]
		switch s.place {
		case "own":
			into("metadata")[name] = values
		case "template":
			into("spec", "template", "metadata")[name] = values
		case "job":
			into("spec", "jobTemplate", "metadata")[name] = values
		case "jobpod":
			into("spec", "jobTemplate", "spec", "template", "metadata")[name] = values
		case "pod":
			into("spec")["podLabels"] = values
		case "mapped":
			into("spec", "mapped", s.elem, "metadata")[name] = values
		default:
			if lists[s.place] == nil {
				lists[s.place] = map[string]map[string]any{}
			}
			if lists[s.place][s.elem] == nil {
				lists[s.place][s.elem] = map[string]any{}
			}
			lists[s.place][s.elem][name] = values
		}
	}
	for place, elems := range lists {
		var list []any
		for elem, metadata := range elems {
			switch place {
			case "volume":
				list = append(list, map[string]any{"name": elem, "ephemeral": map[string]any{"volumeClaimTemplate": map[string]any{"metadata": metadata}}})
			case "claim":
				metadata["name"] = elem
				list = append(list, map[string]any{"metadata": metadata})
			default:
				list = append(list, map[string]any{"name": elem, "metadata": metadata, "engine": fmt.Sprint(r.IntN(2))})
			}
		}
		if r.IntN(2) == 0 {
			slices.Reverse(list)
		}
		field := map[string]string{"volume": "volumes", "claim": "volumeClaimTemplates", "named": "named", "listed": "listed"}[place]
		into("spec")[field] = list
	}
	return root
}

// difference is one key that differs.
type difference struct {
	slot
	key      string
	old, new *string
}

func differences(old, new thing, resource string) (out []difference) {
	for _, s := range slots[resource] {
		keys := map[string]bool{}
		for k := range old[s] {
			keys[k] = true
		}
		for k := range new[s] {
			keys[k] = true
		}
		for k := range keys {
			d := difference{slot: s, key: k}
			if v, ok := old[s][k]; ok {
				d.old = &v
			}
			if v, ok := new[s][k]; ok {
				d.new = &v
			}
			if (d.old == nil) != (d.new == nil) || d.old != nil && *d.old != *d.new {
				out = append(out, d)
			}
		}
	}
	return out
}

// answering is what the caller has to answer for.
func answering(observed, final []difference) (out []difference) {
	same := func(a, b difference) bool { return a.place == b.place && a.kind == b.kind && a.key == b.key }
	for _, f := range final {
		if slices.ContainsFunc(observed, func(o difference) bool { return same(o, f) }) {
			out = append(out, f)
		}
	}
	for _, o := range observed {
		if slices.ContainsFunc(final, func(f difference) bool { return same(o, f) }) {
			out = append(out, o)
		}
	}
	return out
}

func (e *Entry) oracleHas(d difference) bool {
	if e.Kind.String() != d.kind {
		return false
	}
	if name, ok := strings.CutSuffix(e.Key, "*"); ok {
		if !strings.HasPrefix(d.key, name) {
			return false
		}
	} else if e.Key != d.key {
		return false
	}
	if d.out == "*" || len(e.Resources)+len(e.ExcludeResources) == 0 {
		return true
	}
	for _, out := range strings.Fields(d.out) {
		in, not := len(e.Resources) == 0, false
		for _, r := range e.Resources {
			in = in || resourceOf(out) == r
		}
		for _, r := range e.ExcludeResources {
			not = not || resourceOf(out) == r
		}
		if in && !not {
			return true
		}
	}
	return false
}

func (e *Entry) oracleHolds(holds map[string]bool, key string) bool {
	switch {
	case e.Role.Kind == "" && e.Kind == schema.Label:
		return holds["granular:protectedLabel("+key+")"]
	case e.Role.Kind == "":
		return holds["granular:protectedAnnotation("+key+")"]
	case e.Namespace != "":
		return holds[e.Role.Kind+" "+e.Role.Name+" in "+e.Namespace]
	}
	return holds[e.Role.Kind+" "+e.Role.Name]
}

// admitted answers for one scope and one side: whether any entry is concerned, whether
// one that audits is, and whether one admits.
func oracleSide(entries []Entry, namespace string, d difference, value string, audits bool, holds map[string]bool) (concerned, auditing []string, admitted bool) {
	for _, e := range entries {
		if e.Namespace != namespace || !e.oracleHas(d) || e.Mode == Audit && !audits {
			continue
		}
		listed := false
		for _, v := range append(slices.Clone(e.ProtectedValues), e.AllowedValues...) {
			listed = listed || v == value
		}
		all := len(e.ProtectedValues)+len(e.AllowedValues) == 0
		if len(e.ProtectedValues) > 0 && !listed {
			continue
		}
		concerned = append(concerned, e.Name)
		if e.Mode == Audit {
			auditing = append(auditing, e.Name)
		}
		admitted = admitted || (all || listed) && e.oracleHolds(holds, d.key)
	}
	return concerned, auditing, admitted
}

func oracle(entries []Entry, resource, namespace string, changes []difference, holds map[string]bool) (refused bool, found map[string]bool) {
	scopes := []string{"", namespace}
	if resource == "namespaces" || namespace == "" {
		scopes = scopes[:1]
	}
	found = map[string]bool{}
	for _, d := range changes {
		for _, scope := range scopes {
			for _, value := range []*string{d.old, d.new} {
				if value == nil {
					continue
				}
				if concerned, _, admitted := oracleSide(entries, scope, d, *value, false, holds); len(concerned) > 0 && !admitted {
					refused = true
				}
				_, auditing, admitted := oracleSide(entries, scope, d, *value, true, holds)
				for _, name := range auditing {
					found[name] = found[name] || !admitted
				}
			}
		}
	}
	return refused, found
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func some[T any](r *rand.Rand, from ...T) (out []T) {
	for _, v := range from {
		if r.IntN(3) == 0 {
			out = append(out, v)
		}
	}
	return out
}

var (
	oracleKeys      = []string{"env", "example.com/a", "example.com/b", "team"}
	oracleValues    = []string{"prod", "dev", "test", ""}
	oracleResources = []Resource{pods, jobs, deployments, replicaSets, claims, revisions, resourceOf("fleets.example.com"), resourceOf("namespaces")}
)

func randomEntries(r *rand.Rand) []Entry {
	entries := make([]Entry, r.IntN(6))
	for i := range entries {
		e := &entries[i]
		*e = Entry{Name: fmt.Sprint("e", i), Namespace: pick(r, "", "", "default", "other"), Kind: pick(r, schema.Label, schema.Label, schema.Annotation), Key: pick(r, "env", "env", "example.com/*", "example.com/a", "team")}
		switch r.IntN(3) {
		case 0:
			e.ProtectedValues = some(r, oracleValues...)
		case 1:
			e.AllowedValues = some(r, oracleValues...)
		}
		if r.IntN(4) > 0 {
			e.Role = RoleRef{ClusterRole, pick(r, "a", "b", "c")}
			if e.Namespace != "" && r.IntN(2) == 0 {
				e.Role.Kind = Role
			}
		}
		if r.IntN(4) == 0 {
			e.Mode = Audit
		}
		if r.IntN(3) == 0 {
			e.Resources = some(r, oracleResources...)
		}
		if r.IntN(5) == 0 {
			e.ExcludeResources = some(r, oracleResources...)
		}
	}
	return entries
}

func randomThing(r *rand.Rand, resource string) thing {
	out := thing{}
	for _, s := range slots[resource] {
		if r.IntN(3) == 0 {
			continue
		}
		out[s] = map[string]string{}
		for _, k := range some(r, oracleKeys...) {
			out[s][k] = pick(r, oracleValues...)
		}
	}
	return out
}

// edited changes a thing in some places.
func edited(r *rand.Rand, o thing, resource string) thing {
	if r.IntN(8) == 0 {
		return randomThing(r, resource)
	}
	out := o.clone()
	for range r.IntN(4) {
		s := pick(r, slots[resource]...)
		switch r.IntN(4) {
		case 0:
			delete(out[s], pick(r, oracleKeys...))
		case 1:
			delete(out, s)
		default:
			if out[s] == nil {
				out[s] = map[string]string{}
			}
			out[s][pick(r, oracleKeys...)] = pick(r, oracleValues...)
		}
	}
	return out
}

func randomHolds(r *rand.Rand) []string {
	var all []string
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, "ClusterRole "+name, "ClusterRole "+name+" in default", "Role "+name+" in default")
	}
	for _, k := range oracleKeys {
		all = append(all, "granular:protectedLabel("+k+")", "granular:protectedAnnotation("+k+")")
	}
	return some(r, all...)
}

// oracleCase runs one random request through the library and the oracle.
func oracleCase(t *testing.T, seed uint64) (refused bool) {
	r := rand.New(rand.NewPCG(seed, 19))
	resource := pick(r, slices.Sorted(maps.Keys(slots))...)
	entries := randomEntries(r)
	var old thing
	if r.IntN(4) > 0 {
		old = randomThing(r, resource)
	}
	caller := edited(r, old, resource)
	final := caller
	if r.IntN(3) == 0 {
		final = edited(r, caller, resource)
	}
	holds := randomHolds(r)
	namespace := pick(r, "default", "default", "default", "other")

	set, target := New(entries...), targetOf(t, resourceOf(resource))
	walker, who := walkerOf(t, resourceOf(resource)), callerWith(holds...)
	decider := NewDecider(set, namespace, target, who, 1000)
	active := set.Active(namespace, target)
	oldObject := old.object(r, resource)
	attributes := func(new thing) change.Attributes {
		s, err := walker.Attributes(active, decider, oldObject, new.object(r, resource))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	refusal, findings, err := decider.Decide(t.Context(), change.IntersectAttributes(attributes(caller), attributes(final)))
	if err != nil {
		t.Fatal(err)
	}
	changes := answering(differences(old, caller, resource), differences(old, final, resource))
	want, wouldFind := oracle(entries, resource, namespace, changes, who.holds)
	if (refusal != nil) != want {
		t.Fatalf("seed %d: %s: refused: %v, the oracle: %v", seed, resource, shown(refusal), want)
	}
	if refusal == nil {
		found := map[string]bool{}
		for _, f := range findings {
			for _, name := range f.Entries {
				found[name] = true
			}
		}
		for _, e := range entries {
			if found[e.Name] != wouldFind[e.Name] {
				t.Fatalf("seed %d: %s: entry %s is found: %v, by the oracle: %v", seed, resource, e.Name, found[e.Name], wouldFind[e.Name])
			}
		}
	}
	for i, asked := range who.asked {
		if slices.Contains(who.asked[:i], asked) {
			t.Fatalf("seed %d: %s is asked twice", seed, asked)
		}
	}
	// Whoever is given what each refusal names is admitted in the end, unless nobody is.
	for refusal != nil && refusal.Reason == NotHeld {
		more := short(refusal.References[0])
		if who.holds[more] {
			t.Fatalf("seed %d: the refusal names %s, which the caller holds", seed, more)
		}
		who.holds[more] = true
		d := NewDecider(set, namespace, target, who, 1000)
		if refusal, _, err = d.Decide(t.Context(), change.IntersectAttributes(attributes(caller), attributes(final))); err != nil {
			t.Fatal(err)
		}
		if want, _ := oracle(entries, resource, namespace, changes, who.holds); (refusal != nil) != want {
			t.Fatalf("seed %d: with %s: refused: %v, the oracle: %v", seed, more, shown(refusal), want)
		}
	}
	return want
}

func TestOracle(t *testing.T) {
	const cases = 12000
	refused := 0
	for seed := range uint64(cases) {
		if oracleCase(t, seed) {
			refused++
		}
	}
	t.Logf("%d of %d cases are refused", refused, cases)
	if refused < cases/20 || refused > cases/2 {
		t.Errorf("%d of %d cases are refused: that tests one side alone", refused, cases)
	}
}

func FuzzOracle(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) { oracleCase(t, seed) })
}
