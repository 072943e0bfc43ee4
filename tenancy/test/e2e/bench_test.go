// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
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

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

var (
	tenants     = flag.Int("tenants", 5000, "tenants that BenchmarkTenants makes")
	revocations = flag.Int("revocations", 200, "removals of a sudoer that it measures")
)

// full returns a tenant with twenty names, of people who are in other tenants, too.
func full(i int) *v1alpha1.LNamespace {
	lns := tenant(fmt.Sprintf("bench-%05d", i))
	people := func(of string, count, all int) []v1alpha1.Subject {
		var list []v1alpha1.Subject
		for k := range count {
			list = append(list, user(fmt.Sprintf("%s-%d", of, (i*count+k)%all)))
		}
		return list
	}
	lns.Spec.Users, lns.Spec.Managers, lns.Spec.Sudoers = people("user", 12, 6000), people("manager", 4, 2000), people("sudoer", 4, 2000)
	return lns
}

// parallel calls f for the numbers below count.
func parallel(b *testing.B, count int, f func(i int) error) {
	b.Helper()
	next, failed := make(chan int), make(chan error, count)
	workers := sync.WaitGroup{}
	for range 8 {
		workers.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	workers.Wait()
	if len(failed) > 0 {
		b.Fatal(<-failed)
	}
}

// numbers are what a controller says of itself.
type numbers struct {
	// calls counts requests to the API server by method.
	calls map[string]float64
	// queued is how much waits, reconciled how many tenants were looked at.
	queued, reconciled float64
}

func read(b *testing.B, address string) numbers {
	b.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	n := numbers{calls: map[string]float64{}}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		name, rest, _ := strings.Cut(line, "{")
		at := strings.LastIndex(line, " ")
		if at < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			continue
		}
		switch name {
		case "rest_client_requests_total":
			_, method, _ := strings.Cut(rest, `method="`)
			method, _, _ = strings.Cut(method, `"`)
			n.calls[method] += value
		case "workqueue_depth":
			n.queued += value
		case "controller_runtime_reconcile_total":
			if strings.Contains(rest, `controller="tenant"`) {
				n.reconciled += value
			}
		}
	}
	return n
}

// since returns the requests since then as text.
func (n numbers) since(then numbers) string {
	var words []string
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if d := n.calls[method] - then.calls[method]; d != 0 {
			words = append(words, fmt.Sprintf("%s %.0f", method, d))
		}
	}
	return strings.Join(words, ", ")
}

// resident returns how much memory a process has, now and at most, in MiB.
func resident(b *testing.B, pid int) (now, most int) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		for name, to := range map[string]*int{"VmRSS:": &now, "VmHWM:": &most} {
			if value, ok := strings.CutPrefix(line, name); ok {
				kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
				if err != nil {
					b.Fatal(err)
				}
				*to = kib / 1024
			}
		}
	}
	return now, most
}

// BenchmarkTenants measures what docs/measurements/tenants.md has: how long many tenants take to
// converge, what a change costs, and how long a sudoer can go on who was removed.
func BenchmarkTenants(b *testing.B) {
	c, err := startCluster("default", "--feature-gates", "GranularAuthorization=false")
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := c.stop(); err != nil {
			b.Error(err)
		}
	}()
	address, err := freeAddress()
	if err != nil {
		b.Fatal(err)
	}
	start := func() *controller {
		k, err := c.startController("--metrics-address", address, "--leader-elect=false", "--discovery-every", "1h")
		if err != nil {
			b.Fatal(err)
		}
		return k
	}
	// quiet waits until nothing is queued and count tenants were looked at.
	quiet := func(count int) {
		for settled := 0; settled < 3; {
			n := read(b, address)
			if settled++; n.queued > 0 || n.reconciled < float64(count) {
				settled = 0
			}
			time.Sleep(50 * time.Millisecond)
		}
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
				time.Sleep(time.Second)
			}
		}
	}
	// change counts the requests for three changes of a tenant.
	change := func(name string) {
		quiet(0)
		for _, step := range []struct {
			what string
			do   func(s *v1alpha1.LNamespaceSpec)
		}{
			{"a user is added", func(s *v1alpha1.LNamespaceSpec) { s.Users = append(s.Users, user("new")) }},
			{"a sudoer is added", func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = append(s.Sudoers, user("new")) }},
			{"that sudoer is removed", func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[:len(s.Sudoers)-1] }},
		} {
			lns := &v1alpha1.LNamespace{}
			if err := c.client.Get(b.Context(), client.ObjectKey{Name: name}, lns); err != nil {
				b.Fatal(err)
			}
			then := read(b, address)
			before := lns.DeepCopy()
			step.do(&lns.Spec)
			if err := c.client.Patch(b.Context(), lns, client.MergeFrom(before)); err != nil {
				b.Fatal(err)
			}
			for {
				if err := c.client.Get(b.Context(), client.ObjectKey{Name: name}, lns); err != nil {
					b.Fatal(err)
				}
				if lns.Status.ObservedGeneration == lns.Generation {
					break
				}
			}
			quiet(0)
			b.Logf("%s: %s", step.what, read(b, address).since(then))
		}
	}

	k := start()
	one := full(*tenants)
	if err := c.client.Create(b.Context(), one); err != nil {
		b.Fatal(err)
	}
	ready(1)
	b.Log("with 1 tenant")
	change(one.Name)
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
	quiet(*tenants)
	n := read(b, address)
	b.Logf("requests: %s; %.0f looks at tenants", n.since(numbers{}), n.reconciled)
	now, most = resident(b, k.process.Process.Pid)
	b.Logf("memory: %d MiB, %d at most", now, most)
	if err := k.stop(); err != nil {
		b.Fatal(err)
	}
	began = time.Now()
	k = start()
	quiet(*tenants + 1)
	b.Logf("after a restart: all were looked at after %s", time.Since(began).Round(100*time.Millisecond))
	b.Logf("requests: %s", read(b, address).since(numbers{}))
	now, most = resident(b, k.process.Process.Pid)
	b.Logf("memory: %d MiB, %d at most", now, most)
	b.Logf("with %d tenants", *tenants+1)
	change(one.Name)
	revoke(b, c)
	if err := k.stop(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRevocation measures the last of these with a handful of tenants.
func BenchmarkRevocation(b *testing.B) { revoke(b, shared) }

// revoke measures the time from the answer to the removal of a sudoer until the first request
// of his that is refused. The sudoer is a service account, with a token of its own.
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
	config := rest.AnonymousClientConfig(c.admin)
	config.QPS, config.BearerToken = -1, token.Status.Token
	config.Impersonate = rest.ImpersonationConfig{UserName: names.SudoUser(lns.Name), Groups: []string{names.SudoGroup(lns.Name)}}
	sudo, err := client.New(config, client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
	if err != nil {
		b.Fatal(err)
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
		set(v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: "default", Name: "revoked"})
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
