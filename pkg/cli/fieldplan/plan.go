// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"fmt"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/fieldpermission/entry"
)

// Plan is what one FieldPermission would do.
type Plan struct {
	// FieldPermission is its name, and so its resource.
	FieldPermission string `json:"fieldPermission"`
	// Version is the version of the resource for which the plan is made.
	Version string `json:"version"`
	// Mode is Audit or Enforce.
	Mode    string  `json:"mode"`
	Entries []Entry `json:"entries"`
	// NotHeld are the subjects that no exclusion stops, because they may do everything with the resource
	// or may bypass FieldPermissions.
	NotHeld []Subject `json:"notHeld,omitempty"`
	// Webhooks are the webhooks and mutating policies that may change objects in which entries hold. What they
	// change is nobody's.
	Webhooks []string `json:"webhooks,omitempty"`
	// Templates are the resources with a pod template in which entries of pods hold too.
	Templates []string `json:"templates,omitempty"`
	// NotHeldIn are the custom resources that look as if they contained a specification of the kind, each
	// with its path. No entry holds there.
	NotHeldIn []string `json:"notHeldIn,omitempty"`
	// NotSeenIn are the custom resources that keep whole objects or templates without a schema, each with
	// its path. It is not known of which kinds they are.
	NotSeenIn []string `json:"notSeenIn,omitempty"`
	// Logged are the requests of an audit log that the exclusions would have refused, if a log was read.
	Logged []Request `json:"logged,omitempty"`
	// Unknown are the parts of the plan that could not be read, with the reason.
	Unknown []string `json:"unknown,omitempty"`
	// Server is the server's answer to a dry run of the write, nil if it was not asked.
	Server *Answer `json:"server,omitempty"`

	// shape finds the specification of the kind in other definitions, nil if no exclusion is in it.
	shape *shape
}

// Answer is what the server says to a dry run.
type Answer struct {
	Accepted bool     `json:"accepted"`
	Message  string   `json:"message,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Entry is what one entry would do.
type Entry struct {
	Path string `json:"path"`
	// Verb grants the permission of the entry.
	Verb     string `json:"verb"`
	Excluded bool   `json:"excluded"`
	// State is Active, Idle or Degraded. Reason says why it is not Active, and Held is the larger field
	// that a Degraded exclusion closes.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Held   string `json:"held,omitempty"`
	// AlsoReachable are other fields of the same kind by which the same effect may be possible.
	AlsoReachable []string `json:"alsoReachable,omitempty"`
	// Problems are the reasons for which the server would refuse the entry.
	Problems []string `json:"problems,omitempty"`
	// Stopped are the subjects that an exclusion stops: they may write the resource, and hold no verb that
	// covers the field.
	Stopped []Subject `json:"stopped,omitempty"`
	// Holders are the subjects that hold a verb which covers the field: the entry's, or for a name one of
	// a field around it.
	Holders []Subject `json:"holders,omitempty"`
	// Writers are the managers that own the field in live objects.
	Writers []Writer `json:"writers,omitempty"`
	// Droppers are the managers that update objects with an excluded field and own none of it. If such a
	// client does not know the field, its update removes it, and is refused.
	Droppers []Writer `json:"droppers,omitempty"`
	// WrittenBy are the controllers that write an excluded field for others, with the fields from which they do.
	WrittenBy []string `json:"writtenBy,omitempty"`
	// path is parsed, and verbs cover the field.
	path  overlay.Path
	verbs []string
}

// Subject is a user, a group or a service account, with what gives it a verb.
type Subject struct {
	// Resources are the kinds with a pod template on which the subject has the verb. It is empty if that is
	// the resource of the plan.
	Resources []string `json:"resources,omitempty"`
	Subject   string   `json:"subject"`
	Verb      string   `json:"verb"`
	Binding   string   `json:"binding"`
	Note      string   `json:"note,omitempty"`
}

// Writer is a field manager that owns a field.
type Writer struct {
	Manager string `json:"manager"`
	// Objects is the number of objects in which it owns the field.
	Objects int `json:"objects"`
	// Last is the time of its last write, in UTC.
	Last string `json:"last,omitempty"`
}

// New returns the plan for entries of a kind, without what live objects and the server tell. The kind must
// be one to which no entries were added.
func New(k *kinds.Kind, entries *overlay.Entries, rbac *access.RBAC) (*Plan, error) {
	tree, _, outcomes, err := kinds.Overlay(k, entries, true)
	if err != nil {
		return nil, fmt.Errorf("fieldpermission %s: %w", entries.Source, err)
	}
	out := &Plan{FieldPermission: entries.Source, Version: k.Resource.Version, Mode: "Audit", Entries: []Entry{}}
	if entries.Enforced {
		out.Mode = "Enforce"
	}
	out.addTemplates(entries)
	out.shape = shapeOf(k, entries)
	people := newPeople(rbac, targetOf(k.Resource), entries.Source)
	out.NotHeld = people.notHeld
	for i := range entries.Fields {
		f, outcome := &entries.Fields[i], &outcomes[i]
		e := Entry{
			Path: outcome.Path, Verb: entry.Verb(f.Permission), Excluded: f.Excluded, State: string(outcome.State),
			Reason: outcome.Reason, Held: outcome.Held, AlsoReachable: outcome.AlsoReachable, path: f.Path,
		}
		if outcome.State != overlay.Idle {
			candidates, excluded := decide.Candidates(tree.Nearest(f.Path.Steps()))
			for _, p := range candidates {
				e.verbs = append(e.verbs, kinds.VerbOf(p))
			}
			e.Holders = people.holders(e.verbs)
			if excluded {
				e.Stopped = people.stopped(e.Holders)
			}
		}
		out.Entries = append(out.Entries, e)
	}
	out.addIndirect()
	out.addTemplatePeople(rbac, entries)
	for _, problem := range overlay.Check(k.Definitions(), k.Kind, entries) {
		if problem.Index < 0 {
			out.Unknown = append(out.Unknown, problem.Message)
			continue
		}
		e := &out.Entries[problem.Index]
		e.Problems = append(e.Problems, string(problem.Part)+": "+problem.Message)
	}
	return out, nil
}

// Refused reports whether the server refuses the FieldPermission, or would do so.
func (p *Plan) Refused() bool {
	for i := range p.Entries {
		if len(p.Entries[i].Problems) > 0 {
			return true
		}
	}
	return p.Server != nil && !p.Server.Accepted
}
