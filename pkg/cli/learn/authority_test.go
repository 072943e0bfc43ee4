// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/roles"
)

// rulesOfUser returns the rules of a subject, in the format of rulesOf, or "none".
func rulesOfUser(t *testing.T, l *Learner, name string) string {
	t.Helper()
	for _, s := range l.Subjects() {
		if s.String() == name {
			return rulesOf(t, s, roles.Options{})
		}
	}
	return "none"
}

// TestLearnImpersonation holds that an impersonation is learned as what allowed it: with the verb of
// its constraint, for the names that were impersonated, and only for the requests that were made.
//
// Attack: a caller uses constrained impersonation, so that the role learned from the audit log allows
// impersonation without the constraint
// Answer: the role has the constraint
// Was: got through
func TestLearnImpersonation(t *testing.T) {
	as := func(constraint, user, more string) request {
		return request{verb: "list", user: "root", more: fmt.Sprintf(`,"authenticationMetadata":{"impersonationConstraint":%q},"impersonatedUser":{"username":%q%s}`, constraint, user, more)}
	}
	for name, tc := range map[string]struct {
		of   request
		want string
	}{
		"a user": {as("impersonate:user-info", "jane", `,"groups":["ops","system:authenticated"]`),
			"all namespaces groups ops: impersonate:user-info\nall namespaces users jane: impersonate:user-info\nshop things : impersonate-on:user-info:list"},
		"a service account": {as("impersonate:serviceaccount", "system:serviceaccount:ci:bot", `,"groups":["system:serviceaccounts","system:serviceaccounts:ci","system:authenticated"]`),
			"ci serviceaccounts bot: impersonate:serviceaccount\nshop things : impersonate-on:serviceaccount:list"},
		"a node": {as("impersonate:arbitrary-node", "system:node:n1", `,"groups":["system:nodes","system:authenticated"]`),
			"all namespaces nodes n1: impersonate:arbitrary-node\nshop things : impersonate-on:arbitrary-node:list"},
		"the own node": {as("impersonate:associated-node", "system:node:n1", `,"groups":["system:nodes","system:authenticated"]`),
			"all namespaces nodes *: impersonate:associated-node\nshop things : impersonate-on:associated-node:list"},
		"without a constraint": {as("", "jane", `,"groups":["system:authenticated"]`), "all namespaces users jane: impersonate"},
		"a UID and extra attributes": {as("", "jane", `,"uid":"u1","extra":{"scopes":["a","b"],"authority.kube-granular.dev/selected":["x"]}`),
			"all namespaces users jane: impersonate\nall namespaces uids u1: impersonate\nall namespaces userextras/scopes a,b: impersonate"},
		"a service account with a group": {as("", "system:serviceaccount:ci:bot", `,"groups":["system:serviceaccounts","ops"]`),
			"all namespaces groups ops: impersonate\nci serviceaccounts bot: impersonate"},
		"a name that is empty": {as("", "system:serviceaccount:ci:", ""), ""},
	} {
		if got := rulesOfUser(t, learnAll(t, Options{}, tc.of), "user:root"); got != tc.want {
			t.Errorf("%s:\n%s\nwanted\n%s", name, got, tc.want)
		}
	}
}

// TestImpersonationIsBounded holds that rules never allow impersonating anybody, however many users
// and namespaces were impersonated, and also with the option for all names.
func TestImpersonationIsBounded(t *testing.T) {
	var log []request
	for i := range MaxImpersonated + 50 {
		log = append(log, request{verb: "get", name: "a", user: "root", more: fmt.Sprintf(`,"impersonatedUser":{"username":"user-%d"}`, i)},
			request{verb: "get", name: "a", user: "root", namespace: fmt.Sprintf("n%d", i), more: fmt.Sprintf(`,"impersonatedUser":{"username":"system:serviceaccount:n%d:bot"}`, i)},
			request{verb: "get", name: "a", user: "root", namespace: fmt.Sprintf("n%d", i)})
	}
	for _, s := range learnAll(t, Options{}, log...).Subjects() {
		if s.String() != "user:root" {
			continue
		}
		grants, err := s.Grants(t.Context(), roles.Options{AnyName: true})
		if err != nil {
			t.Fatal(err)
		}
		users := 0
		for _, g := range grants {
			for _, r := range g.Rules {
				if len(r.ResourceNames) == 0 && strings.Contains(strings.Join(r.Verbs, " "), impersonate) || r.Resources[0] == "serviceaccounts" && len(g.Namespaces) == 0 {
					t.Errorf("%s: %v", g.Where(), r.PolicyRule)
				}
				if r.Resources[0] == "users" {
					users += len(r.ResourceNames)
				}
			}
		}
		if users != MaxImpersonated || s.NotImpersonated != 50 {
			t.Errorf("%d users, %d left out", users, s.NotImpersonated)
		}
		return
	}
	t.Error("nothing was learned")
}

