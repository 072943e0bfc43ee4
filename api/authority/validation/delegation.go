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
	errs := apimachineryvalidation.ValidateObjectMeta(&d.ObjectMeta, false, apimachineryvalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, DelegationSpec(&d.Spec, field.NewPath("spec"))...)
}

// DelegationUpdate validates an update of a delegation. The specification is immutable, with one
// exception: the expiration time can be set or made earlier. So somebody who has read a delegation
// can rely on it: it never allows more later.
func DelegationUpdate(d, old *authority.AuthorityDelegation) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	at := field.NewPath("spec")
	was, is := old.Spec.ExpirationTimestamp, d.Spec.ExpirationTimestamp
	// The zero time is stored as null: it would remove the expiration.
	if is != nil && is.IsZero() || was != nil && (is == nil || is.After(was.Time)) {
		errs = append(errs, field.Invalid(at.Child("expirationTimestamp"), is, "can be made earlier, but not later, and can't be removed or be the zero time"))
	}
	rest := d.Spec
	rest.ExpirationTimestamp = was
	if !equality.Semantic.DeepEqual(rest, old.Spec) {
		errs = append(errs, field.Forbidden(at, "can't be changed, except that expirationTimestamp can be made earlier; create another delegation instead"))
	}
	return errs
}

// DelegationSpec validates the specification of a delegation.
func DelegationSpec(spec *authority.AuthorityDelegationSpec, at *field.Path) field.ErrorList {
	errs := delegates(spec.Delegates, at.Child("delegates"))
	errs = append(errs, delegationScope(spec.Scope, at.Child("scope"))...)
	switch {
	case spec.RoleRef != nil && len(spec.Rules) > 0:
		errs = append(errs, field.Forbidden(at.Child("rules"), "exactly one of roleRef and rules must be set"))
	case spec.RoleRef != nil:
		errs = append(errs, delegatedRole(spec.RoleRef, spec.Scope, at.Child("roleRef"))...)
	case len(spec.Rules) == 0:
		errs = append(errs, field.Required(at.Child("rules"), "exactly one of roleRef and rules must be set"))
	default:
		errs = append(errs, Rules(spec.Rules, spec.Scope, at.Child("rules"))...)
	}
	errs = append(errs, objectUIDs(spec.ObjectUIDs, at.Child("objectUIDs"))...)
	errs = append(errs, conditions(spec.Conditions, at.Child("conditions"))...)
	if spec.IfLost != authority.LossWithdraw && spec.IfLost != authority.LossKeep {
		errs = append(errs, field.NotSupported(at.Child("ifLost"), spec.IfLost, []authority.LossPolicy{authority.LossKeep, authority.LossWithdraw}))
	}
	if idle := spec.IdleSeconds; idle != nil && *idle < authority.MinIdleSeconds {
		errs = append(errs, field.Invalid(at.Child("idleSeconds"), *idle, fmt.Sprintf("must be %d at least", authority.MinIdleSeconds)))
	}
	return errs
}

func delegates(all []authority.Delegate, at *field.Path) (errs field.ErrorList) {
	switch {
	case len(all) == 0:
		return field.ErrorList{field.Required(at, "must name at least one user, group or service account that may use the delegation")}
	case len(all) > authority.MaxDelegates:
		return field.ErrorList{field.TooMany(at, len(all), authority.MaxDelegates)}
	}
	seen := map[authority.Delegate]bool{}
	for i, d := range all {
		at := at.Index(i)
		if seen[d] {
			errs = append(errs, field.Duplicate(at, d.Name))
			continue
		}
		seen[d] = true
		errs = append(errs, delegate(d, at)...)
	}
	return errs
}

func delegate(d authority.Delegate, at *field.Path) (errs field.ErrorList) {
	if d.Kind != authority.DelegateServiceAccount && d.Namespace != "" {
		errs = append(errs, field.Forbidden(at.Child("namespace"), "can be set for the kind ServiceAccount only"))
	}
	if d.UID != "" && (d.Kind == authority.DelegateGroup || !readable(string(d.UID))) {
		errs = append(errs, field.Invalid(at.Child("uid"), d.UID, "must be the UID of a user or service account"))
	}
	name := at.Child("name")
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
			errs = append(errs, field.Invalid(at.Child("namespace"), d.Namespace, wrong))
		}
		for _, wrong := range utilvalidation.IsDNS1123Subdomain(d.Name) {
			errs = append(errs, field.Invalid(name, d.Name, wrong))
		}
	case "":
		errs = append(errs, field.Required(at.Child("kind"), "must be User, Group or ServiceAccount"))
	default:
		errs = append(errs, field.NotSupported(at.Child("kind"), d.Kind, []authority.DelegateKind{authority.DelegateGroup, authority.DelegateServiceAccount, authority.DelegateUser}))
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

func delegationScope(s authority.DelegationScope, at *field.Path) (errs field.ErrorList) {
	switch {
	case s.Cluster && s.Namespace != "":
		return field.ErrorList{field.Forbidden(at.Child("namespace"), "exactly one of namespace and cluster must be set")}
	case s.Cluster:
		return nil
	case s.Namespace == "":
		return field.ErrorList{field.Required(at, "must be a namespace, or cluster: true")}
	}
	for _, wrong := range utilvalidation.IsDNS1123Label(s.Namespace) {
		errs = append(errs, field.Invalid(at.Child("namespace"), s.Namespace, wrong))
	}
	return errs
}

