// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"

	"kube-granular.dev/granular/permission"
)

// documentedExpressions returns the CEL expressions that authorizers.md shows, by file name
// without .cel.
func documentedExpressions(t *testing.T) map[string]string {
	t.Helper()
	steps, err := parse(read(t, "authorizers.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range steps {
		if name, ok := strings.CutSuffix(s.file, ".cel"); ok {
			out[name] = strings.TrimSpace(s.content)
		}
	}
	return out
}

// TestExpressions checks that the CEL expressions in authorizers.md parse granular verbs as the
// library does.
func TestExpressions(t *testing.T) {
	expressions := documentedExpressions(t)
	compiler := authorizationcel.NewDefaultCompiler()
	// is reports whether an expression evaluates to a value in an access review with the given
	// verb.
	is := func(name, verb string, value any) bool {
		t.Helper()
		expression := expressions[name]
		if expression == "" {
			t.Fatalf("there is no expression %q", name)
		}
		condition := fmt.Sprintf("(%s) == %#v", expression, value)
		matcher, errs := validation.ValidateAndCompileMatchConditions(compiler, []apiserverapi.WebhookMatchCondition{{Expression: condition}})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		got, err := matcher.Eval(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "ann", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "deployments"},
		}})
		if err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
		return got
	}
	verbs := []permission.Verb{}
	for _, name := range []string{"labels", "label", "example.com/nodePool", "podTemplateImage"} {
		for _, parameter := range []string{"example.com", "a b", "(", ")", "a(b)c", "%", "ä", "granular:x", "'"} {
			verbs = append(verbs, permission.Verb{Permission: name}, permission.Verb{Permission: name, Parameter: parameter, Parameterized: true})
		}
	}
	for _, v := range verbs {
		verb := v.String()
		parameter := ""
		if v.Parameterized {
			_, parameter, _ = strings.Cut(strings.TrimSuffix(verb, ")"), "(")
		}
		if back, err := permission.Parse(verb); err != nil || back != v {
			t.Fatalf("%s: %v", verb, err)
		}
		if !is("granular", verb, true) || !is("permission", verb, v.Permission) || !is("parameter", verb, parameter) || !is("write", verb, false) {
			t.Errorf("%s is read as something else", verb)
		}
	}
	if !is("granular", "granular", true) || !is("permission", "granular", "") || !is("parameter", "granular", "") {
		t.Error("granular is read as something else")
	}
	for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection", "get", "granulars", "impersonate-on:user-info:patch", "", "*"} {
		write := strings.Contains("create update patch delete deletecollection", verb) && verb != ""
		if !is("granular", verb, false) || !is("permission", verb, "") || !is("parameter", verb, "") || !is("write", verb, write) {
			t.Errorf("%q is read as something else", verb)
		}
	}
}
