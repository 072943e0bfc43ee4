// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roles"
)

// Request is what an audit log shows of the requests of one subject that the exclusions would have refused.
type Request struct {
	Subject string `json:"subject"`
	// Verb is that of the request, and Fields are the first excluded fields that it changed.
	Verb   string   `json:"verb"`
	Fields []string `json:"fields"`
	learn.Use
}

// Log judges the requests of an audit log by the exclusions of a plan and by the roles of today.
type Log struct {
	plan *Plan
	rbac *access.RBAC
	err  error
	// hidden is the number of requests whose fields the log does not show.
	hidden int
}

// NewLog returns a Log that adds to a plan what it finds. The trees by which requests are learned must have
// the entries of the plan, with the exclusions in force.
func NewLog(p *Plan, rbac *access.RBAC) *Log { return &Log{plan: p, rbac: rbac} }

// Judge judges one request. It is the method for learn.Options.Each.
func (l *Log) Judge(ctx context.Context, d *learn.Demand) {
	target := access.Target{Group: d.Key.Group, Namespace: d.Key.Namespace, Name: d.Name}
	target.Resource, target.Subresource, _ = strings.Cut(d.Key.Resource, "/")
	if l.err != nil || kinds.Qualified(target.Group, target.Resource) != l.plan.FieldPermission || l.passes(d) {
		return
	}
	verdict, err := d.Decide(ctx, l.held(d, target))
	switch {
	case err != nil:
		l.err = err
	case verdict.Outcome == learn.Unproven:
		l.hidden++
	case verdict.Outcome == learn.Refused && verdict.Ordinary == "" && l.excluded(verdict):
		l.add(d, verdict)
	}
}

// Complete ends the judgement. It returns an error if a request could not be judged.
func (l *Log) Complete() error {
	if l.hidden > 0 {
		l.plan.Unknown = append(l.plan.Unknown, fmt.Sprintf("the fields of %d requests, which the log does not show", l.hidden))
	}
	return l.err
}

// held returns the verbs that roles give to the user of a request for its object.
func (l *Log) held(d *learn.Demand, target access.Target) (out []string) {
	for _, h := range l.rbac.HeldBy(d.User, d.Groups) {
		if h.Namespace == "" || h.Namespace == target.Namespace {
			out = append(out, access.VerbsOn(h.Rule, target)...)
		}
	}
	return out
}

// passes reports whether the user of a request may bypass the FieldPermission.
func (l *Log) passes(d *learn.Demand) bool {
	verbs := l.held(d, access.Target{Group: v1alpha1.GroupName, Resource: "fieldpermissions", Name: l.plan.FieldPermission})
	return slices.Contains(verbs, "bypass") || slices.Contains(verbs, "*")
}

// excluded reports whether a request lacks the verb of an exclusion. A user whose roles do not allow the
// whole request any more is not stopped by an exclusion.
func (l *Log) excluded(v *learn.Verdict) bool {
	return slices.ContainsFunc(l.plan.Entries, func(e Entry) bool {
		return e.Excluded && slices.ContainsFunc(e.verbs, func(verb string) bool {
			return slices.ContainsFunc(v.Missing, func(way []string) bool { return slices.Contains(way, verb) })
		})
	})
}

func (l *Log) add(d *learn.Demand, v *learn.Verdict) {
	subject := roles.FormatSubject(d.Subject)
	index := slices.IndexFunc(l.plan.Logged, func(r Request) bool {
		return r.Subject == subject && r.Verb == d.Verb && slices.Equal(r.Fields, v.Fields)
	})
	if index < 0 {
		index = len(l.plan.Logged)
		l.plan.Logged = append(l.plan.Logged, Request{Subject: subject, Verb: d.Verb, Fields: v.Fields})
	}
	d.AddTo(&l.plan.Logged[index].Use)
}

func (p *Plan) printLogged(page *printing.Page) error {
	if len(p.Logged) == 0 {
		return nil
	}
	var rows [][]string
	for i := range p.Logged {
		r := &p.Logged[i]
		row := []string{r.Subject, r.Verb, fmt.Sprint(r.Requests), strings.Join(r.Fields, ",")}
		if page.Wide() {
			row = append(row, strings.Join(r.AuditIDs, " "))
		}
		rows = append(rows, row)
	}
	header := []string{"IN THE LOG, REFUSED NOW", "VERB", "REQUESTS", "FIELD"}
	if page.Wide() {
		header = append(header, "AUDIT IDS")
	}
	printing.Fprintf(page, "\n")
	return page.Table(header, rows)
}
