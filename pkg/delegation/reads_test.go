// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
)

func to(group, resources, verbs string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Split(resources, ","), Verbs: strings.Split(verbs, ","), ResourceNames: names}
}

// TestMissingReads checks for which rules conditions would reveal objects that the rules do not
// allow to get.
//
// Attack: a condition in a delegation of `update` without `get`, of the scale or status of an object, of one name, or of another object's `get`
// Answer: the server refuses the delegation, and names the resources
func TestMissingReads(t *testing.T) {
	for name, tc := range map[string]struct {
		rules   []rbacv1.PolicyRule
		missing []string
	}{
		"update with get":              {[]rbacv1.PolicyRule{to("", "secrets", "update,get")}, nil},
		"update without get":           {[]rbacv1.PolicyRule{to("", "secrets", "update")}, []string{"secrets"}},
		"patch":                        {[]rbacv1.PolicyRule{to("", "secrets", "patch,list,watch")}, []string{"secrets"}},
		"create":                       {[]rbacv1.PolicyRule{to("apps", "deployments", "create")}, []string{"deployments.apps"}},
		"granular":                     {[]rbacv1.PolicyRule{to("apps", "deployments", "granular,granular:replicas")}, []string{"deployments.apps"}},
		"all verbs":                    {[]rbacv1.PolicyRule{to("", "secrets", "*")}, nil},
		"get in another rule":          {[]rbacv1.PolicyRule{to("", "secrets", "update"), to("", "configmaps,secrets", "get")}, nil},
		"get in another group":         {[]rbacv1.PolicyRule{to("apps", "deployments", "update"), to("", "deployments", "get")}, []string{"deployments.apps"}},
		"scale alone":                  {[]rbacv1.PolicyRule{to("apps", "deployments/scale", "update,get")}, []string{"deployments.apps"}},
		"scale with the object":        {[]rbacv1.PolicyRule{to("apps", "deployments/scale", "update"), to("apps", "deployments", "get")}, nil},
		"all verbs of a status":        {[]rbacv1.PolicyRule{to("", "pods/status", "*")}, []string{"pods"}},
		"any status":                   {[]rbacv1.PolicyRule{to("apps", "*/status", "update"), to("apps", "deployments", "get")}, []string{"*.apps"}},
		"any resource":                 {[]rbacv1.PolicyRule{to("*", "*", "update"), to("*", "*", "get")}, nil},
		"any resource, one to get":     {[]rbacv1.PolicyRule{to("*", "*", "update"), to("", "secrets", "get")}, []string{"*.*"}},
		"a name":                       {[]rbacv1.PolicyRule{to("", "secrets", "update", "a", "b"), to("", "secrets", "get", "a")}, []string{`secrets ["b"]`}},
		"all names":                    {[]rbacv1.PolicyRule{to("", "secrets", "update"), to("", "secrets", "get", "a")}, []string{"secrets"}},
		"nothing that is stored":       {[]rbacv1.PolicyRule{to("", "pods/exec,pods/binding,bindings", "create"), to("authorization.k8s.io", "subjectaccessreviews", "create")}, nil},
		"nothing that is written":      {[]rbacv1.PolicyRule{to("", "secrets", "list,watch,delete")}, nil},
		"paths":                        {[]rbacv1.PolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"/metrics"}}}, nil},
		"an action and an object":      {[]rbacv1.PolicyRule{to("", "pods,pods/exec", "create")}, []string{"pods"}},
		"get of the scale, not object": {[]rbacv1.PolicyRule{to("apps", "deployments", "patch"), to("apps", "deployments/scale", "get")}, []string{"deployments.apps"}},
	} {
		if got := MissingReads(tc.rules); !slices.Equal(got, tc.missing) {
			t.Errorf("%s: missing %q, wanted %q", name, got, tc.missing)
		}
	}
}

// withConditions returns a stored delegation with rules, whose condition is always true.
func withConditions(name string, rules ...rbacv1.PolicyRule) *v1alpha1.AuthorityDelegation {
	d := toBot()
	d.Name, d.UID = name, types.UID(name)
	d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "true"}}
	d.Status.Rules = rules
	return d
}

