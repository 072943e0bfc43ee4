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
	"kube-granular.dev/pkg/cli/denial"
)

// Evaluation describes which parts of one request are allowed.
type Evaluation struct {
	Object string `json:"object"`
	// Verb is the ordinary verb of the request.
	Verb string `json:"verb"`
	// Ordinary is true if the caller holds Verb. Then only excluded fields need a permission:
	// those that an ordinary verb does not let a caller change.
	Ordinary bool `json:"ordinary"`
	// By is the authorizer's reason for allowing the ordinary verb or the verb granular. It is
	// empty if the caller holds neither.
	By string `json:"by,omitempty"`
	// Missing is the verb that the caller lacks and without which the server refuses the request
	// as a whole, without looking at its fields. It is the verb granular, or Verb if an authorizer
	// denied Verb. It is empty if the caller lacks no such verb.
	Missing string  `json:"missing,omitempty"`
	Fields  []Field `json:"fields"`
	// Allowed is true if the whole request is allowed: by access reviews, or by the server's
	// answer to a dry run, which takes precedence.
	Allowed bool `json:"allowed"`
	// Server is the server's answer to a dry run that is sent with the caller's credentials.
	Server *ServerAnswer `json:"server,omitempty"`
	// Sure is false if no dry run was possible. Then Fields are computed from the request alone,
	// without the changes that defaulting and admission would make.
	Sure bool `json:"sure"`
}

// ServerAnswer is the server's answer to a dry run.
type ServerAnswer struct {
	Allowed bool   `json:"allowed"`
	Message string `json:"message,omitempty"`
	// Denial is what a refusal is about, or nil if that is not known.
	Denial *denial.Denial `json:"-"`
}

// Field is one field that a request changes.
type Field struct {
	Path string `json:"path"`
	// Verbs are the verbs that cover the field, most general first. Each element alone is
	// sufficient. If a change needs a verb for each of several values, the element is these verbs,
	// joined by "and".
	Verbs    []string `json:"verbs"`
	Excluded bool     `json:"excluded"`
	Allowed  bool     `json:"allowed"`
	// Verb is the verb that allows the change, and By is the authorizer's reason for allowing it.
	Verb string `json:"verb,omitempty"`
	By   string `json:"by,omitempty"`
	// Why explains an answer that the verbs do not explain: why no verb can allow the change, or
	// why the server allows it although the access reviews do not. It is empty for other answers.
	Why string `json:"why,omitempty"`
}

// TargetOf returns the resource or object for which the server authorizes a request.
func TargetOf(r *changes.Request) Target {
	out := Target{
		Group: r.Kind.Resource.Group, Version: r.Kind.Resource.Version, Resource: r.Kind.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
	}
	if r.Verb == "create" {
		out.Name = "" // the path of a create has no name
	}
	return out
}

// Evaluate evaluates a request field by field.
func (r *Reviews) Evaluate(ctx context.Context, run *changes.DryRun) (*Evaluation, error) {
	target := TargetOf(&run.Request)
	out := &Evaluation{Object: run.String(), Verb: run.Verb, Sure: run.Sure, Fields: []Field{}}
	ordinary, denied, err := r.ordinary(ctx, run, target)
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
			out.Missing = run.Verb
		case !general.Allowed:
			out.Missing = permission.General
		default:
			out.By = general.Reason
		}
	}
	out.Allowed = out.Missing == ""
	for i := range run.Changes {
		f, err := r.field(ctx, run, run.Changes[i], target, out.Ordinary)
		if err != nil {
			return nil, err
		}
		out.Allowed = out.Allowed && f.Allowed
		out.Fields = append(out.Fields, *f)
	}
	if out.Allowed {
		// Evaluate the whole request too. Although each field is allowed, the request may be
		// refused, because the number of verbs that the server checks for a request is limited.
		refusal, err := decide.New(authorizer{r, target}, 0).Decide(ctx, run.Changes, !out.Ordinary)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			out.Allowed = false
			out.Fields = append(out.Fields, Field{Path: run.Field(refusal.Change), Why: refusal.Needs()})
		}
	}
	return out, nil
}

// ordinary asks whether the caller holds the verb of the request, and also create if an update or
// a patch creates the object. It returns the last answer if all are allowed, and an empty answer
// if one is not. denied is true if an authorizer denied the verb that is not allowed, rather than
// had no opinion.
func (r *Reviews) ordinary(ctx context.Context, run *changes.DryRun, target Target) (answer Answer, denied bool, err error) {
	verbs := []string{run.Verb}
	if run.Creates && run.Verb != "create" {
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

func (r *Reviews) field(ctx context.Context, run *changes.DryRun, c change.Change, target Target, ordinary bool) (*Field, error) {
	out := &Field{Path: run.Field(c), Verbs: []string{}}
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
		out.Verb = run.Verb
	}
	return out, nil
}