// TestLearnDelegated holds that a request under a delegation is learned for the delegator, whose
// authority it used, and not for the delegate. A selected role is the caller's own authority.
//
// Attack: a delegate uses a delegation, so that the role learned from the audit log gives the right to the
// delegate itself
// Answer: the role of the delegate has nothing of it
// Was: got through
func TestLearnDelegated(t *testing.T) {
	selects := func(kind, chain string) string {
		namespace := map[string]string{"Role": `\"namespace\":\"shop\",`}[kind]
		out := fmt.Sprintf(`,"annotations":{"authority.kube-granular.dev/selected":"{\"authorityReference\":{\"kind\":\"%s\",%s\"name\":\"d\"}}"`, kind, namespace)
		if chain != "" {
			out += fmt.Sprintf(`,"authority.kube-granular.dev/chain":%q`, chain)
		}
		return out + "}"
	}
	const chain = `[{"via":"Delegation","by":"alice","name":"d"},{"via":"Delegation","by":"carol","name":"e"}]`
	for name, tc := range map[string]struct {
		more, bob, alice string
		delegated        int
	}{
		"own":                      {"", "shop things a: get", "none", 0},
		"under a delegation":       {selects("AuthorityDelegation", chain), "", "shop things a: get", 1},
		"with an impersonation":    {selects("AuthorityDelegation", `[{"via":"Impersonation","by":"root"},{"via":"Delegation","by":"alice"}]`), "", "shop things a: get", 1},
		"of a long name":           {selects("AuthorityDelegation", `[{"via":"Delegation","by":"alice..."}]`), "", "none", 1},
		"without a chain":          {selects("AuthorityDelegation", ""), "", "none", 1},
		"of a broken chain":        {selects("AuthorityDelegation", "["), "", "none", 1},
		"of a broken selection":    {`,"annotations":{"authority.kube-granular.dev/selected":"{"}`, "", "none", 1},
		"with a selected role":     {selects("Role", ""), "shop things a: get", "none", 0},
		"with a selected, cluster": {selects("ClusterRole", ""), "shop things a: get", "none", 0},
	} {
		l := learnAll(t, Options{}, request{verb: "get", name: "a", user: "bob", more: tc.more})
		if bob, alice := rulesOfUser(t, l, "user:bob"), rulesOfUser(t, l, "user:alice"); bob != tc.bob || alice != tc.alice {
			t.Errorf("%s: the delegate %q, the delegator %q", name, bob, alice)
		}
		for _, s := range l.Subjects() {
			if s.String() == "user:bob" && s.Delegated != tc.delegated || s.GroupsUnknown != (s.String() == "user:alice") {
				t.Errorf("%s: %s has %d delegated requests, groups unknown %t", name, s, s.Delegated, s.GroupsUnknown)
			}
		}
	}
}

