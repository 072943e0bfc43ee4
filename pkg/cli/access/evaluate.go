// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"strings"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/changes"
)

// Evaluation is what is allowed of one request.
type Evaluation struct {
	Object string `json:"object"`
	// Verb is the ordinary verb of the request.
	Verb string `json:"verb"`
	// Ordinary says that the ordinary verb is held, so that only excluded fields matter.
	Ordinary bool `json:"ordinary"`
	// By says by what the request is let through, or is empty.
	By string `json:"by,omitempty"`
	// Missing is the verb without which the request is not even looked at field by field.
	Missing string  `json:"missing,omitempty"`
	Fields  []Field `json:"fields"`
	// Allowed says that access reviews allow all of it.
	Allowed bool `json:"allowed"`
	// Server is what the server said to a dry run as the subject.
	Server *ServerAnswer `json:"server,omitempty"`
	// Sure is false where only the request itself could be looked at, and not what the
	// server makes of it.
	Sure bool `json:"sure"`
}

// ServerAnswer is the answer to a dry run.
type ServerAnswer struct {
	Allowed bool   `json:"allowed"`
	Message string `json:"message,omitempty"`
}

// Field is one field that a request changes.
type Field struct {
	Path string `json:"path"`
	// Verbs are those that cover it, most general first. Where a field needs a verb for each
	// of two values, they are joined by "and".
	Verbs    []string `json:"verbs"`
	Excluded bool     `json:"excluded"`
	Allowed  bool     `json:"allowed"`
	// Verb is the one that covers it, By says by what it is held.
	Verb string `json:"verb,omitempty"`
	By   string `json:"by,omitempty"`
	// Why says why no verb helps, where that is so.
	Why string `json:"why,omitempty"`
}

// TargetOf returns what the verbs of a request are asked for.
func TargetOf(r *changes.Request) Target {
	out := Target{
		Group: r.Kind.Resource.Group, Version: r.Kind.Resource.Version, Resource: r.Kind.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
	}
	if r.Verb == "create" {
		out.Name = "" // the path of a create names nothing
	}
	return out
}

// Evaluate judges a request field by field.
func (r *Reviews) Evaluate(ctx context.Context, of *changes.DryRun) (*Evaluation, error) {
	target := TargetOf(&of.Request)
	out := &Evaluation{Object: of.String(), Verb: of.Verb, Sure: of.Sure, Fields: []Field{}}
	ordinary, denied, err := r.ordinary(ctx, of, target)
	if err != nil {
		return nil, err
	}
	out.Ordinary, out.By = ordinary.Allowed, ordinary.Reason
	if !ordinary.Allowed {
		out.By = ""
		general, err := r.Ask(ctx, permission.General, target)
		switch {
		case err != nil:
			return nil, err
		case denied:
			out.Missing = of.Verb
		case !general.Allowed:
			out.Missing = permission.General
		default:
			out.By = general.Reason
		}
	}
	out.Allowed = out.Missing == ""
	for i := range of.Changes {
		f, err := r.field(ctx, of, of.Changes[i], target, out.Ordinary)
		if err != nil {
			return nil, err
		}
		out.Allowed = out.Allowed && f.Allowed
		out.Fields = append(out.Fields, *f)
	}
	if out.Allowed {
		// All of it together: the number of verbs of a request is bounded.
		refusal, err := decide.New(authorizer{r, target}, 0).Decide(ctx, of.Changes, !out.Ordinary)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			out.Allowed = false
			out.Fields = append(out.Fields, Field{Path: of.Field(refusal.Change), Why: refusal.Needs()})
		}
	}
	return out, nil
}

// ordinary asks the ordinary verb, and create as well for what creates by another way.
func (r *Reviews) ordinary(ctx context.Context, of *changes.DryRun, target Target) (answer Answer, denied bool, err error) {
	verbs := []string{of.Verb}
	if of.Creates && of.Verb != "create" {
		verbs = append(verbs, "create")
	}
	for _, verb := range verbs {
		answer, err = r.Ask(ctx, verb, target)
		if err != nil || !answer.Allowed {
			return Answer{}, answer.Denied, err
		}
	}
	return answer, false, nil
}

func (r *Reviews) field(ctx context.Context, of *changes.DryRun, c change.Change, target Target, ordinary bool) (*Field, error) {
	out := &Field{Path: of.Field(c), Verbs: []string{}}
	candidates, excluded := decide.Candidates(c.Node)
	out.Excluded = excluded
	decider := decide.New(authorizer{r, target}, 0)
	for _, p := range candidates {
		if verbs, err := c.Verbs(ctx, decider.Costs(), p); err == nil {
			all := make([]string, len(verbs))
			for i := range verbs {
				all[i] = verbs[i].String()
			}
			out.Verbs = append(out.Verbs, strings.Join(all, " and "))
		}
	}
	refusal, err := decider.Decide(ctx, change.Set{c}, !ordinary)
	if err != nil {
		return nil, err
	}
	if out.Allowed = refusal == nil; !out.Allowed {
		if refusal.Reason != decide.NotCovered {
			out.Why = refusal.Needs()
		}
		return out, nil
	}
	if used := decider.Used(); len(used) > 0 {
		answer, err := r.Ask(ctx, used[0], target)
		if err != nil {
			return nil, err
		}
		out.Verb, out.By = used[0], answer.Reason
	} else {
		out.Verb = of.Verb
	}
	return out, nil
}
