// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/report"
	"kube-granular.dev/pkg/cli/roles"
)

// learnedRoles are the roles that one subject needs for its requests in audit logs.
type learnedRoles struct {
	subject *learn.Subject
	name    string
	grants  []learn.Grant
	unused  []string
	// wildcards are what the subject used of rules with *.
	wildcards []string
}

// fromAudit prints roles that allow the requests in audit logs. If apply is true, it also writes
// the roles and their bindings to the cluster. If test is not empty, it writes a test to this file.
func (s *options) fromAudit(cmd *cobra.Command, l *auditLogs, format *output.Flag, options roles.Options, name string, apply bool, test string) error {
	learner, err := l.learn(cmd, s)
	if err != nil {
		return err
	}
	subjects := learner.Subjects()
	if len(subjects) == 0 {
		if len(l.subjects) == 0 {
			return errors.New("the logs have no request of a user")
		}
		return fmt.Errorf("none of the %d requests in the logs is of %s; kubectl granular role --from-audit without --subject shows all subjects", learner.Events, strings.Join(l.subjects, ", "))
	}
	if name != "" && len(subjects) > 1 {
		return errors.New("--name needs exactly one --subject")
	}
	rbac, err := s.rbac(cmd.Context())
	if err != nil {
		printing.Fprintf(s.streams.ErrOut, "warning: unused permissions are not shown: %v\n", err)
	}
	var all []learnedRoles
	for _, subject := range subjects {
		learned := learnedRoles{subject: subject, name: subject.RoleName()}
		if name != "" {
			learned.name = name
		}
		if learned.grants, err = subject.Grants(cmd.Context(), options); err != nil {
			return err
		}
		noteDemands(learned.grants)
		if rbac != nil {
			learned.unused = unusedOf(cmd.Context(), learner, subject, rbac)
			learned.wildcards = wildcardsOf(cmd.Context(), subject, rbac)
			if learner.Reads == 0 {
				keepGet(learned.grants, rulesHeldBy(subject, rbac))
			}
		}
		all = append(all, learned)
	}
	if !format.Is("yaml") {
		// YAML has these lines as comments.
		for i := range all {
			for _, line := range all[i].attempts() {
				printing.Fprintf(s.streams.ErrOut, "warning: %s: %s\n", all[i].subject, line)
			}
		}
	}
	if test != "" {
		if err := s.writeLearnedTest(cmd, test, l, all); err != nil {
			return fmt.Errorf("--test: %w", err)
		}
	}
	if err := printLearned(s.streams.Out, format, all); err != nil {
		return err
	}
	if !apply {
		return nil
	}
	var objects []runtime.Object
	for _, learned := range all {
		for i := range learned.grants {
			objects = append(objects, learned.grants[i].Objects(learned.name, learned.subject.Subject)...)
		}
	}
	return s.write(cmd.Context(), objects)
}

// noteDemands adds what the server wants besides to the notes of each rule.
func noteDemands(grants []learn.Grant) {
	for _, g := range grants {
		for i := range g.Rules {
			g.Rules[i].Notes = append(g.Rules[i].Notes, roles.Demands(g.Rules[i].PolicyRule)...)
		}
	}
}

// unusedOf returns the current permissions of a subject that its requests did not use.
func unusedOf(ctx context.Context, learner *learn.Learner, subject *learn.Subject, rbac *access.RBAC) []string {
	var out []string
	for _, h := range rulesHeldBy(subject, rbac) {
		if h.Rule, _ = learner.Judged(h.Rule); len(h.Rule.Verbs) == 0 {
			continue
		}
		verbs, resources := subject.Unused(ctx, h.Rule, h.Namespace)
		what := qualifiedAll(h.Rule)
		switch {
		case len(verbs) == 0 && len(resources) == 0, len(h.Rule.Resources) == 0:
			continue
		case len(verbs) == len(h.Rule.Verbs):
			out = append(out, fmt.Sprintf("%s on %s, by %s, %s", strings.Join(verbs, " "), what, h.Binding, h.Role))
			continue
		case len(verbs) > 0:
			out = append(out, fmt.Sprintf("%s on %s, by %s, %s", strings.Join(verbs, " "), what, h.Binding, h.Role))
		}
		if len(resources) > 0 {
			out = append(out, fmt.Sprintf("%s on %s, by %s, %s", strings.Join(h.Rule.Verbs, " "), strings.Join(resources, ","), h.Binding, h.Role))
		}
	}
	return out
}

