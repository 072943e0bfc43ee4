// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	core "k8s.io/kubernetes/pkg/apis/core"

	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"

	"kube-granular.dev/api/authority/v1alpha1"
)

// chainUnder returns the chain of a new delegation with one condition.
func chainUnder(t *testing.T, expression string, change ...func(*v1alpha1.AuthorityDelegation)) *Chain {
	t.Helper()
	x, d := NewIndex(), toBot()
	if expression != "" {
		d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: expression, APIVersions: []string{"example.com/v1"}}}
	}
	for _, f := range change {
		f(d)
	}
	x.Observe(d, false)
	chain, refusal := x.Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "bot"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return chain
}

func custom(version string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": "Thing", "metadata": map[string]any{"uid": "x"}, "spec": spec}}
}

// TestStoredBombs checks that a stored condition passes the bounds of new ones before it is compiled:
// otherwise the delegation refuses, and its status can say why.
//
// Attack: a condition that an older server accepted, whose type check never ends, on each server after each start
// Answer: 403 in milliseconds, and the status of the delegation says why
func TestStoredBombs(t *testing.T) {
	chain := chainUnder(t, `[1]`+strings.Repeat(`.map(a,{a:a})`, 22)+` == []`)
	for range 2 {
		refusal := chain.verify(t.Context(), custom("example.com/v1", nil), nil)
		if refusal == nil || !strings.Contains(refusal.Message, "has a condition that can't be used: conditions[0]: has a map with a computed key") {
			t.Fatalf("refusal: %v", refusal)
		}
	}
	if got := chain.Leaf().ConditionProblem(); !strings.Contains(got, "spec.conditions[0].expression: has a map with a computed key") {
		t.Errorf("problem: %q", got)
	}
	twin := chainUnder(t, `[1].map(a, [a]) == [[1]]`)
	if refusal := twin.verify(t.Context(), custom("example.com/v1", nil), nil); refusal != nil {
		t.Error(refusal)
	}
	if got := twin.Leaf().ConditionProblem(); got != "" {
		t.Errorf("problem of the twin: %q", got)
	}
}

