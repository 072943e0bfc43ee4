// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/authorization/metrics"
	"k8s.io/apiserver/pkg/authorization/union"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	utiltrace "k8s.io/utils/trace"
)

// podTarget returns the target of pods as a server has it.
func podTarget(t testing.TB) granular.Target {
	t.Helper()
	return endpoint(t, corev1.SchemeGroupVersion.WithKind("Pod"), "pods")
}

// configured returns RBAC in a chain of authorizers, as a server has it.
func configured(b *testing.B, roles *rbac.RBACAuthorizer) upstream.Authorizer {
	chain, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "privileged",
			Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "rbac",
			Authorizer: metrics.InstrumentedAuthorizer("RBAC", "rbac", roles)},
	)
	if err != nil {
		b.Fatal(err)
	}
	return struct {
		upstream.Authorizer
		upstream.RuleResolver
	}{chain, union.NewRuleResolvers(roles)}
}

// pod returns a pod with three containers of ten environment variables each, and with one label
// of the given value.
func pod(b *testing.B, label string) apiruntime.Object {
	p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1", ServiceAccountName: "web"}}
	p.Name, p.Namespace, p.UID = "p", "n", "1"
	p.Labels = map[string]string{"super.safe.com/label": label}
	for i := range 5 {
		p.Labels[fmt.Sprintf("example.com/l%d", i)] = "v"
	}
	for i := range 3 {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "registry.example.com/app:v1"}
		for j := range 10 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VAR_%d", j), Value: fmt.Sprintf("value %d", j)})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	legacyscheme.Scheme.Default(p)
	out := &core.Pod{}
	if err := legacyscheme.Scheme.Convert(p, out, nil); err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkGranularPod measures all steps of a granular request that changes one label of a pod,
// including RBAC. The sum leaves out the step "filter", the check of the ordinary verb, because
// an ordinary request has it too. With cold=true, the processor's nearest two caches are emptied
// before the steps, as the other work of a request would empty them.
func BenchmarkGranularPod(b *testing.B) {
	for _, others := range []int{0, 999} {
		roles := clusterOf(b, others, rbacv1.PolicyRule{Verbs: []string{"granular", "granular:label(super.safe.com)", "get"}, APIGroups: []string{""}, Resources: []string{"pods"}})
		gate := New(configured(b, roles))
		a := attributes("update")
		a.User = &user.DefaultInfo{Name: "jane", Groups: []string{user.AllAuthenticated}}
		a.APIGroup, a.APIVersion, a.Resource, a.Namespace, a.Name = "", "v1", "pods", "n", "p"
		of := podTarget(b)
		for _, cold := range []bool{false, true} {
			b.Run(fmt.Sprintf("bindings=%d/cold=%t", 1+others, cold), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				old, changed := pod(b, "a"), pod(b, "b")
				steps := []string{"filter", "granular", "observe", "verify", "respond"}
				spent := make([]time.Duration, len(steps))
				b.ReportAllocs()
				for b.Loop() {
					ctx := utiltrace.ContextWithTrace(requestContext("update"), utiltrace.New("Update"))
					ctx = apirequest.WithRequestInfo(ctx, &apirequest.RequestInfo{IsResourceRequest: true, Verb: "update", APIVersion: "v1", Resource: "pods", Namespace: "n", Name: "p"})
					ctx = apirequest.WithUser(ctx, a.User)
					var w granular.Write
					for i, step := range []func(){
						func() {
							if decision, _, err := gate.Authorize(ctx, &a); decision != upstream.DecisionNoOpinion || err != nil {
								b.Fatal(decision, err)
							}
						},
						func() {
							var err error
							if ctx, _, _, err = gate.Fallback(ctx, &a); err != nil {
								b.Fatal(err)
							}
						},
						func() {
							w = gate.Begin(ctx, of)
							if err := w.Observe(ctx, changed, old); err != nil {
								b.Fatal(err)
							}
						},
						func() {
							if err := w.Verify(ctx, changed, old); err != nil {
								b.Fatal(err)
							}
						},
						func() {
							if w.Respond(ctx, changed) != changed {
								b.Fatal("not shown")
							}
						},
					} {
						if cold && steps[i] != "granular" { // "granular" directly follows "filter", so the caches stay
							evict()
						}
						start := threadCPU(b)
						step()
						spent[i] += threadCPU(b) - start
					}
				}
				b.ReportMetric(0, "ns/op")
				all := time.Duration(0)
				for i, step := range steps {
					if step != "filter" {
						all += spent[i]
					}
					b.ReportMetric(float64(spent[i].Nanoseconds())/float64(b.N), "ns/"+step)
				}
				b.ReportMetric(float64(all.Nanoseconds())/float64(b.N), "ns/all")
			})
		}
	}
}

var ballast = make([]byte, 8<<20)

// evict replaces the content of the processor's nearest caches.
func evict() {
	for i := 0; i < len(ballast); i += 64 {
		ballast[i]++
	}
}
