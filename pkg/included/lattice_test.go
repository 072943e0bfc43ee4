// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
)

// write is one sort of write, with all that decides whether a set of verbs allows it. Verbs are bits.
type write struct {
	group, resource string
	verbs           []string
	// enough are the smallest sets of verbs that allow the write.
	enough []uint32
	create bool
}

// The parameters of the write. A key has a domain; the value of a field is replaced by another one of the
// same registry.
const (
	writtenKey          = "x.io/k"
	oldValue, newValue  = "x.io/a", "x.io/b"
	generalMetadataVerb = "granular:metadata"
)

func (w *write) bit(verb string) uint32 {
	i := slices.Index(w.verbs, verb)
	if i < 0 {
		i = len(w.verbs)
		w.verbs = append(w.verbs, verb)
	}
	return 1 << i
}

// covering returns the smallest sets of verbs of a permission that cover a field. It makes parameters itself.
func (w *write) covering(p *registry.Permission) (out []uint32) {
	verb := func(parameter string) uint32 { return w.bit("granular:" + p.Name + "(" + parameter + ")") }
	switch {
	case p.Parameter == nil:
		return []uint32{w.bit("granular:" + p.Name)}
	case p.Parameter.Source == "self" || strings.HasPrefix(p.Parameter.Source, "self."):
		if p.Parameter.Treatment != string(permission.ImageRepositoryPrefix) {
			return []uint32{verb(oldValue) | verb(newValue)}
		}
		return []uint32{verb("x.io"), verb(oldValue) | verb(newValue)}
	case p.Parameter.Treatment == string(permission.SlashDelimitedPrefix):
		return []uint32{verb("x.io"), verb(writtenKey)}
	}
	return []uint32{verb(writtenKey)}
}

// writes returns the writes of all built-in resources that differ in what allows them.
func writes(t *testing.T) []*write {
	t.Helper()
	all, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*write{}
	for _, kind := range all.Kinds {
		for _, path := range fields(all, kind.Kind) {
			for _, resource := range kind.Resources {
				for _, verb := range []string{"update", "patch", "create"} {
					w := newWrite(all, kind.Kind, resource, path, verb)
					out[fmt.Sprint(resource, verb, w.verbs, w.enough)] = w
				}
			}
		}
	}
	return slices.Collect(maps.Values(out))
}

func newWrite(all *registry.Registry, kind, resource, path, verb string) *write {
	k := splitResource(resource)
	w := &write{group: k.group, resource: k.resource, create: verb == "create"}
	w.enough = []uint32{w.bit(verb)}
	granular := w.bit(permission.General)
	covering := func(field string) (out []uint32) {
		for i := range all.Permissions {
			p := &all.Permissions[i]
			if slices.ContainsFunc(paths(p, kind), func(above string) bool { return below(field, above) }) {
				out = append(out, w.covering(p)...)
			}
		}
		return out
	}
	// A created object has a name, which is metadata.
	names := []uint32{0}
	if w.create {
		names = covering(".metadata")
	}
	for _, field := range covering(path) {
		for _, name := range names {
			w.enough = append(w.enough, granular|field|name)
		}
	}
	return w
}

func (w *write) allowed(by uint32) bool {
	return slices.ContainsFunc(w.enough, func(set uint32) bool { return set&^by == 0 })
}

// grants remembers whether a verb is grantable. Includes decides by the verbs that it asks for, so one
// answer is that of all holders who agree in these.
type grants struct {
	asked uint32
	known map[uint32]bool
}

// grantable reports whether a holder of some verbs, and of all verbs that can't allow the write, may grant a
// verb. If that holder may not, nobody who holds less may: Includes takes no answer "held" amiss.
func (w *write) grantable(g *grants, verb int, held uint32) bool {
	if held&(1<<verb) != 0 {
		return true
	}
	if answer, known := g.known[held&g.asked]; known {
		return answer
	}
	before := g.asked
	answer := Includes(w.verbs[verb], w.group, w.resource, func(v string) bool {
		i := slices.Index(w.verbs, v)
		if i < 0 {
			return true
		}
		g.asked |= 1 << i
		return held&(1<<i) != 0
	})
	if g.asked != before {
		g.known = map[uint32]bool{}
	}
	g.known[held&g.asked] = answer
	return answer
}

// TestGrantableIsHeld proves that nobody can grant what they do not hold, for every built-in resource: for
// each sort of write, for every set of verbs that a granter can hold, and for whatever else a user can hold.
// If verbs that the granter may grant, together with other verbs of the user, allow the write, the verbs of
// the granter and those others allow it as well. So it does not matter whether the verbs come by a role, a
// binding, a delegation or a policy: all ask Includes.
//
// The verbs that can't allow the write are all held by the granter, which makes the most grantable. Of the
// others every set is tried. Of what the user holds besides, only what a smallest sufficient set needs
// beyond the grants can matter.
//
// The one exception is in decision 0066: to create an object takes granular, granular:metadata and the verbs
// of its fields. Update and patch include all of these but granular:metadata. So if the granter holds this
// one but not create, or the user has it from somebody else, the parts together create objects. The test
// checks that somebody must have granted it: it is included only where create is held.
func TestGrantableIsHeld(t *testing.T) {
	all := writes(t)
	resources, holders, exceptions := map[string]bool{}, 0, 0
	for _, w := range all {
		if len(w.verbs) > 24 {
			t.Fatalf("%d verbs for one write of %s", len(w.verbs), w.resource)
		}
		resources[w.group+"/"+w.resource] = true
		known := make([]grants, len(w.verbs))
		for i := range known {
			known[i].known = map[uint32]bool{}
		}
		for held := uint32(0); held < 1<<len(w.verbs); held++ {
			holders++
			var granted uint32
			for verb := range w.verbs {
				if w.grantable(&known[verb], verb, held) {
					granted |= 1 << verb
				}
			}
			for _, enough := range w.enough {
				others := enough &^ granted
				if w.allowed(held | others) {
					continue
				}
				if w.createsTogether(held, others) {
					exceptions++
					continue
				}
				t.Fatalf("%s/%s, create %t: a holder of %q may grant %q: with %q that is a write that the holder can't make", w.group, w.resource,
					w.create, w.named(held), w.named(granted&enough), w.named(others))
			}
		}
	}
	t.Logf("%d resources, %d sorts of writes, %d sets of verbs; %d creations of parts", len(resources), len(all), holders, exceptions)
	if len(resources) < 100 || len(all) < 1000 || exceptions == 0 {
		t.Error("that proves little")
	}
}

// createsTogether reports whether a write is the exception: it creates an object, and the granter or the user
// was granted the verb that names objects.
func (w *write) createsTogether(held, others uint32) bool {
	return w.create && (held|others)&w.bit(generalMetadataVerb) != 0
}

func (w *write) named(set uint32) (out []string) {
	for i, verb := range w.verbs {
		if set&(1<<i) != 0 {
			out = append(out, verb)
		}
	}
	return out
}

// TestGrantableReadIsHeld proves the same for the verb readmetadata, which allows no write.
func TestGrantableReadIsHeld(t *testing.T) {
	verbs := []string{"get", "list", "watch", MetadataVerb}
	for held := range 1 << len(verbs) {
		holds := func(verb string) bool { i := slices.Index(verbs, verb); return i < 0 || held&(1<<i) != 0 }
		if !Includes(MetadataVerb, "", "secrets", holds) {
			continue
		}
		for _, read := range verbs[:3] {
			if !holds(read) && !holds(MetadataVerb) {
				t.Errorf("a holder of %04b may grant %s, and can't %s", held, MetadataVerb, read)
			}
		}
	}
}
