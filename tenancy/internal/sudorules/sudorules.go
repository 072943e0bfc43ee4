// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// read and write are the verbs that the rules of sudo can have. Other verbs in discovery or in the
// role admin are ignored, such as bind, escalate, approve and the verbs of single fields. There is
// one exception: allowedVerbs allows the verb impersonate for service accounts.
var (
	read  = []string{"get", "list", "watch"}
	write = []string{"create", "update", "patch", "delete", "deletecollection"}
)

// For returns the rules of sudo. They have the verbs of all namespaced resources in discovery, and
// the rules of the ClusterRole admin: a sudoer must be able to bind others to admin, and RBAC
// allows this only to a user who has all permissions of admin. In both, For leaves out the verbs
// that allowedVerbs does not return. From discovery, it also leaves out the verbs to write resources
// of Kubernetes itself that the role admin does not write, except those in further.
func For(discovered []*metav1.APIResourceList, admin []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	t := table{}
	for _, list := range discovered {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !r.Namespaced {
				continue
			}
			verbs := []string(r.Verbs)
			if scheme.Scheme.IsGroupRegistered(gv.Group) && !further[gv.Group+"/"+r.Name] {
				verbs = slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return !slices.Contains(read, v) })
			}
			t.add(gv.Group, r.Name, nil, verbs)
		}
	}
	for _, rule := range admin {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				t.add(group, resource, rule.ResourceNames, rule.Verbs)
			}
		}
	}
	return t.rules()
}

// Quotas returns the rules for ResourceQuotas and LimitRanges. Sudo has these rules in addition,
// if spec.sudo.allow of the LNamespace has the entry Quotas.
func Quotas() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"limitranges", "resourcequotas"},
		Verbs: slices.Concat(read, write)}}
}

// Namespace returns the rules for the Namespace object. Sudo has these rules in addition, if
// spec.sudo.allow of the LNamespace has the entry Namespace. The rules do not include the verb
// delete: to delete the namespace, one deletes the LNamespace.
func Namespace() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "update", "patch"}}}
}

// KeepFailedGroups returns those of the old rules that are for API groups in failed: the groups
// that could not be discovered. The returned rules have no other groups. With them, sudo keeps its
// permissions in these groups while an aggregated API server is unavailable.
func KeepFailedGroups(old []rbacv1.PolicyRule, failed map[string]bool) []rbacv1.PolicyRule {
	var kept []rbacv1.PolicyRule
	for _, rule := range old {
		groups := slices.DeleteFunc(slices.Clone(rule.APIGroups), func(g string) bool { return !failed[g] })
		if len(groups) > 0 {
			rule.APIGroups = groups
			kept = append(kept, rule)
		}
	}
	return kept
}

// further are the resources of Kubernetes itself that sudo may write although the role admin may only
// read them. The role admin leaves out what steers the traffic, the nodes or the storage of others, and
// Kubernetes decides about each new resource whether admin gets it. So sudo asks the role, and a new
// resource is reported by the command vetted compare. The resources in this list are different: they
// are parts of pods and workloads that admin may write as a whole.
var further = map[string]bool{
	"/pods/ephemeralcontainers": true,
	"/pods/resize":              true,
	"/podtemplates":             true,
	"apps/controllerrevisions":  true,
}

// isReadOnly reports whether the rules that For returns allow only to read the resource. For some
// of these resources, the functions Quotas and Namespace return further rules.
func isReadOnly(group, resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	switch group {
	case "":
		return resource == "namespaces" || resource == "resourcequotas" || resource == "limitranges"
	case "authority.kube-granular.dev", "tenancy.kube-granular.dev":
		return true
	}
	return false
}

// allowedVerbs returns those of the given verbs that a rule of sudo can have for the resource.
// Their order does not depend on the order of the given verbs.
func allowedVerbs(group, resource string, verbs []string) []string {
	may := read
	if !isReadOnly(group, resource) {
		may = slices.Concat(read, write)
	}
	if group == "" && resource == "serviceaccounts" {
		may = append(may, "impersonate") // service accounts of the namespace, as in the role edit
	}
	return slices.DeleteFunc(slices.Clone(may), func(v string) bool { return !slices.Contains(verbs, v) })
}

// entry is a resource of an API group. If names is not empty, the entry is only for the objects
// with these names, which are separated by newlines.
type entry struct{ group, resource, names string }

// table maps entries to their verbs.
type table map[entry]map[string]bool

func (t table) add(group, resource string, only, verbs []string) {
	if strings.Contains(group, "*") || strings.Contains(resource, "*") {
		return
	}
	for _, v := range allowedVerbs(group, resource, verbs) {
		e := entry{group, resource, strings.Join(only, "\n")}
		if t[e] == nil {
			t[e] = map[string]bool{}
		}
		t[e][v] = true
	}
}

// rules returns the rules for all entries, sorted. Resources of the same API group share a rule if
// they have the same verbs and names of objects.
func (t table) rules() []rbacv1.PolicyRule {
	merged := map[entry][]string{} // in these keys, the field resource has the verbs
	for e, verbs := range t {
		list := allowedVerbs(e.group, e.resource, slices.Collect(maps.Keys(verbs)))
		key := entry{e.group, strings.Join(list, " "), e.names}
		merged[key] = append(merged[key], e.resource)
	}
	var rules []rbacv1.PolicyRule
	for key, resources := range merged {
		slices.Sort(resources)
		rule := rbacv1.PolicyRule{APIGroups: []string{key.group}, Resources: resources, Verbs: strings.Fields(key.resource)}
		if key.names != "" {
			rule.ResourceNames = strings.Split(key.names, "\n")
		}
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int { return strings.Compare(order(a), order(b)) })
	return rules
}

func order(r rbacv1.PolicyRule) string {
	return strings.Join([]string{r.APIGroups[0], strings.Join(r.Resources, ","), strings.Join(r.Verbs, ","),
		strings.Join(r.ResourceNames, ",")}, "\x00")
}
