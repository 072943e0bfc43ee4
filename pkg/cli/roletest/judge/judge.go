// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// Outcome is the outcome of a case.
type Outcome string

// The outcomes of a case. Error means that the case is no test: it says nothing about the roles.
const (
	Passed Outcome = "passed"
	Failed Outcome = "failed"
	Error  Outcome = "error"
	// Differs means that what stands in for the roles on a stock server is knowingly weaker.
	Differs Outcome = "differs"
)

// Result is the result of one case.
type Result struct {
	Name    string  `json:"name,omitempty"`
	Line    int     `json:"line"`
	Subject string  `json:"subject"`
	Request string  `json:"request"`
	Expect  string  `json:"expect"`
	Outcome Outcome `json:"outcome"`
	// Answer is what the server answered, or why the case is an error.
	Answer string `json:"answer"`
}

// Report is the result of one test.
type Report struct {
	File string `json:"file"`
	// Notes are about what the test does not judge, and what is probably a mistake.
	Notes []string `json:"notes,omitempty"`
	Cases []Result `json:"cases"`
	// Loose are the parts of roles without which all cases have the same outcome. They are only searched if asked for.
	Loose []Loose `json:"loose,omitempty"`
	// Problem is why the test could not be run. Then there are no cases.
	Problem error `json:"-"`
}

// Judge runs a test, and returns the server to the state before it. If it can't, it returns an error,
// and the server can't judge another test. If tight is true, Judge also looks for what the roles have
// and no case needs.
func (s *Server) Judge(ctx context.Context, test *format.Test, tight bool) (*Report, error) {
	s.subjects = map[string]dynamic.Interface{}
	s.warnings.take()
	report := &Report{File: test.File, Cases: []Result{}}
	g := &given{server: s, test: test}
	if report.Problem = g.create(ctx); report.Problem == nil {
		report.Problem = s.judge(ctx, g, report, tight)
	}
	if err := ctx.Err(); err != nil {
		return report, err
	}
	report.Notes = append(g.notes, report.Notes...)
	return report, g.delete(ctx)
}

func (s *Server) judge(ctx context.Context, g *given, report *Report, tight bool) error {
	roles, err := rbacOf(g.test.Objects)
	if err != nil {
		return err
	}
	if !s.exported {
		// An export fails without the roles.
		if err := s.checkBindings(ctx, roles); err != nil {
			return err
		}
	}
	report.Notes = s.notes(roles)
	all := make([]*judged, len(g.test.Cases))
	for i := range g.test.Cases {
		all[i] = s.judgeCase(ctx, roles, &g.test.Cases[i])
		report.Cases = append(report.Cases, all[i].result)
	}
	if !tight {
		return nil
	}
	report.Loose, err = s.loose(ctx, roles, all)
	return err
}

// checkBindings returns an error for a binding of a role that does not exist.
func (s *Server) checkBindings(ctx context.Context, roles *rbac) error {
	var errs []error
	for _, b := range roles.bindings {
		var err error
		if b.ref.Kind == "ClusterRole" {
			_, err = s.kube.RbacV1().ClusterRoles().Get(ctx, b.ref.Name, metav1.GetOptions{})
		} else {
			_, err = s.kube.RbacV1().Roles(b.object.GetNamespace()).Get(ctx, b.ref.Name, metav1.GetOptions{})
		}
		switch {
		case apierrors.IsNotFound(err):
			errs = append(errs, &format.Mistake{File: b.object.File, Line: b.object.Line, Field: "roleRef",
				Message: fmt.Sprintf("%s: the %s %s is not in given", b.object, b.ref.Kind, b.ref.Name)})
		case err != nil:
			return err
		}
	}
	return errors.Join(errs...)
}

// notes returns what the roles say about resources that the server does not have. No case can judge it.
func (s *Server) notes(roles *rbac) []string {
	var out []string
	said := sets.New[string]()
	for _, r := range roles.roles {
		for _, rule := range r.rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					name := kinds.Qualified(group, resource)
					if strings.Contains(name, "*") || s.resources.Has(name) || !hasRequestVerb(rule.Verbs) {
						continue
					}
					note := fmt.Sprintf("%s: the server has no resource %s, so its verbs are not judged", r.object, name)
					if !said.Has(note) {
						said.Insert(note)
						out = append(out, note)
					}
				}
			}
		}
	}
	return out
}

// judged is a case with its request.
type judged struct {
	test    *format.Case
	request *request
	client  dynamic.Interface
	result  Result
}

func (s *Server) judgeCase(ctx context.Context, roles *rbac, c *format.Case) *judged {
	out := &judged{test: c, result: Result{
		Name: c.Name, Line: c.Line, Subject: c.As.String(), Request: c.Request(), Expect: expectation(c), Outcome: Error,
	}}
	if s.exported && c.As.Selecting() {
		out.result.Outcome, out.result.Answer = Differs, "not judged: a stock server has no selected roles or delegations"
		return out
	}
	if err := s.prepare(ctx, roles, out); err != nil {
		out.result.Answer = err.Error()
		return out
	}
	_, err := out.request.send(ctx, out.request.client(out.client))
	if s.exported {
		out.result.Outcome, out.result.Answer = judgedExported(c, err)
		if out.result.Outcome == Failed && c.Refused == nil && s.fills(ctx, out.request, c) {
			out.result.Outcome = Differs
			out.result.Answer += ": the server itself changes other fields than the request, and a policy takes them for the caller's"
		}
		return out
	}
	out.result.Outcome, out.result.Answer = outcome(c.Refused, err)
	return out
}

// prepare finds the request and the client of a case. It returns an error if the case is no test.
func (s *Server) prepare(ctx context.Context, roles *rbac, j *judged) (err error) {
	if j.request, err = s.request(j.test); err != nil {
		return err
	}
	j.result.Request = j.request.String()
	if err := roles.check(&j.test.As); err != nil {
		return err
	}
	if j.client, err = s.client(ctx, &j.test.As); err != nil {
		return err
	}
	return s.tests(ctx, j.request)
}

func expectation(c *format.Case) string {
	if c.Refused == nil {
		return "allowed"
	}
	out := "refused"
	if c.Refused.Field != "" {
		out += " at " + c.Refused.Field
	}
	if c.Refused.Needs != "" {
		out += ", needs " + c.Refused.Needs
	}
	return out
}

// outcome compares the server's answer to a valid request with what is expected. want is nil if the
// request is expected to be allowed.
func outcome(want *format.Refusal, err error) (Outcome, string) {
	d, refused := denialOf(err)
	switch {
	case err == nil && want == nil:
		return Passed, "allowed"
	case err == nil:
		return Failed, "allowed"
	case !refused:
		return Error, "not an answer of authorization: " + reason(err)
	case want != nil && meets(d, want):
		return Passed, describe(d)
	}
	return Failed, describe(d)
}
