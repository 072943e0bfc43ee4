// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"flag"
	"net/http"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

var (
	tenants     = flag.Int("tenants", 5000, "tenants that BenchmarkTenants makes")
	revocations = flag.Int("revocations", 200, "removals of a sudoer that it measures")
	mode        = flag.String("sudo", "Impersonation", "how sudoers use sudo in the measured cluster; Delegation takes a server that serves delegations")
)

// measured starts the cluster for a benchmark. It also returns the flags for the controller.
func measured(b *testing.B) (*cluster, []string) {
	b.Helper()
	folder, features, flags := "default", "GranularAuthorization=false", []string{"--sudo", *mode}
	if *mode == "Delegation" {
		folder, features, flags = "delegation", gates, append(flags, "--field-permissions")
	}
	return newCluster(b, folder, "--feature-gates", features), flags
}

// BenchmarkTenants measures the figures of docs/measurements/tenants.md: how long many tenants take
// until all are ready, how many requests a change costs, and how long a removed sudoer can still
// use sudo.
func BenchmarkTenants(b *testing.B) {
	c, flags := measured(b)
	address := freeAddress(b)
	start := func() *controller {
		return c.run(b, append(flags, "--metrics-address", address, "--leader-elect=false", "--discovery-every", "1h")...)
	}
	ready := func(count int) {
		for done := 0; done < count; {
			list := v1alpha1.LNamespaceList{}
			if err := c.client.List(b.Context(), &list); err != nil {
				b.Fatal(err)
			}
			done = 0
			for i := range list.Items {
				if condition := meta.FindStatusCondition(list.Items[i].Status.Conditions, v1alpha1.ConditionReady); condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == list.Items[i].Generation {
					done++
				}
			}
			if done < count {
				b.Logf("%s: %d of %d", time.Now().Format(time.TimeOnly), done, count)
				// Lists of all tenants are rare, because they load the server that is measured.
				time.Sleep(min(15*time.Second, time.Duration(count+1)*10*time.Millisecond))
			}
		}
	}
	k := start()
	one := full(*tenants)
	if err := c.client.Create(b.Context(), one); err != nil {
		b.Fatal(err)
	}
	ready(1)
	b.Log("with 1 tenant")
	for what, n := range changes(b, c, address, one.Name) {
		b.Logf("%s: %s", what, n)
	}
	revoke(b, c)
	now, most := resident(b, k.process.Process.Pid)
	b.Logf("memory: %d MiB, %d at most", now, most)
	if err := k.stop(); err != nil {
		b.Fatal(err)
	}

	began := time.Now()
	parallel(b, *tenants, func(i int) error { return c.client.Create(context.Background(), full(i)) })
	b.Logf("%d tenants created in %s", *tenants, time.Since(began).Round(time.Second))
	began = time.Now()
	k = start()
	ready(*tenants + 1)
	b.Logf("from empty: all are ready after %s", time.Since(began).Round(time.Second))
	quiet(b, address, *tenants)
	n := read(b, address)
	b.Logf("requests: %s; %.0f looks at tenants", n.since(numbers{}), n.reconciled)
	now, most = resident(b, k.process.Process.Pid)
	b.Logf("memory: %d MiB, %d at most", now, most)
	if err := k.stop(); err != nil {
		b.Fatal(err)
	}
	began = time.Now()
	k = start()
	quiet(b, address, *tenants+1)
	b.Logf("after a restart: all were looked at after %s", time.Since(began).Round(100*time.Millisecond))
	b.Logf("requests: %s", read(b, address).since(numbers{}))
	now, most = resident(b, k.process.Process.Pid)
	b.Logf("memory: %d MiB, %d at most", now, most)
	b.Logf("with %d tenants", *tenants+1)
	for what, n := range changes(b, c, address, one.Name) {
		b.Logf("%s: %s", what, n)
	}
	revoke(b, c)
}

// BenchmarkRevocation measures how long a removed sudoer can still use sudo, in a cluster with few
// tenants.
func BenchmarkRevocation(b *testing.B) {
	if *mode != "Delegation" {
		revoke(b, shared)
		return
	}
	c, flags := measured(b)
	c.run(b, flags...)
	revoke(b, c)
}

// revoke measures the time from the answer to the request that removes a sudoer until the first
// request of this sudoer is refused. The sudoer is a service account with its own token.
func revoke(b *testing.B, c *cluster) {
	b.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "revoked"}}
	if err := c.client.Create(b.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		b.Fatal(err)
	}
	core, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		b.Fatal(err)
	}
	token, err := core.CoreV1().ServiceAccounts("default").CreateToken(b.Context(), "revoked", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	lns := tenant("revocation")
	if err := c.client.Create(b.Context(), lns); err != nil && !apierrors.IsAlreadyExists(err) {
		b.Fatal(err)
	}
	me := v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: "default", Name: "revoked"}
	config := rest.AnonymousClientConfig(c.admin)
	config.QPS, config.BearerToken = -1, token.Status.Token
	// selected is the newest delegation for the sudoer, which each request selects.
	selected := &selection.SelectedAuthority{}
	if *mode == "Delegation" {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			next = transport.New(next)
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				return next.RoundTrip(req.WithContext(transport.With(req.Context(), selected)))
			})
		})
	} else {
		config.Impersonate = rest.ImpersonationConfig{UserName: names.SudoUser(lns.Name),
			Groups: []string{names.SudoGroup(lns.Name)}}
	}
	sudo, err := client.New(config, client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
	if err != nil {
		b.Fatal(err)
	}
	// granted waits until there is a delegation for the sudoer.
	granted := func() {
		for *mode == "Delegation" {
			if err := c.client.Get(b.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
				b.Fatal(err)
			}
			for _, d := range lns.Status.Delegations {
				if d.Subject == me && lns.Status.ObservedGeneration == lns.Generation {
					selected = &selection.SelectedAuthority{AuthorityReference: byName(d)}
					return
				}
			}
		}
	}
	// until repeats a request until it is allowed, or refused.
	until := func(allowed bool) {
		for {
			err := sudo.Get(b.Context(), client.ObjectKey{Namespace: lns.Name, Name: "none"}, &rbacv1.Role{})
			if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
				b.Fatal(err)
			}
			if apierrors.IsForbidden(err) != allowed {
				return
			}
		}
	}
	set := func(sudoers ...v1alpha1.Subject) {
		for {
			if err := c.client.Get(b.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
				b.Fatal(err)
			}
			lns.Spec.Sudoers = sudoers
			err := c.client.Update(b.Context(), lns)
			if err == nil {
				return
			}
			if !apierrors.IsConflict(err) {
				b.Fatal(err)
			}
		}
	}
	var times []time.Duration
	for range *revocations {
		set(me)
		granted()
		until(true)
		set()
		start := time.Now()
		until(false)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	at := func(percent int) time.Duration {
		return times[min(len(times)-1, len(times)*percent/100)].Round(100 * time.Microsecond)
	}
	b.Logf("%d removals, until the first refused request: 10%% %s, 50%% %s, 90%% %s, 99%% %s, at most %s", len(times), at(10), at(50), at(90), at(99), at(100))
}

// roundTripper is a function that sends requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
