// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// roles holds roles and bindings in memory, for upstream's real RBAC authorizer.
type roles struct {
	clusterRoles    []*rbacv1.ClusterRole
	clusterBindings []*rbacv1.ClusterRoleBinding
	bindings        []*rbacv1.RoleBinding
}

func (r *roles) GetRole(context.Context, string, string) (*rbacv1.Role, error) {
	return nil, errors.New("there are no roles")
}

func (r *roles) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	for _, role := range r.clusterRoles {
		if role.Name == name {
			return role, nil
		}
	}
	return nil, errors.New("not found")
}

func (r *roles) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return r.clusterBindings, nil
}

func (r *roles) ListRoleBindings(context.Context, string) ([]*rbacv1.RoleBinding, error) {
	return r.bindings, nil
}

func (r *roles) authorizer() *rbac.RBACAuthorizer {
	return rbac.New(r, r, r, r)
}

func (r *roles) grant(subject string, rules ...rbacv1.PolicyRule) {
	name := fmt.Sprintf("role-%d", len(r.clusterRoles))
	r.clusterRoles = append(r.clusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: subject}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	if len(r.clusterRoles)%2 == 0 {
		r.clusterBindings = append(r.clusterBindings, &rbacv1.ClusterRoleBinding{Subjects: subjects, RoleRef: ref})
	} else {
		r.bindings = append(r.bindings, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n"}, Subjects: subjects, RoleRef: ref})
	}
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// TestBothWaysAgree checks, for random roles and requests, that the adapter finds the same
// allowed verb with the rules of the caller as when it asks RBAC about one verb at a time.
func TestBothWaysAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	verbs := []string{"granular:a", "granular:b", "granular:c(x)", "granular:c(y)", "*", "update"}
	groups := []string{"example.com", "other.com", "*", ""}
	resources := []string{"things", "things/status", "*/status", "*", "others"}
	names := [][]string{nil, {"t"}, {"u"}, {"t", "u"}, {""}}
	allowed := 0
	for range 5000 {
		r := &roles{}
		for range 1 + random.IntN(12) {
			r.grant(pick(random, []string{"jane", "jane", "joe"}), rbacv1.PolicyRule{
				Verbs:         []string{pick(random, verbs), pick(random, verbs)},
				APIGroups:     []string{pick(random, groups)},
				Resources:     []string{pick(random, resources)},
				ResourceNames: pick(random, names),
			})
		}
		a := attributes("patch")
		a.Subresource = pick(random, []string{"", "status", "scale"})
		a.Name = pick(random, []string{"t", "u", ""})
		a.Namespace = pick(random, []string{"n", ""})
		ask := []string{pick(random, verbs[:4]), pick(random, verbs[:4]), pick(random, verbs[:4])}
		already := random.IntN(2) * maxSingleQuestions // so many that the adapter reads the rules, or none

		together := &authorizerAdapter{authorizer: r.authorizer(), attributes: a, calls: already}
		got, err := together.FirstAllowed(context.Background(), ask)
		if err != nil {
			t.Fatal(err)
		}
		want, err := (&authorizerAdapter{authorizer: r.authorizer(), attributes: a}).oneByOne(context.Background(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("asked %q of %+v: from rules %d, one by one %d\n%+v", ask, a, got, want, r.clusterRoles)
		}
		if many := already > 0; together.complete != many || many && together.calls > already+2 || together.calls > already+maxSingleQuestions {
			t.Fatalf("%d calls after %d, complete: %t", together.calls-already, already, together.complete)
		}
		if got >= 0 {
			allowed++
		}
	}
	if allowed < 500 || allowed > 4500 {
		t.Errorf("%d of 5000 were allowed, the cases are lopsided", allowed)
	}
}

// enumerating is an authorizer that also returns rules of the caller, which may be incomplete or
// wrong.
type enumerating struct {
	grants
	rules      []string
	incomplete bool
	err        error
}

func (e *enumerating) RulesFor(context.Context, user.Info, string) ([]upstream.ResourceRuleInfo, []upstream.NonResourceRuleInfo, bool, error) {
	return []upstream.ResourceRuleInfo{&upstream.DefaultResourceRuleInfo{
		Verbs: e.rules, APIGroups: []string{"*"}, Resources: []string{"*"},
	}}, nil, e.incomplete, e.err
}

// TestRulesAreNoVerdict checks that only the authorizer's own decision allows a verb, whatever
// the rules of the caller say. It also checks that rules which may be incomplete refuse no verb.
func TestRulesAreNoVerdict(t *testing.T) {
	ask := []string{"granular:a", "granular:b", "granular:c", "granular:d"}
	root := attributes("patch")
	root.User = &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	tests := map[string]struct {
		enumerating
		attributes upstream.AttributesRecord
		want       int
		wantErr    bool
	}{
		"rules say more than the authorizer": {enumerating{rules: []string{"granular:a"}}, attributes("patch"),
			-1, false},
		"the authorizer denies what is ruled": {enumerating{rules: ask, grants: grants{deny: ask[:1], allow: ask[1:]}},
			attributes("patch"), 1, false},
		"the authorizer fails at what is ruled": {enumerating{rules: ask, grants: grants{fail: ask[:1]}},
			attributes("patch"), -1, true},
		"it fails, and allows a later verb": {enumerating{rules: ask, grants: grants{fail: ask[:1], allow: ask[1:]}},
			attributes("patch"), 1, true},
		"incomplete rules": {enumerating{incomplete: true, grants: grants{allow: ask[1:]}},
			attributes("patch"), 1, false},
		"rules with an error": {enumerating{err: errors.New("no"), grants: grants{allow: ask[1:]}},
			attributes("patch"), 1, false},
		"a privileged caller": {enumerating{grants: grants{allow: ask[1:]}}, root, 1, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := (&authorizerAdapter{authorizer: &tc.enumerating, attributes: tc.attributes}).FirstAllowed(context.Background(), ask)
			if (err != nil) != tc.wantErr {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %d, wanted %d", got, tc.want)
			}
		})
	}
}

// erring is an authorizer that returns the given decision for each verb, together with an error
// if fails has one.
type erring struct {
	upstream.Authorizer
	says  map[string]upstream.Decision
	fails map[string]error
	asked *[]string
}

var errErring, errLater = errors.New("out of order"), errors.New("out of order as well")

func (e erring) Authorize(_ context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	*e.asked = append(*e.asked, a.GetVerb())
	return e.says[a.GetVerb()], "", e.fails[a.GetVerb()]
}

// TestAnswersWithErrors checks that the adapter ignores an error that comes with Allow, as
// upstream's filter does. With any other decision, an error allows nothing, later verbs are still
// checked, and the first error is returned.
func TestAnswersWithErrors(t *testing.T) {
	const a, b, c = "granular:a", "granular:b", "granular:c"
	verbs := []string{a, b, c}
	allow, deny, nothing := upstream.DecisionAllow, upstream.DecisionDeny, upstream.DecisionNoOpinion
	all := map[string]error{a: errErring, b: errLater, c: errLater}
	type says = map[string]upstream.Decision
	for name, tc := range map[string]struct {
		says  says
		fails map[string]error
		first int
		err   error
		asked int
	}{
		"allow":                        {says{a: allow}, all, 0, nil, 1},
		"no opinion":                   {says{a: nothing, b: nothing, c: nothing}, all, -1, errErring, 3},
		"no opinion, then allow":       {says{a: nothing, b: allow}, all, 1, errErring, 2},
		"deny, then allow":             {says{a: deny, b: allow}, all, 1, errErring, 2},
		"deny":                         {says{a: deny, b: deny, c: deny}, all, -1, errErring, 3},
		"no such decision, then allow": {says{a: upstream.Decision(9), b: allow}, all, 1, errErring, 2},
		"refused, fails, allow": {says{a: nothing, b: nothing, c: allow}, map[string]error{b: errLater}, 2,
			errLater, 3},
		"refused, then fails": {says{a: nothing, b: nothing, c: nothing}, map[string]error{c: errLater},
			-1, errLater, 3},
		"nothing fails": {says{a: nothing, b: allow}, nil, 1, nil, 2},
	} {
		var asked []string
		attributes := attributes("update")
		erring := erring{says: tc.says, fails: tc.fails, asked: &asked}
		p := &authorizerAdapter{authorizer: erring, attributes: &attributes}
		if first, err := p.FirstAllowed(t.Context(), verbs); first != tc.first || err != tc.err {
			t.Errorf("%s: %d, %v", name, first, err)
		}
		if len(asked) != tc.asked || p.calls != tc.asked {
			t.Errorf("%s: asked %q, %d calls", name, asked, p.calls)
		}
		if readable, _ := allows(t.Context(), erring, &attributes, a); readable != (tc.first == 0) {
			t.Errorf("%s: allowed is %t", name, readable)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	var asked []string
	attributes := attributes("update")
	p := &authorizerAdapter{authorizer: erring{says: says{b: allow}, fails: all, asked: &asked},
		attributes: &attributes}
	if first, err := p.FirstAllowed(ended, verbs); first != -1 || err != errErring || len(asked) != 1 {
		t.Errorf("after the end of the request: %d, %v, asked %q", first, err, asked)
	}
	// A decision without an error counts even if the request has ended.
	p = &authorizerAdapter{authorizer: erring{says: says{b: allow}, asked: &asked}, attributes: &attributes}
	if first, err := p.FirstAllowed(ended, verbs); first != 1 || err != nil {
		t.Errorf("after the end of the request, without a failure: %d, %v", first, err)
	}
}
