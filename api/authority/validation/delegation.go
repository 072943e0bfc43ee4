// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// Delegation validates a new delegation. Two things are not checked here, because only the server
// can check them: that condition expressions compile, and that the expiration time is in the
// future.
func Delegation(d *authority.AuthorityDelegation) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(&d.ObjectMeta, false, apimachineryvalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	return append(errs, DelegationSpec(&d.Spec, field.NewPath("spec"))...)
}

// DelegationUpdate validates an update of a delegation. The specification is immutable, with one
// exception: the expiration time can be set or made earlier. So somebody who has read a delegation
// can rely on it: it never allows more later.
func DelegationUpdate(d, old *authority.AuthorityDelegation) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	path := field.NewPath("spec")
	stored, written := old.Spec.ExpirationTimestamp, d.Spec.ExpirationTimestamp
	// The zero time is stored as null: it would remove the expiration.
	if written != nil && written.IsZero() || stored != nil && (written == nil || written.After(stored.Time)) {
		errs = append(errs, field.Invalid(path.Child("expirationTimestamp"), written,
			"can be made earlier, but not later, and can't be removed or be the zero time"))
	}
	rest := d.Spec
	rest.ExpirationTimestamp = stored
	if !equality.Semantic.DeepEqual(rest, old.Spec) {
		errs = append(errs, field.Forbidden(path, "can't be changed, except that expirationTimestamp can be made earlier; create another delegation instead"))
	}
	return errs
}

// DelegationSpec validates the specification of a delegation.
func DelegationSpec(spec *authority.AuthorityDelegationSpec, path *field.Path) field.ErrorList {
	errs := delegates(spec.Delegates, path.Child("delegates"))
	errs = append(errs, delegationScope(spec.Scope, path.Child("scope"))...)
	switch {
	case spec.RoleRef != nil && len(spec.Rules) > 0:
		errs = append(errs, field.Forbidden(path.Child("rules"), "exactly one of roleRef and rules must be set"))
	case spec.RoleRef != nil:
		errs = append(errs, delegatedRole(spec.RoleRef, spec.Scope, path.Child("roleRef"))...)
	case len(spec.Rules) == 0:
		errs = append(errs, field.Required(path.Child("rules"), "exactly one of roleRef and rules must be set"))
	default:
		errs = append(errs, Rules(spec.Rules, spec.Scope, path.Child("rules"))...)
	}
	errs = append(errs, objectUIDs(spec.ObjectUIDs, path.Child("objectUIDs"))...)
	errs = append(errs, conditions(spec.Conditions, path.Child("conditions"))...)
	if spec.IfLost != authority.LossWithdraw && spec.IfLost != authority.LossKeep {
		errs = append(errs, field.NotSupported(path.Child("ifLost"), spec.IfLost,
			[]authority.LossPolicy{authority.LossKeep, authority.LossWithdraw}))
	}
	if idle := spec.IdleSeconds; idle != nil && *idle < authority.MinIdleSeconds {
		errs = append(errs, field.Invalid(path.Child("idleSeconds"), *idle, fmt.Sprintf("must be %d at least", authority.MinIdleSeconds)))
	}
	return errs
}

func delegates(all []authority.Delegate, path *field.Path) (errs field.ErrorList) {
	switch {
	case len(all) == 0:
		return field.ErrorList{field.Required(path, "must name at least one user, group or service account that may use the delegation")}
	case len(all) > authority.MaxDelegates:
		return field.ErrorList{field.TooMany(path, len(all), authority.MaxDelegates)}
	}
	seen := map[authority.Delegate]bool{}
	for i, d := range all {
		place := path.Index(i)
		if seen[d] {
			errs = append(errs, field.Duplicate(place, d.Name))
			continue
		}
		seen[d] = true
		errs = append(errs, delegate(d, place)...)
	}
	return errs
}