// TestJudged holds what a log can show to be unused: verbs of requests, permissions and
// impersonation, and not verbs that the server asks for during other requests.
func TestJudged(t *testing.T) {
	rule := func(group, resources, verbs string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: strings.Split(group, " "), Resources: strings.Fields(resources), Verbs: strings.Fields(verbs)}
	}
	busy := learnAll(t, Options{}, request{verb: "get", name: "a"}, request{verb: "update", resource: "leases", name: "l", more: ""})
	silent := learnAll(t, Options{}, request{verb: "update", name: "a"})
	for _, tc := range []struct {
		of              *Learner
		rule            rbacv1.PolicyRule
		verbs, resource string
		left            int
	}{
		{busy, rule("*", "things", "get update granular granular:replicas deletecollection *"), "get update granular granular:replicas deletecollection *", "things", 0},
		{busy, rule("example.com", "things", "readmetadata"), "readmetadata", "things", 0},
		{silent, rule("example.com", "things", "readmetadata"), "", "", 0},
		{busy, rule("coordination.k8s.io", "leases things", "readmetadata"), "readmetadata", "things", 1},
		{busy, rule("rbac.authorization.k8s.io", "clusterroles", "bind escalate get"), "get", "clusterroles", 0},
		{busy, rule("certificates.k8s.io", "signers", "approve sign attest"), "", "", 0},
		{busy, rule("*", "things", "granular:protectedLabel(env) granular:protectedAnnotation(a) use sudo"), "", "", 0},
		{busy, rule("authentication.k8s.io", "users", "impersonate:user-info impersonate"), "impersonate", "users", 0},
		{busy, rule("example.com", "things", "impersonate-on:user-info:get impersonate"), "", "", 0},
		{busy, rule("authority.kube-granular.dev", "authoritydelegations", "delegate create"), "create", "authoritydelegations", 0},
		{busy, rule("coordination.k8s.io", "leases things", "get update"), "get update", "things", 1},
		{busy, rule("example.com", "leases", "get update"), "get update", "leases", 0},
		{busy, rule(" events.k8s.io", "events", "create"), "", "", 1},
		{silent, rule("*", "things", "get list watch * update"), "update", "things", 0},
	} {
		got, left := tc.of.Judged(tc.rule)
		resources := strings.Join(got.Resources, " ")
		if strings.Join(got.Verbs, " ") != tc.verbs || tc.verbs != "" && resources != tc.resource || len(left) != tc.left {
			t.Errorf("%v: judged %v on %s, left out %v", tc.rule, got.Verbs, resources, left)
		}
	}
	// The verb of a permission may have been used if the log does not show the fields.
	s := silent.Subjects()[0]
	for verb, used := range map[string]bool{"granular:replicas": true, "granular:protectedLabel(env)": false, "delete": false, "update": true} {
		if s.Used(t.Context(), rule("example.com", "things", verb), "", verb, "") != used {
			t.Errorf("%s: used is not %t", verb, used)
		}
	}
}

// TestUsedOf holds what was used of rules with *.
func TestUsedOf(t *testing.T) {
	s := learnAll(t, Options{}, request{verb: "get", name: "a"}, request{verb: "list", resource: "others", namespace: "other"},
		request{verb: "patch", name: "a", request: `{"spec":{"replicas":3}}`, response: thing(2, ``, `"replicas":3`)}).Subjects()[0]
	for _, tc := range []struct {
		rule            rbacv1.PolicyRule
		namespace, want string
	}{
		{rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}, "", "map[others.example.com:[list] things.example.com:[get patch]]"},
		{rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}, "shop", "map[things.example.com:[get patch]]"},
		{rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"*"}, Verbs: []string{"list", "watch"}}, "", "map[others.example.com:[list]]"},
		{rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"*"}, Verbs: []string{"*"}}, "", "map[]"},
		{rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"things"}, ResourceNames: []string{"b"}, Verbs: []string{"*"}}, "", "map[]"},
	} {
		if got := fmt.Sprint(s.UsedOf(t.Context(), tc.rule, tc.namespace)); got != tc.want {
			t.Errorf("%v in %q: %s, wanted %s", tc.rule, tc.namespace, got, tc.want)
		}
	}
}

