// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/denial"
)

// MaxAttempts is the maximum number of objects of which a subject's refused requests are learned.
const MaxAttempts = 200

// attempt is an object, or all objects of a resource if name is "", which a refused request was about.
// Everybody can make the server refuse any request, so attempts are never joined: above a limit they are
// left out, and a rule for one name never becomes a rule for all.
type attempt struct {
	key  ResourceKey
	name string
}

func (a attempt) compare(b attempt) int {
	return cmp.Or(a.key.compare(b.key), strings.Compare(a.name, b.name))
}

// attempted has what the refused requests about an object need.
type attempted struct {
	// verbs maps the verbs to the requests that need them.
	verbs map[string]*Use
	// requests maps the verbs of the requests to their number.
	requests map[string]int
}

// lacked returns the verbs that the caller of a refused request needs, as far as the event proves them.
// It returns none if something else than the authorizer refused the request: the impersonation, a
// limit, admission, or the role or delegation that the caller selected. A protected label or annotation,
// and excluding less than before, is an administrator's decision and not learned either.
func (e *event) lacked() []string {
	_, selects := e.Annotations[auditlog.SelectedAnnotation]
	if selects || e.ResponseStatus.Code != 403 || !slices.Contains(requestVerbs, e.Verb) {
		return nil
	}
	switch e.Annotations[auditlog.DecisionAnnotation] {
	case "forbid":
		return []string{e.Verb}
	case "allow":
		// The request was allowed, and then the change of a field was refused.
		missing := strings.Fields(e.Annotations[denial.MissingAnnotation])
		if len(missing) == 0 {
			return nil
		}
		verbs := denial.Together(missing[0])
		if slices.ContainsFunc(verbs, func(v string) bool { return !isPermissionVerb(v) }) {
			return nil
		}
		if e.granular() {
			return append([]string{permission.General}, verbs...)
		}
		return append([]string{e.Verb}, verbs...)
	}
	return nil
}

// attempt learns a refused request.
func (s *Subject) attempt(e *event) {
	verbs := e.lacked()
	if len(verbs) == 0 {
		return
	}
	one := attempt{keyOf(e.ObjectRef), authorizedName(e)}
	tried := s.attempts[one]
	if tried == nil {
		tried = &attempted{verbs: map[string]*Use{}, requests: map[string]int{}}
	}
	unknown := func(v string) bool { return tried.verbs[v] == nil }
	tooMany := len(tried.verbs) == 0 && len(s.attempts) == MaxAttempts
	if tooMany || len(tried.verbs)+len(verbs) > maxNamed && slices.ContainsFunc(verbs, unknown) {
		s.NotAttempted++
		return
	}
	s.attempts[one] = tried
	s.Attempted++
	tried.requests[e.Verb]++
	for _, verb := range verbs {
		countUse(tried.verbs, verb, e)
	}
}

// addAttempts adds rules for the refused requests to rules by namespace. If the subject also made a
// request with the same verb about the same object that was allowed, the rules for that one suffice.
func (s *Subject) addAttempts(rules map[string][]Rule) {
	for _, one := range slices.SortedFunc(maps.Keys(s.attempts), attempt.compare) {
		tried := s.attempts[one]
		var verbs, notes []string
		for _, verb := range slices.Sorted(maps.Keys(tried.verbs)) {
			if tried.requests[verb] > 0 && s.allowed(one, verb) || grants(slices.Concat(rules[""], rules[one.key.Namespace]), one, verb) {
				continue
			}
			verbs = append(verbs, verb)
			notes = append(notes, fmt.Sprintf("%s on %s: refused: %s%s", verb, one.key.describe(one.name), tried.verbs[verb], proof(verb)))
		}
		if len(verbs) == 0 {
			continue
		}
		r := Rule{
			PolicyRule: rbacv1.PolicyRule{APIGroups: []string{one.key.Group}, Resources: []string{one.key.Resource}, Verbs: verbs},
			Notes:      notes, Attempted: true,
		}
		if one.name != "" {
			r.ResourceNames = []string{one.name}
		}
		rules[one.key.Namespace] = append(rules[one.key.Namespace], r)
	}
}

// proof returns what a refusal does not show about the need for a verb, for the end of a note.
func proof(verb string) string {
	switch {
	case verb == "update" || verb == "patch":
		return "; which fields it would have changed is not known, so this allows all fields that no permission excludes"
	case isPermissionVerb(verb):
		return "; a refusal names one field, so other fields of the request may need further verbs"
	}
	return ""
}

// allowed reports whether the subject made a request with a verb about an object that was authorized.
func (s *Subject) allowed(one attempt, verb string) bool {
	u := s.usage(one.key)
	if u == nil {
		return false
	}
	n := u.names[one.name]
	return n != nil && n.asked[verb] || (one.name == "" || u.anyName) && u.unnamed.asked[verb]
}

// grants reports whether a rule grants a verb on an object.
func grants(rules []Rule, one attempt, verb string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return r.APIGroups[0] == one.key.Group && r.Resources[0] == one.key.Resource && slices.Contains(r.Verbs, verb) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, one.name))
	})
}