func delegate(d authority.Delegate, path *field.Path) (errs field.ErrorList) {
	if d.Kind != authority.DelegateServiceAccount && d.Namespace != "" {
		errs = append(errs, field.Forbidden(path.Child("namespace"), "can be set for the kind ServiceAccount only"))
	}
	if d.UID != "" && (d.Kind == authority.DelegateGroup || !readable(string(d.UID))) {
		errs = append(errs, field.Invalid(path.Child("uid"), d.UID, "must be the UID of a user or service account"))
	}
	name := path.Child("name")
	switch d.Kind {
	case authority.DelegateUser, authority.DelegateGroup:
		switch {
		case d.Name == "":
			return append(errs, field.Required(name, "must be the name of the subject"))
		case !readable(d.Name):
			return append(errs, field.Invalid(name, d.Name, "must be at most 1024 bytes of printable characters"))
		case d.Kind == authority.DelegateUser && d.Name == "system:anonymous", d.Kind == authority.DelegateGroup && broad(d.Name):
			return append(errs, field.Invalid(name, d.Name, "includes callers that nobody chose; name users, service accounts, or groups of people"))
		}
	case authority.DelegateServiceAccount:
		for _, wrong := range utilvalidation.IsDNS1123Label(d.Namespace) {
			errs = append(errs, field.Invalid(path.Child("namespace"), d.Namespace, wrong))
		}
		for _, wrong := range utilvalidation.IsDNS1123Subdomain(d.Name) {
			errs = append(errs, field.Invalid(name, d.Name, wrong))
		}
	case "":
		errs = append(errs, field.Required(path.Child("kind"), "must be User, Group or ServiceAccount"))
	default:
		errs = append(errs, field.NotSupported(path.Child("kind"), d.Kind,
			[]authority.DelegateKind{authority.DelegateGroup, authority.DelegateServiceAccount, authority.DelegateUser}))
	}
	return errs
}

// broad reports whether a group is one of Kubernetes' own groups, whose names begin with "system:",
// such as system:authenticated. It returns false for the group of the service accounts of one
// namespace, system:serviceaccounts:NAMESPACE.
func broad(group string) bool {
	rest, system := strings.CutPrefix(group, "system:")
	namespace, accounts := strings.CutPrefix(rest, "serviceaccounts:")
	return system && !(accounts && len(utilvalidation.IsDNS1123Label(namespace)) == 0)
}

func delegationScope(s authority.DelegationScope, path *field.Path) (errs field.ErrorList) {
	switch {
	case s.Cluster && s.Namespace != "":
		return field.ErrorList{field.Forbidden(path.Child("namespace"), "exactly one of namespace and cluster must be set")}
	case s.Cluster:
		return nil
	case s.Namespace == "":
		return field.ErrorList{field.Required(path, "must be a namespace, or cluster: true")}
	}
	for _, wrong := range utilvalidation.IsDNS1123Label(s.Namespace) {
		errs = append(errs, field.Invalid(path.Child("namespace"), s.Namespace, wrong))
	}
	return errs
}

func delegatedRole(r *authority.DelegatedRole, s authority.DelegationScope, place *field.Path) (errs field.ErrorList) {
	switch {
	case r.Kind == authority.ClusterRoleKind, r.Kind == authority.RoleKind && !s.Cluster:
	case r.Kind == authority.RoleKind:
		errs = append(errs, field.Invalid(place.Child("kind"), r.Kind,
			"a Role can be delegated only if scope.namespace is set, because it is looked up in that namespace"))
	default:
		errs = append(errs, field.NotSupported(place.Child("kind"), r.Kind, []string{authority.ClusterRoleKind, authority.RoleKind}))
	}
	if r.Name == "" {
		return append(errs, field.Required(place.Child("name"), "must name a role"))
	}
	for _, wrong := range path.IsValidPathSegmentName(r.Name) {
		errs = append(errs, field.Invalid(place.Child("name"), r.Name, wrong))
	}
	return errs
}