// wildcardsOf returns what a subject used of the rules with * that it holds.
func wildcardsOf(ctx context.Context, subject *learn.Subject, rbac *access.RBAC) []string {
	var out []string
	for _, h := range rulesHeldBy(subject, rbac) {
		granted := access.GrantedRule{Binding: h.Binding, Role: h.Role, Namespace: h.Namespace, Rule: h.Rule}
		if used := report.UsedOfWildcard(ctx, granted, []*learn.Subject{subject}); len(used) > 0 {
			out = append(out, fmt.Sprintf("%s on %s, by %s, %s: %s", strings.Join(h.Rule.Verbs, " "), qualifiedAll(h.Rule), h.Binding,
				h.Role, usedText(used, true)))
		}
	}
	return out
}

// keepGet adds the verb get to rules for writes, if the subject holds it now. Logs without reads don't
// show whether it is needed, and most clients read an object before they write it.
func keepGet(grants []learn.Grant, held []access.HeldRule) {
	for _, g := range grants {
		for i := range g.Rules {
			r := &g.Rules[i]
			if !slices.ContainsFunc([]string{"update", "patch", permission.General},
				func(v string) bool { return slices.Contains(r.Verbs, v) }) || slices.Contains(r.Verbs, "get") {
				continue
			}
			target := access.Target{Group: r.APIGroups[0], Resource: r.Resources[0]}
			target.Resource, target.Subresource, _ = strings.Cut(target.Resource, "/")
			holds := func(name, namespace string) bool {
				target.Name = name
				return slices.ContainsFunc(held, func(h access.HeldRule) bool {
					return (h.Namespace == "" || h.Namespace == namespace) && access.Grants(h.Rule, "get", target)
				})
			}
			all := true
			for _, namespace := range orEmpty(g.Namespaces) {
				for _, name := range orEmpty(r.ResourceNames) {
					all = all && holds(name, namespace)
				}
			}
			if all {
				r.Verbs = append([]string{"get"}, r.Verbs...)
				r.Notes = append(r.Notes, "get: kept, because the logs have no reads")
			}
		}
	}
}

// orEmpty returns the texts, or one empty text if there is none.
func orEmpty(texts []string) []string {
	if len(texts) == 0 {
		return []string{""}
	}
	return texts
}

// generalGroups are groups with so many members that their permissions are not reported as unused
// permissions of one subject.
var generalGroups = map[string]bool{"system:authenticated": true, "system:unauthenticated": true, "system:serviceaccounts": true}

// rulesHeldBy returns the rules that a subject holds by its name and by its groups. It leaves out
// the rules of generalGroups, and of the group of all service accounts of a namespace.
func rulesHeldBy(subject *learn.Subject, rbac *access.RBAC) []access.HeldRule {
	if subject.Kind == rbacv1.GroupKind {
		return rbac.HeldBy("", []string{subject.Name})
	}
	var groups []string
	for _, g := range subject.Groups {
		if !generalGroups[g] && !strings.HasPrefix(g, "system:serviceaccounts:") {
			groups = append(groups, g)
		}
	}
	return rbac.HeldBy(subject.Users[0], groups)
}

func printLearned(out io.Writer, format *output.Flag, all []learnedRoles) error {
	if format.Is("yaml") {
		for i := range all {
			if err := all[i].printYAML(out, i == 0); err != nil {
				return err
			}
		}
		return nil
	}
	var objects []any
	var rows [][]string
	for _, learned := range all {
		for i := range learned.grants {
			g := &learned.grants[i]
			contents, err := roles.Contents(g.Objects(learned.name, learned.subject.Subject))
			if err != nil {
				return err
			}
			objects = append(objects, contents...)
			for _, r := range g.Rules {
				rows = append(rows, []string{learned.subject.String(), g.Where(), qualifiedAll(r.PolicyRule),
					orNone(strings.Join(r.ResourceNames, ",")), strings.Join(r.Verbs, " ")})
			}
		}
	}
	return format.Print(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}, func(page *printing.Page) error {
		return page.Grouped(2, []string{"SUBJECT", "WHERE", "RESOURCES", "NAMES", "VERBS"}, rows)
	})
}

