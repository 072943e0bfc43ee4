// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/overlay"
)

// Print writes a plan for people: first whom it does not stop, then the entries, then everybody that it
// concerns.
func (p *Plan) Print(page *printing.Page) error {
	printing.Fprintf(page, "FIELD PERMISSION:  %s\nVERSION:           %s\nMODE:              %s\n", p.FieldPermission, p.Version, p.Mode)
	if err := p.printNotHeld(page); err != nil {
		return err
	}
	printing.Fprintf(page, "\n")
	if err := p.printEntries(page); err != nil {
		return err
	}
	if err := p.printPeople(page); err != nil {
		return err
	}
	if err := p.printLogged(page); err != nil {
		return err
	}
	p.printNotes(page)
	return nil
}

func (p *Plan) printNotHeld(page *printing.Page) error {
	if !p.excludes() {
		return nil
	}
	printing.Fprintf(page, "\nNOT HELD, whatever the entries say:\n")
	counts := map[string]int{}
	for _, s := range p.NotHeld {
		counts[s.Binding]++
	}
	var rows [][]string
	for i, s := range p.NotHeld {
		switch n := counts[s.Binding]; {
		case n <= maxRows || page.Wide():
			rows = append(rows, []string{s.Subject, s.Binding, s.Note})
		case i == 0 || p.NotHeld[i-1].Binding != s.Binding:
			rows = append(rows, []string{fmt.Sprintf("%d subjects, which -o wide lists", n), s.Binding, s.Note})
		}
	}
	return page.Table([]string{"SUBJECT", "BINDING", "BECAUSE"}, rows)
}

// maxRows is how many subjects of one binding have a row each, unless the table is wide.
const maxRows = 4

func (p *Plan) printEntries(page *printing.Page) error {
	header := []string{"ENTRY", "VERB", "PART OF UPDATE", "STATE", "STOPPED", "HOLDERS", "WRITERS"}
	var rows [][]string
	for i := range p.Entries {
		e := &p.Entries[i]
		part, stopped := "yes", "-"
		if e.Excluded {
			part, stopped = "no", count(e.Stopped)
		}
		rows = append(rows, []string{e.Path, e.Verb, part, e.state(), stopped, count(e.Holders), names(e.Writers)})
	}
	return page.Table(header, rows)
}

func (e *Entry) state() string {
	out := e.State
	if e.Reason != "" {
		out += " (" + e.Reason + ")"
	}
	if e.Held != "" {
		out += ", closes " + e.Held
	}
	return out
}

// names returns the names of managers, each with the number of its objects.
func names(writers []Writer) string {
	var out []string
	for _, w := range writers {
		out = append(out, fmt.Sprintf("%s (%d)", w.Manager, w.Objects))
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// printPeople lists whom each exclusion stops, and who holds each verb already.
func (p *Plan) printPeople(page *printing.Page) error {
	header := []string{"ENTRY", "SUBJECT", "THEN", "BY", "BINDING"}
	if len(p.Templates) > 0 {
		header = slices.Insert(header, 3, "ON")
	}
	if page.Wide() {
		header = append(header, "NOTE")
	}
	var rows [][]string
	for i := range p.Entries {
		e := &p.Entries[i]
		for _, s := range e.Stopped {
			rows = append(rows, p.row(e, s, "is stopped", page.Wide()))
		}
		for _, s := range e.Holders {
			rows = append(rows, p.row(e, s, "may write it", page.Wide()))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	printing.Fprintf(page, "\n")
	return page.Grouped(1, header, rows)
}

func (p *Plan) row(e *Entry, s Subject, then string, wide bool) []string {
	out := []string{e.Path, s.Subject, then, s.Verb, s.Binding}
	if len(p.Templates) > 0 {
		out = slices.Insert(out, 3, p.on(s, wide))
	}
	if wide {
		out = append(out, s.Note)
	}
	return out
}

// on returns the resources on which a subject holds a verb.
func (p *Plan) on(s Subject, wide bool) string {
	switch n := len(s.Resources); {
	case n == 0:
		return p.FieldPermission
	case n > 1 && !wide:
		return fmt.Sprintf("%d kinds", n)
	}
	return strings.Join(s.Resources, ",")
}

// count returns the number of subjects, of which one can be there for several kinds.
func count(subjects []Subject) string {
	names := map[string]bool{}
	for _, s := range subjects {
		names[s.Subject] = true
	}
	return strconv.Itoa(len(names))
}

func (p *Plan) printNotes(page *printing.Page) {
	var notes []string
	for i := range p.Entries {
		e := &p.Entries[i]
		if len(e.AlsoReachable) > 0 {
			notes = append(notes, fmt.Sprintf("%s: the same is possible in %s", e.Path, strings.Join(e.AlsoReachable, ", ")))
		}
		if len(e.Droppers) > 0 {
			notes = append(notes, fmt.Sprintf("%s: not owned by %s; a client that does not know the field removes it by an update, and is refused",
				e.Path, names(e.Droppers)))
		}
		for _, writer := range e.WrittenBy {
			notes = append(notes, fmt.Sprintf("%s: not held: written for others by %s", e.Path, writer))
		}
		for _, problem := range e.Problems {
			notes = append(notes, fmt.Sprintf("%s: refused: %s", e.Path, problem))
		}
	}
	if len(p.Templates) > 0 {
		notes = append(notes, fmt.Sprintf("the entries hold in the pod templates of these resources too, with the prefix %s: %s",
			overlay.TemplateScope, strings.Join(p.Templates, ", ")))
	}
	if len(p.NotHeldIn) > 0 {
		notes = append(notes, fmt.Sprintf("not held: these custom resources look as if they had a template of %s: %s",
			p.FieldPermission, strings.Join(p.NotHeldIn, ", ")))
	}
	if len(p.NotSeenIn) > 0 {
		notes = append(notes, "not held: these custom resources keep objects or templates without a schema, maybe of this kind: "+
			strings.Join(p.NotSeenIn, ", "))
	}
	for _, w := range p.Webhooks {
		notes = append(notes, w+" may change these objects; its changes are nobody's")
	}
	for _, u := range p.Unknown {
		notes = append(notes, "not known: "+u)
	}
	if p.Server != nil {
		answer := "the server accepts the object"
		if !p.Server.Accepted {
			answer = "the server refuses the object: " + p.Server.Message
		}
		notes = append(notes, answer)
		for _, w := range p.Server.Warnings {
			notes = append(notes, "the server warns: "+w)
		}
	}
	if len(notes) > 0 {
		printing.Fprintf(page, "\n")
	}
	for _, n := range notes {
		printing.Fprintf(page, "%s\n", n)
	}
}

func (p *Plan) excludes() bool {
	for i := range p.Entries {
		if p.Entries[i].Excluded {
			return true
		}
	}
	return false
}
