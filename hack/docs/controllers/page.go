// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// File is the path of the page.
const File = "docs/generated/controllers.md"

const pageHeader = `<!-- Written by hack/update-docs.sh from upstream's bootstrap roles. Don't edit it. -->

# What controllers may do, and on whose behalf

Kubernetes' own controllers have rights in the whole cluster, by bootstrap roles. A user who writes an object
makes a controller act with these rights. [Selected and delegated authority](../selected-authority.md) offers
another way: the author of an object gives the controller a right for that object alone. This page says for each
right of a controller whether that is possible, and why the right must stay if not. The page includes roles behind
feature gates. It leaves out the API group extensions, which no server has any more. "*.*" means every resource.

`

// Page returns the page for the version of upstream Kubernetes that this program is built with.
func Page() ([]byte, error) {
	all, err := roles()
	if err != nil {
		return nil, err
	}
	people := peopleRules()
	used := map[string]bool{}
	var body, b strings.Builder
	counts, writes, withSome := map[class]int{}, 0, 0
	for i := range all {
		rights, err := classify(&all[i], used)
		if err != nil {
			return nil, err
		}
		some := false
		fmt.Fprintf(&body, "\n### %s\n\n| class | rights | asked for by | people have it by |\n| --- | --- | --- | --- |\n", strings.TrimPrefix(all[i].Name, prefix))
		for _, reason := range classReasons {
			var texts []string
			for _, row := range rows(rights, reason.class) {
				text := "`" + row.of + "` " + strings.Join(row.verbs, ", ")
				counts[reason.class] += len(row.verbs)
				if reason.class != reads {
					writes += len(row.verbs)
				}
				if reason.class == perObject {
					some = true
					fmt.Fprintf(&body, "| %s | %s | `%s` | %s |\n", reason.class, text, row.trigger, smallestRoles(people, row.rights))
					continue
				}
				texts = append(texts, text)
			}
			if len(texts) > 0 {
				fmt.Fprintf(&body, "| %s | %s | | |\n", reason.class, strings.Join(texts, "; "))
			}
		}
		if some {
			withSome++
		}
	}
	if err := checkUnused(used); err != nil {
		return nil, err
	}
	b.WriteString(pageHeader)
	fmt.Fprintf(&b, "There are %d roles. They have %d rights that are not for reading. Of these, %d could be granted per object, in %d roles.\n\n", len(all), writes, counts[perObject], withSome)
	b.WriteString("## Classes\n\n| class | rights | | because |\n| --- | --- | --- | --- |\n")
	for _, r := range classReasons {
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", r.class, counts[r.class], r.grant, r.because)
	}
	for _, r := range classReasons {
		fmt.Fprintf(&b, "\n**%s%s.** %s\n", strings.ToUpper(string(r.class[:1])), r.class[1:], r.reasoned)
	}
	yaml, err := policies(all)
	if err != nil {
		return nil, err
	}
	b.WriteString(yaml)
	b.WriteString("\n## Roles\n")
	return []byte(b.String() + body.String()), nil
}

// row is a row of a table: a role's verbs of one class on one resource.
type row struct {
	of, trigger string
	verbs       []string
	rights      []right
}

func rows(rights []classifiedRight, wanted class) []row {
	var out []row
	for _, r := range rights {
		if r.class != wanted {
			continue
		}
		i := slices.IndexFunc(out, func(o row) bool { return o.of == r.resourceName() && o.trigger == r.trigger })
		if i < 0 {
			i, out = len(out), append(out, row{of: r.resourceName(), trigger: r.trigger})
		}
		out[i].verbs, out[i].rights = append(out[i].verbs, r.verb), append(out[i].rights, r.right)
	}
	return out
}

// smallestRoles returns the smallest of the roles view, edit and admin that has the permissions.
// If the smallest role is not the same for all permissions, the result lists the role for each
// verb.
func smallestRoles(people map[string][]rbacv1.PolicyRule, rights []right) string {
	var each []string
	for _, r := range rights {
		each = append(each, smallestRole(people, r)+" ("+r.verb+")")
	}
	first := smallestRole(people, rights[0])
	for _, r := range rights {
		if smallestRole(people, r) != first {
			return strings.Join(each, ", ")
		}
	}
	return first
}