// TestBusyLane checks that a compilation that takes long delays no compiled condition, and that a
// request that waits for it ends with its context. A later request compiles the conditions.
func TestBusyLane(t *testing.T) {
	compiled, waiting := chainUnder(t, "object.spec.a == 1"), chainUnder(t, "object.spec.a == 1")
	object := custom("example.com/v1", map[string]any{"a": int64(1)})
	if refusal := compiled.verify(t.Context(), object, nil); refusal != nil {
		t.Fatal(refusal)
	}
	if err := storedLane.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if refusal := compiled.verify(t.Context(), object, nil); refusal != nil {
		t.Errorf("a compiled condition: %v", refusal)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client has left"))
	if refusal := waiting.verify(ctx, object, nil); refusal == nil || !strings.Contains(refusal.Message, "the client has left") {
		t.Errorf("a waiting request: %v", refusal)
	}
	if err := Compile(t.Context(), "true"); err != nil {
		t.Errorf("a new condition waits for a stored one: %v", err)
	}
	storedLane.Leave()
	if refusal := waiting.verify(t.Context(), object, nil); refusal != nil {
		t.Errorf("later: %v", refusal)
	}
}

// TestTemplateHashes checks which objects have a pod template, and that a condition fails if it
// compares the templates of objects without one: two templates that do not exist are not equal.
//
// Attack: a condition that keeps the pod template, on a CronJob, a Pod or a custom resource, whose template is elsewhere or missing
// Answer: 403
// Was: got through
func TestTemplateHashes(t *testing.T) {
	image := func(name string) core.PodTemplateSpec {
		return core.PodTemplateSpec{Spec: core.PodSpec{Containers: []core.Container{{Name: "c", Image: name}}}}
	}
	meta := metav1.ObjectMeta{Name: "web", UID: "x"}
	deployment := func(name string) runtime.Object {
		return &apps.Deployment{ObjectMeta: meta, Spec: apps.DeploymentSpec{Template: image(name)}}
	}
	cronJob := func(name string) runtime.Object {
		return &batch.CronJob{ObjectMeta: meta, Spec: batch.CronJobSpec{JobTemplate: batch.JobTemplateSpec{Spec: batch.JobSpec{Template: image(name)}}}}
	}
	pod := func(name string) runtime.Object { return &core.Pod{ObjectMeta: meta, Spec: image(name).Spec} }
	template := func(name string) map[string]any { return map[string]any{"spec": map[string]any{"image": name}} }
	thing := func(name string) runtime.Object {
		return custom("example.com/v1", map[string]any{"template": template(name)})
	}
	both := func(name string) runtime.Object {
		return custom("example.com/v1", map[string]any{"template": template("a"), "jobTemplate": map[string]any{"spec": map[string]any{"template": template(name)}}})
	}
	none := func(string) runtime.Object { return custom("example.com/v1", map[string]any{"a": int64(1)}) }
	null := func(string) runtime.Object { return custom("example.com/v1", map[string]any{"template": nil}) }
	const same, onlyNew = "podTemplateHash == oldPodTemplateHash", "oldObject == null || podTemplateHash == oldPodTemplateHash"
	for _, tc := range []struct {
		name, expression string
		object, old      runtime.Object
		want             string // in the refusal, or "" if there is none
	}{
		{"deployment", same, deployment("a"), deployment("a"), ""},
		{"other deployment", same, deployment("b"), deployment("a"), "the condition"},
		{"cron job", same, cronJob("a"), cronJob("a"), ""},
		{"other cron job", same, cronJob("b"), cronJob("a"), "the condition"},
		{"pod", same, pod("a"), pod("a"), "has no pod template"},
		{"other pod", same, pod("b"), pod("a"), "has no pod template"},
		{"custom resource", same, thing("a"), thing("a"), ""},
		{"other custom resource", same, thing("b"), thing("a"), "the condition"},
		{"no template", same, none(""), none(""), "has no pod template"},
		{"null as template", same, null(""), null(""), "has no pod template"},
		{"two templates", same, both("a"), both("a"), "has two pod templates"},
		{"a template more", same, both("b"), thing("a"), "has two pod templates"},
		{"a template less", same, none(""), thing("a"), "has no pod template"},
		{"created", same, deployment("a"), nil, "has no pod template"},
		{"created, if old", onlyNew, deployment("a"), nil, ""},
		{"created pod, if old", onlyNew, pod("a"), nil, ""},
		{"empty hashes", "podTemplateHash == '' || oldPodTemplateHash == ''", pod("a"), pod("a"), "has no pod template"},
		{"different hashes", "podTemplateHash != oldPodTemplateHash", none(""), none(""), "has no pod template"},
		{"a hash in a list", "podTemplateHash in ['', oldPodTemplateHash]", pod("a"), pod("a"), "has no pod template"},
		{"not used", "object.spec.a == 1", none(""), none(""), ""},
		{"absent fields", "object.spec.b == oldObject.spec.b", none(""), none(""), "the expression failed"},
		{"fields of null", "oldObject.spec == null", none(""), nil, "the expression failed"},
	} {
		refusal := chainUnder(t, tc.expression).verify(t.Context(), tc.object, tc.old)
		switch {
		case tc.want == "" && refusal != nil:
			t.Errorf("%s: %v", tc.name, refusal)
		case tc.want != "" && (refusal == nil || !strings.Contains(refusal.Message, tc.want)):
			t.Errorf("%s: got %v, want %q", tc.name, refusal, tc.want)
		}
	}
}

// TestVersionsOfConditions checks that a condition of custom resources is evaluated only on objects in
// the versions for which it was written, the old object as well as the new one.
func TestVersionsOfConditions(t *testing.T) {
	v1, v2 := custom("example.com/v1", map[string]any{"a": int64(1)}), custom("example.com/v2", map[string]any{"a": int64(1)})
	for _, tc := range []struct {
		name        string
		object, old runtime.Object
		refused     bool
	}{
		{"both", v1, v1, false},
		{"created", v1, nil, false},
		{"the new one", v2, v1, true},
		{"the old one", v1, v2, true},
		{"created in another", v2, nil, true},
		{"built in", &core.Pod{ObjectMeta: metav1.ObjectMeta{UID: "x"}}, &core.Pod{ObjectMeta: metav1.ObjectMeta{UID: "x"}}, false},
	} {
		refusal := chainUnder(t, "true").verify(t.Context(), tc.object, tc.old)
		if (refusal != nil) != tc.refused || tc.refused && !strings.Contains(refusal.Message, "apiVersions does not include example.com/v2") {
			t.Errorf("%s: %v", tc.name, refusal)
		}
	}
}

// TestOnlyWhatIsStored checks that a delegation with conditions covers no request whose object is not
// stored, although its rules do, because no condition could be evaluated on it. Without conditions,
// the same rules cover the request.
//
// Attack: reviews, bindings, evictions and tokens under a delegation with a condition
// Answer: 403
func TestOnlyWhatIsStored(t *testing.T) {
	all := func(d *v1alpha1.AuthorityDelegation) {
		d.Status.Rules = []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
	}
	for _, tc := range []struct {
		group, resource, subresource string
		stored                       bool
	}{
		{"authentication.k8s.io", "tokenreviews", "", false},
		{"authentication.k8s.io", "selfsubjectreviews", "", false},
		{"authorization.k8s.io", "subjectaccessreviews", "", false},
		{"authorization.k8s.io", "localsubjectaccessreviews", "", false},
		{"", "bindings", "", false},
		{"", "pods", "binding", false},
		{"", "pods", "eviction", false},
		{"", "pods", "exec", false},
		{"", "serviceaccounts", "token", false},
		{"", "pods", "", true},
		{"apps", "deployments", "", true},
		{"apps", "deployments", "scale", true},
		{"example.com", "tokenreviews", "", true},
	} {
		request := authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "bot"}, Verb: "create", APIGroup: tc.group, APIVersion: "v1", Resource: tc.resource, Subresource: tc.subresource, ResourceRequest: true,
		}
		if refusal := chainUnder(t, "true", all).CheckCovers(request, true); (refusal == nil) != tc.stored {
			t.Errorf("%s/%s/%s under a condition: %v", tc.group, tc.resource, tc.subresource, refusal)
		}
		if refusal := chainUnder(t, "", all).CheckCovers(request, true); refusal != nil {
			t.Errorf("%s/%s/%s without a condition: %v", tc.group, tc.resource, tc.subresource, refusal)
		}
	}
}

// TestChainBudget checks that the conditions of a chain share one budget.
func TestChainBudget(t *testing.T) {
	const some = "lists.range(150000).size() == 150000"
	chain := chainUnder(t, some, func(d *v1alpha1.AuthorityDelegation) {
		for range 7 {
			d.Spec.Conditions = append(d.Spec.Conditions, d.Spec.Conditions[0])
		}
	})
	if refusal := chain.verify(t.Context(), custom("example.com/v1", nil), nil); refusal == nil || !strings.Contains(refusal.Message, "cost limit") {
		t.Errorf("refusal: %v", refusal)
	}
	if refusal := chainUnder(t, some).verify(t.Context(), custom("example.com/v1", nil), nil); refusal != nil {
		t.Error(refusal)
	}
}
