// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"maps"
	"slices"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// Apply returns definitions with the entries for a kind, and the outcome of each entry. It changes
// neither the definitions nor the map. Exclusions in mode Enforce are excluded, and those in mode Audit
// are names, unless all is set: then all are excluded, as mode Enforce would have it. If e is nil, Apply
// returns the definitions. An error means that the kind has no definition, or that an enforced exclusion is Unread.
func Apply(
	definitions map[string]*spec.Schema, kind gvkschema.GroupVersionKind, e *Entries, all bool,
) (map[string]*spec.Schema, []Outcome, error) {
	if e == nil {
		return definitions, nil, nil
	}
	models := schema.NewModels(definitions)
	name, err := models.Definition(kind)
	if err != nil {
		return nil, nil, fmt.Errorf("entries of %s: %w", e.Source, err)
	}
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Unread != "" && f.closes(e, all) {
			return nil, nil, fmt.Errorf("entries of %s: the path %q of an exclusion can't be read", e.OriginOf(f).Source, f.Unread)
		}
	}
	root := models.Cursor(name)
	placed := place(root, e, all)
	outcomes := make([]Outcome, len(placed))
	top := &branch{}
	for i := range placed {
		p := &placed[i]
		outcomes[i] = p.outcome
		if p.outcome.State != Idle {
			top.add(p.held, p.maps, schema.Entry{
				Permission: e.Fields[i].Permission, Excluded: p.outcome.Excluded, Embedded: e.Fields[i].Origin != nil,
			})
		}
		if p.outcome.State == Active && p.outcome.Excluded {
			outcomes[i].AlsoReachable = alsoReachable(root, e, i, p.resolution)
		}
	}
	changed := *definitions[name]
	changed.AllOf = append(slices.Clone(changed.AllOf), *top.schema())
	out := maps.Clone(definitions)
	out[name] = &changed
	return out, outcomes, nil
}

// closes reports whether f, a field of e, is an exclusion that is enforced, or that all says to enforce.
func (f *Field) closes(e *Entries, all bool) bool {
	return f.Excluded && (all || e.OriginOf(f).Enforced)
}

// placement is where one entry holds.
type placement struct {
	resolution
	held    Path
	outcome Outcome
}

// place finds out where the entries hold, and which are excluded.
func place(root schema.Cursor, e *Entries, all bool) []placement {
	out := make([]placement, len(e.Fields))
	for i := range e.Fields {
		f := &e.Fields[i]
		out[i] = placeOne(root, f, f.closes(e, all))
	}
	// Inside an exclusion every entry of the same origin is one: one of another origin is no second key to
	// it anyway. So the entries around come first.
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(out[a].held) - len(out[b].held) })
	for at, i := range order {
		p := &out[i]
		if p.outcome.State == Idle || p.outcome.Excluded {
			continue
		}
		for _, j := range order[:at] {
			above := &out[j]
			if above.outcome.State != Idle && above.outcome.Excluded && len(above.held) < len(p.held) && p.held.inside(above.held) &&
				e.Fields[j].Origin == e.Fields[i].Origin {
				p.outcome.Excluded = true
				break
			}
		}
	}
	return out
}

// placeOne finds out where one entry holds. excluded is set for an exclusion that is enforced.
func placeOne(root schema.Cursor, f *Field, excluded bool) placement {
	if f.Unread != "" {
		return placement{outcome: Outcome{Path: f.Unread, State: Idle, Reason: PathUnread}}
	}
	p := placement{resolution: resolve(root, f.Path), held: f.Path}
	if f.Named != nil {
		p.resolution = resolution{reached: len(f.Path), maps: make([]bool, len(f.Path)), atomic: -1}
	}
	p.outcome = Outcome{Path: f.Path.String(), State: Active, Excluded: excluded || p.excludedAbove}
	reached := p.reached
	reason := p.reason
	if excluded && p.atomic >= 0 && p.atomic < len(f.Path) && reason != FieldAbsent {
		reached, reason = p.atomic, AtomicList
	}
	switch {
	case reason == "" && p.excludedAt:
		p.outcome.State, p.outcome.Reason = Idle, ExcludedByAuthor
	case reason == "":
	case reason == FieldAbsent || !excluded || whole(f.Path[:reached]):
		// A name never covers more than its own path.
		p.outcome.State, p.outcome.Reason = Idle, reason
	default:
		if around := resolve(root, f.Path[:reached]); around.excludedAt {
			p.outcome.State, p.outcome.Reason = Idle, ExcludedByAuthor
			break
		}
		p.held = f.Path[:reached]
		p.outcome.State, p.outcome.Reason, p.outcome.Held = Degraded, reason, p.held.String()
	}
	if p.outcome.State == Idle {
		p.outcome.Excluded = false
	}
	return p
}