func delegatedRole(r *authority.DelegatedRole, s authority.DelegationScope, at *field.Path) (errs field.ErrorList) {
	switch {
	case r.Kind == authority.ClusterRoleKind, r.Kind == authority.RoleKind && !s.Cluster:
	case r.Kind == authority.RoleKind:
		errs = append(errs, field.Invalid(at.Child("kind"), r.Kind, "a Role can be delegated only if scope.namespace is set, because it is looked up in that namespace"))
	default:
		errs = append(errs, field.NotSupported(at.Child("kind"), r.Kind, []string{authority.ClusterRoleKind, authority.RoleKind}))
	}
	if r.Name == "" {
		return append(errs, field.Required(at.Child("name"), "must name a role"))
	}
	for _, wrong := range path.IsValidPathSegmentName(r.Name) {
		errs = append(errs, field.Invalid(at.Child("name"), r.Name, wrong))
	}
	return errs
}

// Rules validates the rules of a delegation, which must fit its scope.
func Rules(rules []rbacv1.PolicyRule, s authority.DelegationScope, at *field.Path) (errs field.ErrorList) {
	if len(rules) > authority.MaxRules {
		return field.ErrorList{field.TooMany(at, len(rules), authority.MaxRules)}
	}
	if !FewPermissions(rules) {
		errs = append(errs, field.Forbidden(at, fmt.Sprintf("has more than %d combinations of verb, resource and name; use fewer or wider rules", authority.MaxPermissions)))
	}
	for i := range rules {
		rule, at := &rules[i], at.Index(i)
		for name, list := range map[string][]string{
			"verbs": rule.Verbs, "apiGroups": rule.APIGroups, "resources": rule.Resources, "resourceNames": rule.ResourceNames, "nonResourceURLs": rule.NonResourceURLs,
		} {
			if len(list) > authority.MaxRuleLength {
				errs = append(errs, field.TooMany(at.Child(name), len(list), authority.MaxRuleLength))
			}
		}
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(at.Child("verbs"), "a rule needs a verb"))
		}
		if len(rule.NonResourceURLs) > 0 {
			if !s.Cluster {
				errs = append(errs, field.Forbidden(at.Child("nonResourceURLs"), "a path is not in a namespace, so scope.cluster must be true"))
			}
			if len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Forbidden(at.Child("nonResourceURLs"), "a rule can have either resources or nonResourceURLs, not both"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(at.Child("apiGroups"), "a rule for resources needs an API group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(at.Child("resources"), "a rule needs a resource or a path"))
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

func objectUIDs(all []types.UID, at *field.Path) (errs field.ErrorList) {
	if len(all) > authority.MaxObjectUIDs {
		return field.ErrorList{field.TooMany(at, len(all), authority.MaxObjectUIDs)}
	}
	seen := map[types.UID]bool{}
	for i, uid := range all {
		switch {
		case uid == "" || !readable(string(uid)):
			errs = append(errs, field.Invalid(at.Index(i), uid, "must be the UID of an object"))
		case seen[uid]:
			errs = append(errs, field.Duplicate(at.Index(i), uid))
		}
		seen[uid] = true
	}
	return errs
}

func conditions(all []authority.DelegationCondition, at *field.Path) (errs field.ErrorList) {
	if len(all) > authority.MaxConditions {
		return field.ErrorList{field.TooMany(at, len(all), authority.MaxConditions)}
	}
	total := 0
	for i, c := range all {
		at := at.Index(i)
		if total += len(c.Expression); total > authority.MaxExpressionsLength && total-len(c.Expression) <= authority.MaxExpressionsLength {
			errs = append(errs, field.Forbidden(at.Child("expression"), fmt.Sprintf("the expressions of all conditions together must have at most %d bytes", authority.MaxExpressionsLength)))
		}
		switch {
		case strings.TrimSpace(c.Expression) == "":
			errs = append(errs, field.Required(at.Child("expression"), "must be a CEL expression"))
		case len(c.Expression) > authority.MaxExpressionLength:
			errs = append(errs, field.TooLong(at.Child("expression"), c.Expression, authority.MaxExpressionLength))
		}
		if len(c.Message) > authority.MaxExpressionLength {
			errs = append(errs, field.TooLong(at.Child("message"), c.Message, authority.MaxExpressionLength))
		}
		if len(c.APIVersions) > authority.MaxRuleLength {
			errs = append(errs, field.TooMany(at.Child("apiVersions"), len(c.APIVersions), authority.MaxRuleLength))
		}
		for j, version := range c.APIVersions {
			if gv, err := schema.ParseGroupVersion(version); err != nil || gv.Version == "" {
				errs = append(errs, field.Invalid(at.Child("apiVersions").Index(j), version, "must be GROUP/VERSION"))
			}
		}
	}
	return errs
}

// readable reports whether a name is printable, and short enough for a log line.
func readable(name string) bool {
	return len(name) <= 1024 && utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
