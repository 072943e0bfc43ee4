// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kube-granular.dev/pkg/rbacindex"
)

// clusterOf returns RBAC as a server runs it, over informers. They hold the roles and bindings
// that every cluster has, one role binding of the user jane, and the given number of role
// bindings of other users.
func clusterOf(b *testing.B, others int, rules ...rbacv1.PolicyRule) *rbac.RBACAuthorizer {
	v1 := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Rbac().V1()
	add := func(informer cache.SharedIndexInformer, object any) {
		if err := informer.GetStore().Add(object); err != nil {
			b.Fatal(err)
		}
	}
	for _, role := range bootstrappolicy.ClusterRoles() {
		add(v1.ClusterRoles().Informer(), &role)
	}
	for _, binding := range bootstrappolicy.ClusterRoleBindings() {
		add(v1.ClusterRoleBindings().Informer(), &binding)
	}
	add(v1.Roles().Informer(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "things"},
		Rules:      rules,
	})
	for i := range 1 + others {
		name := "jane"
		if i > 0 {
			name = fmt.Sprintf("other-%d", i)
		}
		add(v1.RoleBindings().Informer(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "things"},
		})
	}
	return rbac.New(
		rbacindex.Listers{}.Roles(v1.Roles().Informer(), &rbac.RoleGetter{Lister: v1.Roles().Lister()}),
		rbacindex.Listers{}.Role(v1.RoleBindings().Informer(), &rbac.RoleBindingLister{Lister: v1.RoleBindings().Lister()}),
		rbacindex.Listers{}.ClusterRoles(v1.ClusterRoles().Informer(), &rbac.ClusterRoleGetter{Lister: v1.ClusterRoles().Lister()}),
		rbacindex.Listers{}.ClusterRole(v1.ClusterRoleBindings().Informer(), &rbac.ClusterRoleBindingLister{Lister: v1.ClusterRoleBindings().Lister()}),
	)
}

// BenchmarkSixteenRefused compares three ways to authorize: one check that is refused, as
// upstream does it; sixteen refused verbs that are looked up together in the caller's rules; and
// sixteen refused verbs that are checked one by one. It repeats this with more and more bindings.
// The three ways take turns in one loop, and the benchmark compares CPU time of the thread.
func BenchmarkSixteenRefused(b *testing.B) {
	var verbs []string
	for i := range 16 {
		verbs = append(verbs, fmt.Sprintf("granular:p%d", i))
	}
	a := attributes("patch")
	a.User = &user.DefaultInfo{Name: "jane", Groups: []string{user.AllAuthenticated}}
	for _, others := range []int{0, 9, 99, 999, 9999} {
		authorizer := clusterOf(b, others, rbacv1.PolicyRule{Verbs: []string{"granular", "get"}, APIGroups: []string{"example.com"}, Resources: []string{"things"}})
		sides := []struct {
			name   string
			rounds int
			run    func() (bool, error)
		}{
			{"one-check", 20, func() (bool, error) {
				decision, _, err := authorizer.Authorize(b.Context(), withVerb(a, verbs[0]))
				return decision == upstream.DecisionAllow, err
			}},
			{"together", 20, func() (bool, error) {
				asking, _ := rbacindex.ForSeveral(b.Context(), a)
				got, err := (&authorizerAdapter{authorizer: authorizer, attributes: a}).FirstAllowed(asking, verbs)
				return got >= 0, err
			}},
			{"one-by-one", 2, func() (bool, error) {
				asking, _ := rbacindex.ForSeveral(b.Context(), a)
				got, err := (&authorizerAdapter{authorizer: authorizer, attributes: a}).oneByOne(asking, verbs)
				return got >= 0, err
			}},
		}
		b.Run(fmt.Sprintf("bindings=%d", 1+others), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			spent := make([]time.Duration, len(sides))
			for b.Loop() {
				for i, side := range sides {
					start := threadCPU(b)
					for range side.rounds {
						if allowed, err := side.run(); allowed || err != nil {
							b.Fatal(allowed, err)
						}
					}
					spent[i] += (threadCPU(b) - start) / time.Duration(side.rounds)
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, side := range sides {
				b.ReportMetric(float64(spent[i].Nanoseconds())/float64(b.N), "ns/"+side.name)
				if i > 0 {
					b.ReportMetric(float64(spent[i])/float64(spent[0]), "x/"+side.name)
				}
			}
		})
	}
}

// onThread starts to measure the CPU time of the thread. The function that it returns ends the
// measurement and reports the time for one round. Unlike elapsed time, CPU time does not depend
// on how busy the machine is.
func onThread(b *testing.B) func() {
	runtime.LockOSThread()
	start := threadCPU(b)
	return func() {
		b.ReportMetric(float64((threadCPU(b)-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
		runtime.UnlockOSThread()
	}
}

func threadCPU(t testing.TB) time.Duration {
	ts := unix.Timespec{}
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
