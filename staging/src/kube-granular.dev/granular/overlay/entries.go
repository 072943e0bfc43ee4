// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// Entries are the entries of one FieldPermission, or those that InForce returns for a resource. They are
// immutable. The server compiles a tree for each pointer to Entries, so equal entries should be one
// pointer.
type Entries struct {
	// Source is the name of the FieldPermission, for messages: RESOURCE.GROUP, or RESOURCE for the
	// core group. Some Fields can have another Origin.
	Source string
	// Version is the version of the kind for which the paths are written.
	Version string
	// Enforced is set in mode Enforce: exclusions refuse. In mode Audit they are names, and the
	// server only counts what they would refuse.
	Enforced bool
	Fields   []Field
}

// Field is one entry.
type Field struct {
	Path Path
	// Unread is the text of a path that can't be parsed, because another version of the server stored it. It is empty for
	// all other fields. Nobody knows which field an unread exclusion excludes, so Apply fails if it is enforced.
	Unread string
	// Permission has a domain, and includes no scope: argoproj.io/syncPolicy.
	Permission string
	// Excluded is set for an exclusion.
	Excluded bool
	// Origin has the entries of pods from which the field was taken, because it is in a pod template.
	// It is nil for an entry that has the Source and the mode of the Entries around it.
	Origin *Entries
	// Named is the rest of the path of a field that is found by the names on the way, at any depth of
	// the value that contains it. Nothing else describes that value. It is nil for all other fields;
	// see NamedIn.
	Named Path
}

// OriginOf returns the entries that say the source and the mode of a field of e.
func (e *Entries) OriginOf(f *Field) *Entries {
	if f.Origin != nil {
		return f.Origin
	}
	return e
}

// Known returns the entries without those that are Unread. If e is nil, it returns nil.
func (e *Entries) Known() *Entries {
	if e == nil || !slices.ContainsFunc(e.Fields, func(f Field) bool { return f.Unread != "" }) {
		return e
	}
	out := *e
	out.Fields = slices.DeleteFunc(slices.Clone(e.Fields), func(f Field) bool { return f.Unread != "" })
	return &out
}

// Excludes reports whether some entry is an exclusion, whatever the mode is. If e is nil, it returns
// false.
func (e *Entries) Excludes() bool { return e.excludes(func(*Entries) bool { return true }) }

// Enforces reports whether some exclusion is enforced. If e is nil, it returns false.
func (e *Entries) Enforces() bool { return e.excludes(func(o *Entries) bool { return o.Enforced }) }

// Audits reports whether some exclusion is only counted, because its mode is Audit. If e is nil, it
// returns false.
func (e *Entries) Audits() bool { return e.excludes(func(o *Entries) bool { return !o.Enforced }) }

func (e *Entries) excludes(mode func(*Entries) bool) bool {
	if e == nil {
		return false
	}
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Excluded && mode(e.OriginOf(f)) {
			return true
		}
	}
	return false
}

// Origins returns the entries of which e is made: itself, and those of other FieldPermissions.
func (e *Entries) Origins() []*Entries {
	out := []*Entries{e}
	for i := range e.Fields {
		if o := e.Fields[i].Origin; o != nil && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// Around returns the innermost exclusion whose path leads to a field or to a field around it. embedded
// selects the entries that have another Origin, or those that have not. It returns nil if there is none.
func (e *Entries) Around(way []schema.Step, embedded bool) *Field {
	var found *Field
	for i := range e.Fields {
		f := &e.Fields[i]
		if !f.Excluded || (f.Origin != nil) != embedded || len(f.Path) > len(way) || found != nil && len(f.Path) <= len(found.Path) {
			continue
		}
		if slices.Equal(f.Path.Steps(), way[:len(f.Path)]) {
			found = f
		}
	}
	return found
}

// State is what became of an entry.
type State string

const (
	// Active means that the entry holds at its path.
	Active State = "Active"
	// Idle means that the entry has no effect.
	Idle State = "Idle"
	// Degraded means that the entry, an exclusion, holds at the field Outcome.Held, which contains
	// its path.
	Degraded State = "Degraded"
)

// Reasons of outcomes, in words for conditions.
const (
	// FieldAbsent means that the schema has no such field, and nothing can be stored there.
	FieldAbsent = "FieldAbsent"
	// FieldRetyped means that a field on the path has another type than the path needs.
	FieldRetyped = "FieldRetyped"
	// AtomicList means that the path of an exclusion leads through a list whose elements have no
	// identity.
	AtomicList = "AtomicList"
	// PathUnread means that the path of the entry can't be parsed.
	PathUnread = "PathUnread"
	// ExcludedByAuthor means that the author of the schema excludes the field.
	ExcludedByAuthor = "ExcludedByAuthor"
)

// Outcome tells what became of one entry in one version of a kind.
type Outcome struct {
	// Path is the path of the entry.
	Path  string
	State State
	// Reason is empty for Active.
	Reason string
	// Held is the path that is excluded instead, for Degraded.
	Held string
	// Excluded is set if the permission is not part of update. That is so for each entry inside a
	// field that is excluded.
	Excluded bool
	// AlsoReachable are the paths of other fields of the kind that have the same definition as the
	// field of an exclusion, and have no entry with the same permission.
	AlsoReachable []string
}
