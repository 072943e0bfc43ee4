// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

const example = `
faults:
- verbs: ["granular:label(slow.example.com)"]
  delay: 2s
- verbs: ["granular:label(broken.example.com)"]
  garbage: true
deny:
- resources: ["configmaps", "configmaps/*"]
  apiGroups: [""]
  namespaces: ["frozen*"]
  verbs: ["create", "update", "patch"]
  exceptGroups: ["thawers"]
  exceptUsers: ["thawer"]
  reason: the namespace is frozen
- users: ["banned"]
- paths: ["/metrics"]
  groups: ["curious"]
allow:
- users: ["ann"]
  groups: ["labellers"]
  verbs: ["granular", "granular:label(example.com)"]
  names: ["web", ""]
- paths: ["/debug/*"]
  verbs: ["get"]
`

func parsed(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asking returns a review for a ConfigMap. change, unless nil, modifies the review.
func asking(user, verb string, change func(*authorizationv1.SubjectAccessReviewSpec)) *authorizationv1.SubjectAccessReviewSpec {
	spec := &authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "configmaps",
			Namespace: "frozen-1", Name: "web"},
	}
	if change != nil {
		change(spec)
	}
	return spec
}

func TestDecide(t *testing.T) {
	p := parsed(t, example)
	path := func(of string) func(*authorizationv1.SubjectAccessReviewSpec) {
		return func(s *authorizationv1.SubjectAccessReviewSpec) {
			s.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: of, Verb: s.ResourceAttributes.Verb}
			s.ResourceAttributes = nil
		}
	}
	for _, tc := range []struct {
		name   string
		asked  *authorizationv1.SubjectAccessReviewSpec
		want   Decision
		reason string
	}{
		{"denied", asking("bob", "patch", nil), Deny, "the namespace is frozen"},
		{"another verb", asking("bob", "get", nil), NoOpinion, ""},
		{"another namespace",
			asking("bob", "patch", func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Namespace = "default" }),
			NoOpinion, ""},
		{"another group of the API",
			asking("bob", "patch", func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Group = "apps" }),
			NoOpinion, ""},
		{"another resource",
			asking("bob", "patch", func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Resource = "secrets" }),
			NoOpinion, ""},
		{"a subresource",
			asking("bob", "patch", func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Subresource = "status" }),
			Deny, "the namespace is frozen"},
		{"an excepted user", asking("thawer", "patch", nil), NoOpinion, ""},
		{"an excepted group",
			asking("bob", "patch", func(s *authorizationv1.SubjectAccessReviewSpec) { s.Groups = append(s.Groups, "thawers") }),
			NoOpinion, ""},
		{"all questions about a user", asking("banned", "list", nil), Deny, ""},
		{"allowed to a user", asking("ann", "granular:label(example.com)", nil), Allow, ""},
		{"allowed to a group",
			asking("bob", "granular", func(s *authorizationv1.SubjectAccessReviewSpec) { s.Groups = []string{"labellers"} }),
			Allow, ""},
		{"allowed without a name",
			asking("ann", "granular", func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Name = "" }),
			Allow, ""},
		{"another name",
			asking("ann", "granular", func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Name = "db" }),
			NoOpinion, ""},
		{"another parameter", asking("ann", "granular:label(example.org)", nil), NoOpinion, ""},
		{"deny comes before allow", asking("ann", "patch", nil), Deny, "the namespace is frozen"},
		{"a path", asking("bob", "get", path("/debug/pprof")), Allow, ""},
		{"another path", asking("bob", "get", path("/version")), NoOpinion, ""},
		{"a path to a group", asking("bob", "get", func(s *authorizationv1.SubjectAccessReviewSpec) {
			path("/metrics")(s)
			s.Groups = []string{"curious"}
		}), Deny, ""},
		{"nothing", &authorizationv1.SubjectAccessReviewSpec{User: "ann"}, NoOpinion, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := p.Decide(tc.asked)
			if got.Decision != tc.want || got.Reason != tc.reason || got.Fault != nil {
				t.Errorf("got %+v, wanted %s and %q", got, tc.want, tc.reason)
			}
			if s := got.Status(); s.Allowed != (tc.want == Allow) || s.Denied != (tc.want == Deny) || s.Reason != tc.reason {
				t.Errorf("as a review: %+v", s)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	p := parsed(t, example)
	if f := p.Decide(asking("ann", "granular:label(slow.example.com)", nil)).Fault; f == nil || f.Delay.Duration != 2*time.Second {
		t.Errorf("got %+v", f)
	}
	if f := p.Decide(asking("ann", "granular:label(broken.example.com)", nil)).Fault; f == nil || !f.Garbage {
		t.Errorf("got %+v", f)
	}
	if f := p.Decide(asking("ann", "granular:label(example.com)", nil)).Fault; f != nil {
		t.Errorf("got %+v", f)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"an unknown field":      {"denies: []", `unknown field "denies"`},
		"an unknown condition":  {"deny: [{user: ann}]", `unknown field "user"`},
		"a fault that is none":  {"faults: [{users: [ann]}]", "faults[0]: needs one of"},
		"two faults in one":     {"faults: [{garbage: true, status: 500}]", "faults[0]: at most one of"},
		"a status that is none": {"faults: [{status: 200}]", "faults[0].status: 200"},
		"a delay for ever":      {"faults: [{delay: 1h}]", "faults[0].delay"},
		"paths and objects":     {"allow: [{}, {paths: [/], names: [a]}]", "allow[1]: paths can't be combined"},
		"no YAML":               {"deny: [", "did not find expected"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestEmptyHasNoOpinion holds that a policy without rules answers no opinion to every review.
func TestEmptyHasNoOpinion(t *testing.T) {
	if got := parsed(t, "").Decide(asking("ann", "patch", nil)); got.Decision != NoOpinion || got.Fault != nil {
		t.Errorf("got %+v", got)
	}
}
