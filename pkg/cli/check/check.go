// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roles"
)

// Finding is a group of requests that the roles would refuse, or for which the log does not prove that
// they suffice. Its requests have the same verb on the same resource, and lack the same.
type Finding struct {
	Outcome   learn.Outcome `json:"outcome"`
	Subject   string        `json:"subject"`
	Verb      string        `json:"verb"`
	Group     string        `json:"group,omitempty"`
	Resource  string        `json:"resource"`
	Namespace string        `json:"namespace,omitempty"`
	// Names are the names of the first few objects. Without a name, such as for a list, there is none.
	Names []string `json:"names,omitempty"`
	// MoreNames is true if the requests are about more objects than Names has.
	MoreNames bool `json:"moreNames,omitempty"`
	// Fields are the first few fields that the subject could not change.
	Fields []string `json:"fields,omitempty"`
	// Missing are the ways to allow the requests. Each way is the verbs that the roles lack.
	Missing [][]string `json:"missing,omitempty"`
	// Why says what the log does not show, or why no verb of fields suffices.
	Why       string `json:"why,omitempty"`
	learn.Use `json:",inline"`
}

const (
	// MaxFindings is the maximum number of findings. Requests of further ones are only counted.
	MaxFindings = 1000
	// MaxNames is the maximum number of names of a finding.
	MaxNames = 10
)

// NotJudged counts requests about which check says nothing.
type NotJudged struct {
	// Forbidden were refused when the log was written.
	Forbidden int `json:"forbidden"`
	// Failed are writes that failed, so that the log does not show their fields.
	Failed int `json:"failed"`
	// Missing are writes of objects that did not exist.
	Missing int `json:"missing"`
	// Paths are requests without a resource, such as /healthz.
	Paths int `json:"paths"`
	// Rehearsed are questions of this plugin, such as dry runs.
	Rehearsed int `json:"rehearsed"`
	// Delegated used the authority of somebody else, by a delegation.
	Delegated int `json:"delegated"`
}

// Result is what check found out.
type Result struct {
	// Subjects are the subjects whose requests were checked.
	Subjects []string `json:"subjects"`
	// Requests is the number of questions to the authorizer that were judged: one for each request, and
	// one for each user, group or other attribute that a request impersonated.
	Requests    int       `json:"requests"`
	Allowed     int       `json:"allowed"`
	Refused     int       `json:"refused"`
	NotProvable int       `json:"notProvable"`
	NotJudged   NotJudged `json:"notJudged"`
	Findings    []Finding `json:"findings"`
	// Unlisted is the number of requests that are refused or not provable, but in no finding.
	Unlisted int `json:"unlisted"`
}

// Checker judges requests, one after the other.
type Checker struct {
	roles  *Roles
	result Result
	groups map[string]int // the indexes of the findings
	err    error
}

// New returns a Checker for roles.
func New(r *Roles) *Checker {
	return &Checker{roles: r, groups: map[string]int{}, result: Result{Subjects: []string{}, Findings: []Finding{}}}
}

// Judge judges one request. It is the method for learn.Options.Each.
func (c *Checker) Judge(ctx context.Context, d *learn.Demand) {
	if c.err != nil {
		return
	}
	verdict, err := d.Decide(ctx, c.roles.Verbs(d))
	if err != nil {
		c.err = err
		return
	}
	if verdict.Outcome == learn.Refused && d.GroupsUnknown && c.roles.rbac.BindsGroups() {
		verdict.Outcome, verdict.Why = learn.Unproven, "the log does not have the groups of the delegator"
	}
	switch verdict.Outcome {
	case learn.NotJudged:
		c.result.NotJudged.Failed++
		return
	case learn.Allowed:
		c.result.Allowed++
	case learn.Refused:
		c.result.Refused++
		c.add(d, verdict)
	default:
		c.result.NotProvable++
		c.add(d, verdict)
	}
	c.result.Requests++
}

// add adds a request to the finding that it belongs to.
func (c *Checker) add(d *learn.Demand, v *learn.Verdict) {
	subject := roles.FormatSubject(d.Subject)
	key := fmt.Sprintf("%q", []any{v.Outcome, subject, d.Verb, d.Key, v.Fields, v.Missing, v.Why})
	i, known := c.groups[key]
	if !known {
		if len(c.result.Findings) == MaxFindings {
			c.result.Unlisted++
			return
		}
		i = len(c.result.Findings)
		c.groups[key] = i
		c.result.Findings = append(c.result.Findings, Finding{
			Outcome: v.Outcome, Subject: subject, Verb: d.Verb, Group: d.Key.Group, Resource: d.Key.Resource, Namespace: d.Key.Namespace,
			Fields: v.Fields, Missing: v.Missing, Why: v.Why,
		})
	}
	f := &c.result.Findings[i]
	if d.Name != "" && !slices.Contains(f.Names, d.Name) {
		if f.MoreNames = f.MoreNames || len(f.Names) == MaxNames; !f.MoreNames {
			f.Names = append(f.Names, d.Name)
		}
	}
	d.AddTo(&f.Use)
}

// Result returns the result after the last request. l is the learner that read the logs.
func (c *Checker) Result(l *learn.Learner) (*Result, error) {
	out := &c.result
	for _, s := range l.Subjects() {
		out.Subjects = append(out.Subjects, s.String())
		n := &out.NotJudged
		n.Forbidden, n.Missing = n.Forbidden+s.Refused, n.Missing+s.Missing
		n.Rehearsed, n.Delegated = n.Rehearsed+s.Rehearsed, n.Delegated+s.Delegated
		n.Paths += s.Paths.Requests
		// An impersonation of more than can be told apart is not proved to be allowed.
		out.Requests += s.NotImpersonated
		out.NotProvable += s.NotImpersonated
		out.Unlisted += s.NotImpersonated
	}
	slices.SortStableFunc(out.Findings, func(a, b Finding) int {
		if a.Outcome != b.Outcome {
			return -strings.Compare(string(a.Outcome), string(b.Outcome)) // refused before notProvable
		}
		return slices.Compare([]string{a.Subject, a.Group, a.Resource, a.Namespace}, []string{b.Subject, b.Group, b.Resource, b.Namespace})
	})
	return out, c.err
}
