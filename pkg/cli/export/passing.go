// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
)

// Whoever writes roles may give others what he holds himself. A subject of an export holds update, so it must not
// write roles or bindings: whom it gives update is no subject of a policy.

// passedOn returns an error if one of some subjects may write roles or bindings.
func (e *exporter) passedOn(subjects []rbacv1.Subject) error {
	for _, b := range e.bound {
		writes := slices.ContainsFunc(writing, func(verb string) bool { return access.ContainsOrAll(b.rule.Verbs, verb) })
		resource := slices.IndexFunc(passing, func(name string) bool {
			return access.Covers(&b.rule, &access.Target{Group: rbacv1.GroupName, Resource: name})
		})
		if !writes || resource < 0 {
			continue
		}
		for _, s := range subjects {
			if slices.ContainsFunc(b.subjects, func(other rbacv1.Subject) bool { return isSubject(other) == isSubject(s) }) {
				return fmt.Errorf("%s %s also may write %s: the stand-in has update, and %s could give it to somebody whom no policy names; "+
					"take that from the roles", strings.ToLower(s.Kind), s.Name, passing[resource], s.Name)
			}
		}
	}
	return nil
}

var (
	// writing are verbs that let a caller write what a role gives, and to whom.
	writing = []string{"create", "update", "patch", "granular:rules", "granular:aggregation", "granular:roleReference", "granular:subjects"}
	passing = []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"}
)

// gatherPrefix is how the labels begin by which upstream's roles gather the rules of others.
const gatherPrefix = "rbac.authorization.k8s.io/aggregate-to-"

// gathered returns an error if another role has the rules of a granular role, whose subjects the files do not name.
func (r *Roles) gathered() error {
	for _, object := range r.objects {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok || !slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Verbs, permission.General) }) {
			continue
		}
		for label, value := range role.Labels {
			if strings.HasPrefix(label, gatherPrefix) && value == "true" {
				return fmt.Errorf("the label %s of the ClusterRole %s gives its rules to the role %s, whose subjects are not in the files: "+
					"remove the label", label, role.Name, strings.TrimPrefix(label, gatherPrefix))
			}
		}
	}
	return nil
}

// checkNames returns an error if two objects have one name, because the later one would replace the other one, and if a
// server would refuse a policy for its name, because the role would nevertheless be applied.
func checkNames(objects []runtime.Object) error {
	seen := map[string]bool{}
	for _, object := range objects {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		name := object.GetObjectKind().GroupVersionKind().Kind + " " + accessor.GetName()
		if seen[name] {
			return fmt.Errorf("two resources need the %s: export them by themselves, with another --name", name)
		}
		seen[name] = true
		if strings.HasPrefix(accessor.GetName(), copiers) {
			continue // names of roles may have a colon
		}
		if faults := validation.NameIsDNSSubdomain(accessor.GetName(), false); len(faults) > 0 {
			return fmt.Errorf("a server refuses the %s: %s: choose another --name", name, faults[0])
		}
	}
	return nil
}
