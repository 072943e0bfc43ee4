// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/pkg/included"
)

// Outcome is what would become of a request if its caller held certain verbs.
type Outcome string

// The outcomes. A request that is not judged is a write that failed, so that no field was authorized. A
// request is Unproven if the log does not show enough to tell.
const (
	Allowed   Outcome = "allowed"
	Refused   Outcome = "refused"
	Unproven  Outcome = "notProvable"
	NotJudged Outcome = "notJudged"
)

// Verdict is the outcome for one request, and why.
type Verdict struct {
	Outcome Outcome
	// Missing are the ways to allow a refused request. Each way is the verbs that the caller lacks.
	Missing [][]string
	// Fields are the first few fields that the caller may not change.
	Fields []string
	// Why says what the log does not show, or why no verb allows the change.
	Why string
	// Ordinary is the first verb for which the server would refuse the whole request. If it is empty, the server
	// would refuse the first of Fields, and name Needs among the verbs for it.
	Ordinary, Needs string
}

// maxFields is the maximum number of fields that a verdict names.
const maxFields = 3

const (
	whyFields = "the log does not show the changed fields"
	whyTree   = "the permissions of the fields are not known"
	whyVerbs  = "the log has only the verbs that allowed it then: "
)

// Decide returns whether the request would be allowed to a caller that holds exactly these verbs on the
// object of the request. It decides as the server does: by the ordinary verb and excluded fields, or else
// by the verb granular and all changed fields.
func (d *Demand) Decide(ctx context.Context, held []string) (*Verdict, error) {
	h := verbs(held)
	switch {
	case d.changes() && !d.event.succeeded():
		return &Verdict{Outcome: NotJudged}, nil
	case d.changes():
		return d.decideWrite(ctx, h, []string{d.Verb})
	case d.makes() && d.event.succeeded():
		if d.Verb == "create" {
			return d.decideWrite(ctx, h, []string{d.Verb})
		}
		return d.decideWrite(ctx, h, []string{d.Verb, "create"})
	}
	var missing []string
	for _, verb := range slices.Sorted(maps.Keys(d.needs.ordinary)) {
		// Who may read whole objects needs no verb for their metadata.
		if !h.has(verb) && (verb != included.MetadataVerb || !h.has(d.Verb)) {
			missing = append(missing, verb)
		}
	}
	switch {
	case len(d.needs.ordinary) == 0:
		return &Verdict{Outcome: NotJudged}, nil
	case len(missing) == 0:
		return &Verdict{Outcome: Allowed}, nil
	case !h.has(permission.General), !d.unread() && !d.makes():
		return &Verdict{Outcome: Refused, Missing: [][]string{missing}, Ordinary: missing[0]}, nil
	case !d.unread():
		return &Verdict{Outcome: Unproven, Missing: [][]string{missing}, Why: whyFields}, nil
	}
	// The resource may have permissions that this program can't read. Then only verbs that sufficed before
	// are known to suffice.
	if used, whole := d.event.verbs(); d.event.granular() && whole && h.hasAll(used) {
		return &Verdict{Outcome: Allowed}, nil
	}
	return &Verdict{Outcome: Unproven, Missing: [][]string{missing}, Why: whyTree}, nil
}

// unread reports whether the request is a write of a resource whose permissions could not be read.
func (d *Demand) unread() bool {
	return !d.walker.known && slices.Contains([]string{"create", "update", "patch"}, d.Verb)
}

// decideWrite decides about a successful write. The server first asks for ordinary verbs: the verb of the
// request, and create as well for an update or a patch that creates its object. For each that the caller
// does not hold, it asks for granular.
func (d *Demand) decideWrite(ctx context.Context, h verbs, ordinary []string) (*Verdict, error) {
	lacked := slices.DeleteFunc(slices.Clone(ordinary), h.has)
	// With create, the fields of a new object are judged as those of a create by POST.
	excludedOnly := len(lacked) == 0 || d.makes() && !slices.Contains(lacked, "create")
	fields, err := d.decideFields(ctx, h, excludedOnly)
	if err != nil {
		return nil, err
	}
	if len(lacked) == 0 || h.has(permission.General) {
		if fields.Outcome != Allowed && len(lacked) > 0 {
			fields.Missing = append(fields.Missing, lacked)
		}
		return fields, nil
	}
	out := &Verdict{Outcome: Refused, Missing: [][]string{lacked}, Fields: fields.Fields, Ordinary: lacked[0]}
	single := []string{permission.General}
	if len(fields.Missing) > 0 {
		single = append(single, fields.Missing[0]...)
	}
	switch {
	case fields.Outcome == Refused && len(fields.Missing) == 0: // no verb of fields suffices
	case h.granular():
		out.Missing = [][]string{single, lacked}
	case fields.Outcome != Unproven, excludedOnly: // granular and create suffice, or are known to be needed
		out.Missing = append(out.Missing, single)
	}
	return out, nil
}