// TestEachDelegationNeedsGet checks that every delegation of a chain must allow get on the main
// resource, whichever of them has conditions, and that the status says when one does not.
//
// Attack: a child without `get` of a delegation with conditions, or a child with conditions of one without `get`
// Answer: the write is refused
func TestEachDelegationNeedsGet(t *testing.T) {
	bot := &user.DefaultInfo{Name: "bot"}
	full, blind := to("apps", "deployments,deployments/scale", "update,get"), to("apps", "deployments,deployments/scale", "update")
	scaleOnly := to("apps", "deployments/scale", "update,get")
	for name, tc := range map[string]struct {
		parent, child      rbacv1.PolicyRule
		conditionsOnParent bool
		refused            bool
		problems           [2]bool
	}{
		"both allow get":           {full, full, true, false, [2]bool{}},
		"the parent lacks get":     {blind, full, false, true, [2]bool{false, false}},
		"the child lacks get":      {full, blind, true, true, [2]bool{false, true}},
		"the parent with lacks":    {blind, full, true, true, [2]bool{true, false}},
		"the child with lacks":     {full, blind, false, true, [2]bool{false, true}},
		"get of the subresource":   {full, scaleOnly, true, true, [2]bool{false, true}},
		"get of the parent's only": {scaleOnly, full, false, true, [2]bool{}},
	} {
		x := NewIndex()
		parent, child := withConditions("parent", tc.parent), withConditions("child", tc.child)
		if tc.conditionsOnParent {
			child.Spec.Conditions = nil
		} else {
			parent.Spec.Conditions = nil
		}
		child.Status.Delegator.Username = "bot"
		child.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, Name: "parent", UID: "parent"}}
		x.Observe(parent, false)
		x.Observe(child, false)
		chain, refusal := x.Chain(t.Context(), "child", "", bot)
		if refusal != nil {
			t.Fatalf("%s: %v", name, refusal)
		}
		for _, subresource := range []string{"", "scale"} {
			a := authorizer.AttributesRecord{User: bot, Verb: "update", APIGroup: "apps", Resource: "deployments", Subresource: subresource, Name: "web", ResourceRequest: true}
			if !chain.NeedsGet(a) {
				t.Errorf("%s: get is not needed", name)
			}
			if r := chain.CheckReadable(a); (r != nil) != tc.refused {
				t.Errorf("%s, subresource %q: %v, wanted a refusal: %t", name, subresource, r, tc.refused)
			}
		}
		for i, d := range []*v1alpha1.AuthorityDelegation{parent, child} {
			if got := x.Problems(d); (len(got) > 0) != tc.problems[i] {
				t.Errorf("%s: problems of %s: %q", name, d.Name, got)
			}
		}
	}
}

// TestReads checks that a rule that allows to write nothing that is stored needs no read.
func TestReads(t *testing.T) {
	for resources, want := range map[string]int{"pods": 1, "pods/status,pods": 1, "pods/exec": 0, "bindings": 0} {
		if got := Reads([]rbacv1.PolicyRule{to("", resources, "create")}); len(got) != want {
			t.Errorf("%s: %v, want %d", resources, got, want)
		}
	}
}

// TestManyMissingReads checks that each resource is described once, and only so many of them, and that rules that are
// too many to compare count as rules that lack something.
func TestManyMissingReads(t *testing.T) {
	if got := MissingReads([]rbacv1.PolicyRule{to("apps", "deployments", "update"), to("apps", "deployments", "patch"), to("apps", "deployments,deployments/scale", "update")}); len(got) != 1 {
		t.Errorf("one resource: %q", got)
	}
	for n, want := range map[int]int{maxDescribed - 1: maxDescribed - 1, maxDescribed: maxDescribed, maxDescribed + 1: maxDescribed} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("things%d", i))
		}
		if got := MissingReads([]rbacv1.PolicyRule{to("example.com", strings.Join(names, ","), "update")}); len(got) != want {
			t.Errorf("%d resources: %q", n, got)
		}
	}
	var rules []rbacv1.PolicyRule
	for i := range v1alpha1.MaxRules {
		rule := rbacv1.PolicyRule{Verbs: []string{"update"}}
		for j := range v1alpha1.MaxRuleLength {
			rule.APIGroups, rule.Resources = append(rule.APIGroups, fmt.Sprintf("g%d-%d", i, j)), append(rule.Resources, fmt.Sprintf("r%d", j))
		}
		rules = append(rules, rule)
	}
	if got := MissingReads(rules); len(got) != 1 || got[0] != "too many resources to compare" {
		t.Errorf("too many resources: %q", got)
	}
}