// TestLearnAuthorized holds that a request which the server answers before it authorizes it is
// learned for nobody, and a request that fails later is.
//
// Attack: a caller without any rights sends requests that the server answers before it authorizes them: with 429 under load, or 500 if an authorizer fails; the role learned from the audit log has their verbs
// Answer: a request that failed counts only if the event says that the authorizer allowed it
// Was: got through
func TestLearnAuthorized(t *testing.T) {
	const used = "shop things a: get"
	for name, tc := range map[string]struct {
		code     int
		decision string
		want     string
	}{
		"succeeded":                           {200, "allow", used},
		"failed, allowed":                     {500, "allow", used},
		"a conflict, allowed":                 {409, "allow", used},
		"not found, allowed":                  {404, "allow", used},
		"too many requests, not authorized":   {429, "-", ""},
		"too many requests, of the resource":  {429, "allow", used},
		"an authorizer failed":                {500, "-", ""},
		"the selection of authority is wrong": {422, "-", ""},
		"a time-out, not authorized":          {504, "-", ""},
		"forbidden":                           {403, "forbid", ""},
		"forbidden by admission":              {403, "allow", ""},
		"succeeded, though it is forbidden":   {200, "forbid", ""},
		"succeeded, annotations were removed": {200, "-", used},
	} {
		l := learnAll(t, Options{}, request{verb: "get", name: "a", code: tc.code, decision: tc.decision})
		if got := rulesOfUser(t, l, "user:jane"); got != tc.want {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
	}
}

// TestLearnNoWildcards holds that a request about a resource with the name * is learned for nobody.
// In a rule, that name would stand for all resources. No server has such a resource.
//
// Attack: a caller reads the resource * or the group *, which the server answers with 404, so that the role learned from the audit log has a wildcard
// Answer: the role has nothing of it
// Was: got through
func TestLearnNoWildcards(t *testing.T) {
	group := `,"objectRef":{"resource":"things","namespace":"shop","name":"a","apiGroup":"*","apiVersion":"v1"}`
	for name, r := range map[string]request{
		"a resource":   {verb: "get", name: "a", resource: "*", code: 404},
		"a pattern":    {verb: "get", name: "a", resource: "*/scale", code: 404},
		"a group":      {verb: "get", name: "a", more: group, code: 404},
		"a verb":       {verb: "*", name: "a", code: 405},
		"impersonated": {verb: "get", name: "a", user: "root", resource: "*", code: 404, more: `,"impersonatedUser":{"username":"jane"},"authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"}`},
	} {
		l := learnAll(t, Options{}, r, request{verb: "list"})
		if got := rulesOfUser(t, l, "user:jane"); got != "shop things : list" {
			t.Errorf("%s: %q", name, got)
		}
		if got := rulesOfUser(t, l, "user:root"); strings.Contains(got, "*") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLearnPermissionVerbs holds that of the audit annotation, only verbs of permissions are learned.
//
// Attack: the audit annotation of the permissions that a request used has the verb *, or an ordinary verb
// Answer: the learned role has only the verbs of permissions
// Was: got through
func TestLearnPermissionVerbs(t *testing.T) {
	log := request{verb: "patch", name: "a", more: annotated(`granular:replicas * delete granular granular:*`)}
	if got := rulesOfUser(t, learnAll(t, Options{}, log), "user:jane"); got != "shop things a: granular granular:replicas" {
		t.Error(got)
	}
}

// TestLearnMetadata holds that a read which was answered with metadata alone is learned as the verb that
// allowed it, and never as one that reads data.
func TestLearnMetadata(t *testing.T) {
	const only = `,"annotations":{"granular.authorization.kube-granular.dev/metadata-only":"true","authorization.k8s.io/decision":"allow"}`
	log := []request{{verb: "list", user: "root", more: only}, {verb: "watch", user: "root", more: only}}
	if got, want := rulesOfUser(t, learnAll(t, Options{}, log...), "user:root"), "shop things : readmetadata"; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
	s := learnAll(t, Options{}, log...).Subjects()[0]
	for verb, used := range map[string]bool{"readmetadata": true, "get": false, "list": false, "watch": false, "*": true} {
		rule := rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{verb}}
		if got, _ := s.Unused(t.Context(), rule, ""); (len(got) == 0) != used {
			t.Errorf("%s is used: %t", verb, len(got) == 0)
		}
	}
}

// TestDecideMetadata holds which verbs of a role allow a read that was answered with metadata alone.
func TestDecideMetadata(t *testing.T) {
	var last *Demand
	log := request{verb: "list", user: "root", more: `,"annotations":{"granular.authorization.kube-granular.dev/metadata-only":"true","authorization.k8s.io/decision":"allow"}`}
	if err := New(newThings(t), Options{Each: func(_ context.Context, d *Demand) { last = d }}).Use(t.Context(), log.line(1)); err != nil {
		t.Fatal(err)
	}
	for held, want := range map[string]Outcome{"readmetadata": Allowed, "list": Allowed, "*": Allowed, "get watch": Refused, "": Refused, "granular:labels": Refused} {
		verdict, err := last.Decide(t.Context(), strings.Fields(held))
		if err != nil || verdict.Outcome != want || want == Refused && verdict.Ordinary != "readmetadata" {
			t.Errorf("%q: %+v, %v", held, verdict, err)
		}
	}
}
