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
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/roles"
)

// learnedRoles are the roles that one subject needs for its requests in audit logs.
type learnedRoles struct {
	subject *learn.Subject
	name    string
	grants  []learn.Grant
	unused  []string
}

// fromAudit prints roles that allow the requests in audit logs. If apply is true, it also writes
// the roles and their bindings to the cluster.
func (s *options) fromAudit(cmd *cobra.Command, l *auditLogs, format *output.Flag, options roles.Options, name string, apply bool) error {
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
		fmt.Fprintf(s.streams.ErrOut, "warning: unused permissions are not shown: %v\n", err)
	}
	var all []learnedRoles
	for _, subject := range subjects {
		of := learnedRoles{subject: subject, name: subject.RoleName()}
		if name != "" {
			of.name = name
		}
		if of.grants, err = subject.Grants(cmd.Context(), options); err != nil {
			return err
		}
		if rbac != nil {
			of.unused = unusedOf(cmd.Context(), learner, subject, rbac)
			if learner.Reads == 0 {
				keepGet(of.grants, rulesHeldBy(subject, rbac))
			}
		}
		all = append(all, of)
	}
	if err := printLearned(s.streams.Out, format, all); err != nil {
		return err
	}
	if !apply {
		return nil
	}
	for _, of := range all {
		for i := range of.grants {
			if err := s.write(cmd.Context(), of.grants[i].Objects(of.name, of.subject.Subject)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unusedOf returns the current permissions of a subject that its requests did not use.
func unusedOf(ctx context.Context, learner *learn.Learner, subject *learn.Subject, rbac *access.RBAC) []string {
	var out []string
	for _, h := range rulesHeldBy(subject, rbac) {
		if h.Rule = learner.Judged(h.Rule); len(h.Rule.Verbs) == 0 {
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

// keepGet adds the verb get to rules for writes, if the subject holds it now. Logs without reads don't
// show whether it is needed, and most clients read an object before they write it.
func keepGet(grants []learn.Grant, held []access.HeldRule) {
	for _, g := range grants {
		for i := range g.Rules {
			r := &g.Rules[i]
			if !slices.ContainsFunc([]string{"update", "patch", permission.General}, func(v string) bool { return slices.Contains(r.Verbs, v) }) || slices.Contains(r.Verbs, "get") {
				continue
			}
			of := access.Target{Group: r.APIGroups[0], Resource: r.Resources[0]}
			of.Resource, of.Subresource, _ = strings.Cut(of.Resource, "/")
			holds := func(name, namespace string) bool {
				of.Name = name
				return slices.ContainsFunc(held, func(h access.HeldRule) bool {
					return (h.Namespace == "" || h.Namespace == namespace) && access.Grants(h.Rule, "get", of)
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
	for _, of := range all {
		for i := range of.grants {
			g := &of.grants[i]
			for _, o := range g.Objects(of.name, of.subject.Subject) {
				object, err := toUnstructured(o)
				if err != nil {
					return err
				}
				objects = append(objects, object)
			}
			for _, r := range g.Rules {
				rows = append(rows, []string{of.subject.String(), g.Where(), qualifiedAll(r.PolicyRule), orNone(strings.Join(r.ResourceNames, ",")), strings.Join(r.Verbs, " ")})
			}
		}
	}
	return format.Print(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}, func(out io.Writer) error {
		return output.Table(out, []string{"SUBJECT", "WHERE", "RESOURCES", "NAMES", "VERBS"}, rows)
	})
}

// printYAML prints the roles and bindings of a subject, with the requests for each rule.
func (of *learnedRoles) printYAML(out io.Writer, first bool) error {
	if !first {
		fmt.Fprintln(out, "---")
	}
	fmt.Fprintf(out, "# %s", of.subject)
	switch n := of.subject.Refused; n {
	case 0:
	case 1:
		fmt.Fprint(out, ": 1 forbidden request is not included")
	default:
		fmt.Fprintf(out, ": %d forbidden requests are not included", n)
	}
	if n := of.subject.Missing; n > 0 {
		fmt.Fprintf(out, "; writes of objects that do not exist are not included: %d", n)
	}
	fmt.Fprintln(out)
	for _, line := range of.unused {
		fmt.Fprintln(out, "# never used:", line)
	}
	for i := range of.grants {
		for j, o := range of.grants[i].Objects(of.name, of.subject.Subject) {
			object, err := toUnstructured(o)
			if err != nil {
				return err
			}
			if i+j > 0 {
				fmt.Fprintln(out, "---")
			}
			_, isRole := object["rules"]
			delete(object, "rules")
			data, err := yaml.Marshal(object)
			if err != nil {
				return err
			}
			if _, err := out.Write(data); err != nil {
				return err
			}
			if isRole {
				if err := printRules(out, of.grants[i].Rules); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// printRules prints rules as YAML. The notes of each rule come before the rule, as comments.
func printRules(out io.Writer, rules []learn.Rule) error {
	fmt.Fprintln(out, "rules:")
	for _, r := range rules {
		for _, n := range r.Notes {
			fmt.Fprintln(out, "#", printable(n))
		}
		data, err := yaml.Marshal([]rbacv1.PolicyRule{r.PolicyRule})
		if err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// printable replaces line breaks and other control characters by spaces. The text is printed in a
// YAML comment, which a name from a log must not end.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, text)
}