// TestProblems checks which delegations have problems: only known ones that have conditions, or an ancestor that has
// some, and whose conditions can't be used or whose rules lack get.
func TestProblems(t *testing.T) {
	blind := to("apps", "deployments", "update")
	bomb := v1alpha1.DelegationCondition{Expression: `[1]` + strings.Repeat(`.map(a,{a:a})`, 22) + ` == []`}
	under := func(via v1alpha1.ChainVia, uid types.UID) []v1alpha1.ChainEntry {
		return []v1alpha1.ChainEntry{{Via: via, Name: "parent", UID: uid}}
	}
	for name, tc := range map[string]struct {
		conditions, ancestors []v1alpha1.DelegationCondition
		history               []v1alpha1.ChainEntry
		unknown               bool
		want                  []string
	}{
		"no conditions":                     {},
		"conditions":                        {conditions: []v1alpha1.DelegationCondition{{Expression: "true"}}, want: []string{"conditions need the verb get"}},
		"conditions that can't be used":     {conditions: []v1alpha1.DelegationCondition{bomb}, want: []string{"spec.conditions[0].expression: ", "conditions need the verb get"}},
		"not known yet":                     {unknown: true, conditions: []v1alpha1.DelegationCondition{{Expression: "true"}}},
		"an ancestor without conditions":    {history: under(v1alpha1.ViaDelegation, "parent")},
		"an ancestor with conditions":       {history: under(v1alpha1.ViaDelegation, "parent"), ancestors: []v1alpha1.DelegationCondition{{Expression: "true"}}, want: []string{"conditions need the verb get"}},
		"an ancestor that is not known":     {history: under(v1alpha1.ViaDelegation, "other"), ancestors: []v1alpha1.DelegationCondition{{Expression: "true"}}},
		"a token with the UID of an object": {history: under(v1alpha1.ViaToken, "parent"), ancestors: []v1alpha1.DelegationCondition{{Expression: "true"}}},
	} {
		x := NewIndex()
		parent, child := withConditions("parent", blind), withConditions("child", blind)
		parent.Spec.Conditions, child.Spec.Conditions, child.Status.History = tc.ancestors, tc.conditions, tc.history
		x.Observe(parent, false)
		if !tc.unknown {
			x.Observe(child, false)
		}
		got := x.Problems(child)
		unlocked(t, x)
		same := len(got) == len(tc.want)
		for i := range min(len(got), len(tc.want)) {
			same = same && strings.HasPrefix(got[i], tc.want[i])
		}
		if !same {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestObjectUIDsNeedNoGet checks that only verbs for single fields need get with objectUIDs.
func TestObjectUIDsNeedNoGet(t *testing.T) {
	d := toBot()
	d.Spec.ObjectUIDs = []types.UID{"a"}
	x := NewIndex()
	x.Observe(d, false)
	chain, refusal := x.Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "bot"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	for verb, want := range map[string]bool{"update": false, "delete": false, "granular": true, "granular:labels": true} {
		if got := chain.NeedsGet(authorizer.AttributesRecord{Verb: verb, ResourceRequest: true}); got != want {
			t.Errorf("%s: get is needed: %t, wanted %t", verb, got, want)
		}
	}
	if got := x.Problems(d); got != nil {
		t.Errorf("problems without conditions: %q", got)
	}
}

// TestExpressionsOfAncestors checks that a refusal does not contain an expression of an ancestor, which
// the caller possibly may not read.
//
// Attack: causing refusals to read the expressions of a delegation further up in the chain
// Answer: the refusal contains the message that its author wrote for it, or no text of the condition
func TestExpressionsOfAncestors(t *testing.T) {
	bot := &user.DefaultInfo{Name: "bot"}
	for name, tc := range map[string]struct {
		expression, message string
		onParent            bool
		says, hides         string
	}{
		"of an ancestor":               {"1 == 2", "", true, "a condition", "1 == 2"},
		"an ancestor's that is broken": {"nothing(", "", true, "can't be used", "compile"},
		"an ancestor's with a message": {"1 == 2", "only small ones", true, "only small ones", "1 == 2"},
		"of the selected one":          {"1 == 2", "", false, "1 == 2", "nothing to hide"},
	} {
		x := NewIndex()
		parent, child := withConditions("parent"), withConditions("child")
		changed, other := child, parent
		if tc.onParent {
			changed, other = parent, child
		}
		changed.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: tc.expression, Message: tc.message}}
		other.Spec.Conditions = nil
		child.Status.Delegator.Username = "bot"
		child.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, Name: "parent", UID: "parent"}}
		x.Observe(parent, false)
		x.Observe(child, false)
		chain, refusal := x.Chain(t.Context(), "child", "", bot)
		if refusal != nil {
			t.Fatalf("%s: %v", name, refusal)
		}
		got := chain.Commit(t.Context(), bot).Begin(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, nil)
		if got == nil || !strings.Contains(got.Message, tc.says) || strings.Contains(got.Message, tc.hides) {
			t.Errorf("%s: %v, wanted it to say %q and not %q", name, got, tc.says, tc.hides)
		}
	}
}