// printYAML prints the roles and bindings of a subject, with the requests for each rule.
func (learned *learnedRoles) printYAML(out io.Writer, first bool) error {
	separator := printing.Escaped("---\n")
	if !first {
		if err := printing.Fprintf(out, "%s", separator); err != nil {
			return err
		}
	}
	for _, line := range learned.comments() {
		if err := printing.Comment(out, line); err != nil {
			return err
		}
	}
	for i := range learned.grants {
		for j, o := range learned.grants[i].Objects(learned.name, learned.subject.Subject) {
			object, err := roles.Content(o)
			if err != nil {
				return err
			}
			if i+j > 0 {
				if err := printing.Fprintf(out, "%s", separator); err != nil {
					return err
				}
			}
			_, isRole := object["rules"]
			delete(object, "rules")
			if err := printing.YAML(out, object); err != nil {
				return err
			}
			if isRole {
				if err := printRules(out, learned.grants[i].Rules); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// comments returns the lines that come before the roles of a subject.
func (learned *learnedRoles) comments() []string {
	s := learned.subject
	head := s.String()
	switch refused := s.Refused - s.Attempted; refused {
	case 0:
	case 1:
		head += ": 1 forbidden request is not included"
	default:
		head += fmt.Sprintf(": %d forbidden requests are not included", refused)
	}
	if s.Missing > 0 {
		head += fmt.Sprintf("; writes of objects that do not exist are not included: %d", s.Missing)
	}
	out := append([]string{head}, learned.attempts()...)
	if s.Rehearsed > 0 {
		out = append(out, fmt.Sprintf("dry runs and reviews of kubectl granular are not included: %d", s.Rehearsed))
	}
	if s.Paths.Requests > 0 {
		out = append(out, "not included: "+s.Paths.String())
	}
	if s.Delegated > 0 {
		out = append(out, fmt.Sprintf("requests under a delegation are not included, because they used the authority of the delegator: %d", s.Delegated))
	}
	if s.NotImpersonated > 0 {
		out = append(out, fmt.Sprintf("impersonations are not included above %d names of a kind: %d", learn.MaxImpersonated, s.NotImpersonated))
	}
	for _, line := range learned.wildcards {
		out = append(out, "used of "+line)
	}
	for _, line := range learned.unused {
		out = append(out, "never used: "+line)
	}
	return out
}

// attempts returns lines about the rules that were learned from refused requests.
func (learned *learnedRoles) attempts() []string {
	var out []string
	for _, g := range learned.grants {
		for _, r := range g.Rules {
			if !r.Attempted {
				continue
			}
			line := "from refused requests: " + strings.Join(r.Verbs, " ") + " on " + qualifiedAll(r.PolicyRule)
			if len(r.ResourceNames) > 0 {
				line += " " + strings.Join(r.ResourceNames, ",")
			}
			out = append(out, line+", "+g.Where())
		}
	}
	if n := learned.subject.NotAttempted; n > 0 {
		out = append(out, fmt.Sprintf("refused requests are not included above %d objects: %d", learn.MaxAttempts, n))
	}
	return out
}

// printRules prints rules as YAML. The notes of each rule come before the rule, as comments.
func printRules(out io.Writer, rules []learn.Rule) error {
	if err := printing.Fprintf(out, "rules:\n"); err != nil {
		return err
	}
	for _, r := range rules {
		for _, n := range r.Notes {
			if err := printing.Comment(out, n); err != nil {
				return err
			}
		}
		if err := printing.YAML(out, []rbacv1.PolicyRule{r.PolicyRule}); err != nil {
			return err
		}
	}
	return nil
}
