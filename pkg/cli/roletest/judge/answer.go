// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// denialOf returns what a 403 of authorization is about. It reports false for every other answer, and
// for a 403 of admission.
func denialOf(err error) (*denial.Denial, bool) {
	if !apierrors.IsForbidden(err) {
		return nil, false
	}
	d, unknown := denial.FromError(err)
	if unknown != nil || d.Admission {
		return nil, false
	}
	return d, len(needed(d)) > 0 || d.Field != ""
}

// byDelegation stands for a refusal by the selected delegation itself: by its conditions, or because it
// does not name the object.
const byDelegation = "delegation"

// policyPattern matches a refusal of a write whose author does not hold what a policy delegates. A policy
// refuses anybody, and a delegation only who selects it, so the two must not be taken for each other.
var policyPattern = regexp.MustCompile(`^AuthorityDelegationPolicy "([^"]+)" delegates permissions`)

// grants are the verbs with which a caller may grant what it does not hold, by the resource of the grant.
var grants = map[string]string{"roles": "escalate", "clusterroles": "escalate", "rolebindings": "bind", "clusterrolebindings": "bind",
	"authoritydelegations": "delegate", "authoritydelegationpolicies": "delegate"}

// needed returns what would have allowed a refused request: verbs, and roles as Kind/name. For a refusal by a
// policy, it is the policy, as Kind/name.
func needed(d *denial.Denial) []string {
	var out []string
	switch {
	case d.Ordinary != "":
		out = append(out, d.Ordinary)
	case d.Grant:
		resource, _, _ := strings.Cut(d.Resource, ".")
		out = append(out, grants[resource])
	case d.Field == "" && d.Why != "" && len(d.Verbs)+len(d.Roles) == 0:
		if m := policyPattern.FindStringSubmatch(d.Why); m != nil {
			out = append(out, policyKind+"/"+m[1])
			break
		}
		out = append(out, byDelegation)
	}
	out = append(append(out, d.Together...), d.Verbs...)
	for _, role := range d.Roles {
		out = append(out, role.Kind+"/"+role.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// meets reports whether a refusal is the expected one.
func meets(d *denial.Denial, want *format.Refusal) bool {
	if want.Field != "" {
		rest, ok := strings.CutPrefix(d.Field, want.Field)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			return false
		}
	}
	if want.Needs == "" {
		return d.Field != ""
	}
	all := needed(d)
	if d.Write() {
		all = append(all, "granular")
	}
	return slices.Contains(all, want.Needs)
}

// describe returns what a refusal is about, without values.
func describe(d *denial.Denial) string {
	text := "refused"
	if d.Field != "" {
		text += " at " + d.Field
	}
	if all := needed(d); len(all) > 0 {
		text += ", needs " + strings.Join(all, " or ")
	}
	return text
}

// strictPattern matches what the server says about fields that it does not know. The names of fields
// are not values.
var strictPattern = regexp.MustCompile(`(?:unknown|duplicate) field "[^"]*"`)

// reason returns why a request failed, without the text of the answer, which may contain values.
func reason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	s := status.Status()
	text := fmt.Sprintf("%d %s", s.Code, s.Reason)
	var details []string
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Field != "" {
				details = append(details, strings.TrimSpace(cause.Field+" "+strings.TrimPrefix(string(cause.Type), "FieldValue")))
			}
		}
	}
	if s.Code == http.StatusBadRequest || s.Code == http.StatusUnprocessableEntity {
		details = append(details, strictPattern.FindAllString(s.Message, -1)...)
	}
	if s.Reason == metav1.StatusReasonNotFound && s.Details != nil && s.Details.Name != "" {
		details = append(details, s.Details.Kind+" "+s.Details.Name)
	}
	if len(details) > 0 {
		text += ": " + strings.Join(details, ", ")
	}
	return text
}