// decideFields decides about the fields of a write. If ordinary is true, only fields with excluded
// permissions need a verb.
func (d *Demand) decideFields(ctx context.Context, h verbs, ordinary bool) (*Verdict, error) {
	set, known := d.set(ordinary)
	used, whole := d.event.verbs()
	switch {
	case known && (len(set) > 0 || len(used) == 0 || !d.event.granular()):
		lack, err := roles.Lacking(ctx, set, h, roles.Narrow, !ordinary)
		if err != nil || len(lack.Refusals) == 0 {
			return &Verdict{Outcome: Allowed}, err
		}
		return verdictOf(lack), nil
	case known && ordinary && d.walker.NothingToCheck(change.ExcludedOnly):
		return &Verdict{Outcome: Allowed}, nil
	case whole && (d.event.granular() || len(used) > 0):
		return d.decideUsed(h, used, ordinary), nil
	}
	return &Verdict{Outcome: Unproven, Why: whyFields}, nil
}

// verdictOf returns the verdict for a change for which verbs of fields are lacking.
func verdictOf(lack *roles.Lack) *Verdict {
	out := &Verdict{Outcome: Refused}
	for _, r := range lack.Refusals {
		if path := cmp.Or(r.Change.Path().String(), "the whole object"); len(out.Fields) < maxFields && !slices.Contains(out.Fields, path) {
			out.Fields = append(out.Fields, path)
		}
	}
	first := lack.Refusals[0]
	switch {
	case lack.Never != nil:
		out.Why = lack.Never.Needs()
	case len(lack.Refusals) == 1 && first.General != lack.Verbs[0]:
		out.Missing = [][]string{lack.Verbs, {first.General}}
	default:
		out.Missing = [][]string{lack.Verbs}
	}
	if len(lack.Verbs) > 0 {
		out.Needs = lack.Verbs[0]
	}
	return out
}

// decideUsed decides about a change of which the log has only the verbs that allowed it.
func (d *Demand) decideUsed(h verbs, used []string, ordinary bool) *Verdict {
	out := &Verdict{Outcome: Allowed}
	var missing []string
	for _, verb := range used {
		switch d.covered(h, verb, ordinary) {
		case Allowed:
			continue
		case Refused:
			out.Outcome = Refused
		case Unproven:
			if out.Outcome == Allowed {
				out.Outcome = Unproven
			}
		}
		missing = append(missing, verb)
	}
	if len(missing) > 0 {
		out.Missing = [][]string{missing}
	}
	if out.Outcome == Unproven {
		out.Why = whyVerbs + strings.Join(missing, " ")
	}
	return out
}

// covered returns whether a caller may make each change that a verb of a permission allows, no such
// change, or some of them. If ordinary is true, only fields with excluded permissions need a verb.
func (d *Demand) covered(h verbs, verb string, ordinary bool) Outcome {
	if h.has(verb) {
		return Allowed
	}
	parsed, err := permission.Parse(verb)
	if err != nil {
		return Unproven
	}
	always, never := true, true
	places := 0
	for place := range d.walker.Tree().NodePaths() {
		candidates, excluded := decide.Candidates(place.Node())
		own := slices.IndexFunc(candidates, func(p *schema.Permission) bool { return p.Name == parsed.Permission })
		if own < 0 {
			continue
		}
		places++
		if ordinary && !excluded {
			never = false
			continue
		}
		general := slices.ContainsFunc(candidates[:own], func(p *schema.Permission) bool {
			return p.Parameter == nil && h.has(permission.Verb{Permission: p.Name}.String())
		})
		always = always && general
		never = never && !slices.ContainsFunc(candidates, func(p *schema.Permission) bool {
			// A key has one verb of a permission, so a verb for another key does not cover it.
			other := p.Name == parsed.Permission && p.Parameter != nil && !p.Parameter.FromValue
			return !other && h.hasPermission(p.Name)
		})
	}
	switch {
	case places == 0:
		return Unproven
	case always:
		return Allowed
	case never:
		return Refused
	}
	return Unproven
}

// verbs are the verbs that a caller holds on one object. The verb * stands for all verbs.
type verbs []string

func (h verbs) has(verb string) bool {
	return slices.Contains(h, rbacv1.VerbAll) || slices.Contains(h, verb)
}

func (h verbs) hasAll(others []string) bool {
	return !slices.ContainsFunc(others, func(v string) bool { return !h.has(v) })
}

// granular reports whether one of the verbs is about single fields.
func (h verbs) granular() bool {
	return slices.ContainsFunc(h, func(v string) bool { return v == permission.General || isPermissionVerb(v) })
}

// hasPermission reports whether one of the verbs is of a permission, with any parameter.
func (h verbs) hasPermission(name string) bool {
	return slices.ContainsFunc(h, func(v string) bool {
		parsed, err := permission.Parse(v)
		return v == rbacv1.VerbAll || err == nil && parsed.Permission == name
	})
}
