// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// OfGrant returns a draft of a test for a role that no change was made for, as text. Its cases are what must be
// refused, for these need no objects. Comments name the fields whose changes a person adds as cases.
func OfGrant(grant roles.Grant, name string, subject rbacv1.Subject, fields []string) (string, error) {
	d := Draft{Grants: []roles.Grant{grant}, Name: name, Subject: subject}
	given, err := d.given()
	if err != nil {
		return "", err
	}
	cases, seen := []format.Case{}, map[string]bool{}
	for i := range grant.Rules {
		target := targetOf(&grant.Rules[i], grant.Namespace)
		if seen[target.Resource] {
			continue
		}
		seen[target.Resource] = true
		cases = append(cases, format.Case{
			Name: "an example of what must be refused", As: d.subject(), Delete: &target,
			Expect: format.Expectation{Refused: format.Refusal{Needs: "delete"}},
		})
	}
	var out strings.Builder
	notes := []string{"A draft of a test: kube-granular test FILE. Add objects to given, and cases that change these fields:"}
	err = writeTest(&out, append(notes, fields...), given, cases)
	return out.String(), err
}

// targetOf returns an object of the resource of a rule.
func targetOf(r *rbacv1.PolicyRule, namespace string) format.Target {
	resource, _, _ := strings.Cut(r.Resources[0], "/")
	out := format.Target{Resource: kinds.Qualified(r.APIGroups[0], resource), Name: "an-object"}
	if len(r.ResourceNames) > 0 {
		out.Name = r.ResourceNames[0]
	}
	if namespace != "" {
		out.Name = namespace + "/" + out.Name
	}
	return out
}