// Rules validates the rules of a delegation, which must fit its scope.
func Rules(rules []rbacv1.PolicyRule, s authority.DelegationScope, path *field.Path) (errs field.ErrorList) {
	if len(rules) > authority.MaxRules {
		return field.ErrorList{field.TooMany(path, len(rules), authority.MaxRules)}
	}
	if !FewPermissions(rules) {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("has more than %d combinations of verb, resource and name; use fewer or wider rules", authority.MaxPermissions)))
	}
	for i := range rules {
		rule, place := &rules[i], path.Index(i)
		for name, list := range map[string][]string{
			"verbs": rule.Verbs, "apiGroups": rule.APIGroups, "resources": rule.Resources, "resourceNames": rule.ResourceNames,
			"nonResourceURLs": rule.NonResourceURLs,
		} {
			if len(list) > authority.MaxRuleLength {
				errs = append(errs, field.TooMany(place.Child(name), len(list), authority.MaxRuleLength))
			}
		}
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(place.Child("verbs"), "a rule needs a verb"))
		}
		if len(rule.NonResourceURLs) > 0 {
			if !s.Cluster {
				errs = append(errs, field.Forbidden(place.Child("nonResourceURLs"), "a path is not in a namespace, so scope.cluster must be true"))
			}
			if len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Forbidden(place.Child("nonResourceURLs"), "a rule can have either resources or nonResourceURLs, not both"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(place.Child("apiGroups"), "a rule for resources needs an API group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(place.Child("resources"), "a rule needs a resource or a path"))
		}
	}
	return errs
}

// FewPermissions reports whether rules have at most MaxPermissions permissions: combinations of a verb
// with a resource and a name, or with a URL. A value that a list repeats counts once. A rule of a few
// kilobytes can have millions, which nobody can split into single permissions.
func FewPermissions(rules []rbacv1.PolicyRule) bool {
	left := authority.MaxPermissions
	for i := range rules {
		rule := &rules[i]
		product, verbs := 1, distinct(rule.Verbs)
		for _, n := range []int{verbs, distinct(rule.APIGroups), distinct(rule.Resources), max(1, distinct(rule.ResourceNames))} {
			if product *= n; product > left {
				return false
			}
		}
		if left -= product + verbs*distinct(rule.NonResourceURLs); left < 0 {
			return false
		}
	}
	return true
}

// distinct returns how many different values a list has.
func distinct(list []string) int {
	if len(list) < 2 {
		return len(list)
	}
	return sets.New(list...).Len()
}

func objectUIDs(all []types.UID, path *field.Path) (errs field.ErrorList) {
	if len(all) > authority.MaxObjectUIDs {
		return field.ErrorList{field.TooMany(path, len(all), authority.MaxObjectUIDs)}
	}
	seen := map[types.UID]bool{}
	for i, uid := range all {
		switch {
		case uid == "" || !readable(string(uid)):
			errs = append(errs, field.Invalid(path.Index(i), uid, "must be the UID of an object"))
		case seen[uid]:
			errs = append(errs, field.Duplicate(path.Index(i), uid))
		}
		seen[uid] = true
	}
	return errs
}

func conditions(all []authority.DelegationCondition, path *field.Path) (errs field.ErrorList) {
	if len(all) > authority.MaxConditions {
		return field.ErrorList{field.TooMany(path, len(all), authority.MaxConditions)}
	}
	total := 0
	for i, c := range all {
		place := path.Index(i)
		if total += len(c.Expression); total > authority.MaxExpressionsLength && total-len(c.Expression) <= authority.MaxExpressionsLength {
			errs = append(errs, field.Forbidden(place.Child("expression"),
				fmt.Sprintf("the expressions of all conditions together must have at most %d bytes", authority.MaxExpressionsLength)))
		}
		switch {
		case strings.TrimSpace(c.Expression) == "":
			errs = append(errs, field.Required(place.Child("expression"), "must be a CEL expression"))
		case len(c.Expression) > authority.MaxExpressionLength:
			errs = append(errs, field.TooLong(place.Child("expression"), c.Expression, authority.MaxExpressionLength))
		}
		if len(c.Message) > authority.MaxExpressionLength {
			errs = append(errs, field.TooLong(place.Child("message"), c.Message, authority.MaxExpressionLength))
		}
		if len(c.APIVersions) > authority.MaxRuleLength {
			errs = append(errs, field.TooMany(place.Child("apiVersions"), len(c.APIVersions), authority.MaxRuleLength))
		}
		for j, version := range c.APIVersions {
			if gv, err := schema.ParseGroupVersion(version); err != nil || gv.Version == "" {
				errs = append(errs, field.Invalid(place.Child("apiVersions").Index(j), version, "must be GROUP/VERSION"))
			}
		}
	}
	return errs
}

// readable reports whether a name is printable, and short enough for a log line.
func readable(name string) bool {
	return len(name) <= 1024 && utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
