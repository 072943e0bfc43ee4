// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// full returns a tenant with twenty members, who are also members of other tenants.
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

// parallel calls f for each number from 0 to count-1, in several goroutines.
func parallel(b testing.TB, count int, f func(i int) error) {
	b.Helper()
	failed := make(chan error, count)
	workqueue.ParallelizeUntil(context.Background(), 8, count, func(i int) {
		if err := f(i); err != nil {
			failed <- err
		}
	})
	if len(failed) > 0 {
		b.Fatal(<-failed)
	}
}

// numbers are values from the metrics of a controller.
type numbers struct {
	// calls counts requests to the API server by method.
	calls requests
	// queued is the number of requests in the work queues. reconciled is the number of reconciled
	// tenants. repairs is the number of repaired objects.
	queued, reconciled, repairs float64
}

func read(b testing.TB, address string) numbers {
	b.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	n := numbers{calls: requests{}}
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
		case "tenancy_repairs_total":
			n.repairs += value
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

// since returns the numbers of requests to the API server between then and n.
func (n numbers) since(then numbers) requests {
	more := requests{}
	for method, count := range n.calls {
		more[method] = count - then.calls[method]
	}
	return more
}

// resident returns the resident memory of a process in MiB: the present value and the peak.
func resident(b testing.TB, pid int) (now, most int) {
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

// quiet waits until the work queues are empty and at least count tenants were reconciled. Until then it reads the
// metrics rarely, because each reading takes time of the controller that is measured.
func quiet(b testing.TB, address string, count int) {
	b.Helper()
	for settled := 0; settled < 3; {
		n, interval := read(b, address), 50*time.Millisecond
		switch {
		case n.reconciled < float64(count):
			settled, interval = 0, 250*time.Millisecond
		case n.queued > 0:
			settled = 0
		default:
			settled++
		}
		time.Sleep(interval)
	}
}

// changes makes several changes of a tenant, and returns how many requests the controller sent for
// each change.
func changes(b testing.TB, c *cluster, address, name string) map[string]requests {
	b.Helper()
	quiet(b, address, 0)
	found := map[string]requests{}
	for _, step := range []struct {
		what string
		do   func(s *v1alpha1.LNamespaceSpec)
	}{
		{"a user is added", func(s *v1alpha1.LNamespaceSpec) { s.Users = append(s.Users, user("new")) }},
		{"that user is removed", func(s *v1alpha1.LNamespaceSpec) { s.Users = s.Users[:len(s.Users)-1] }},
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
		for lns.Status.ObservedGeneration != lns.Generation {
			if err := c.client.Get(b.Context(), client.ObjectKey{Name: name}, lns); err != nil {
				b.Fatal(err)
			}
		}
		quiet(b, address, 0)
		found[step.what] = read(b, address).since(then)
	}
	return found
}

// TestCallsPerChange checks that a change of one tenant does not cause requests for each other
// tenant: the controller sends fewer requests than there are tenants.
func TestCallsPerChange(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	address := freeAddress(t)
	c.run(t, "--metrics-address", address, "--leader-elect=false", "--discovery-every", "1h")
	const others = 40
	one := c.make(t, full(others))
	parallel(t, others, func(i int) error { return c.client.Create(context.Background(), full(i)) })
	for i := range others {
		c.settled(t, full(i))
	}
	for what, n := range changes(t, c, address, one.Name) {
		t.Logf("%s: %s", what, n)
		if total := n.total(); total == 0 || total >= others {
			t.Errorf("%s: %.0f requests: %s", what, total, n)
		}
	}
	// The metric for repairs counts repaired objects.
	if n := read(t, address).repairs; n != 0 {
		t.Errorf("%.0f repairs", n)
	}
	rb := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: one.Name, Name: names.UsersBinding}}
	if err := c.client.Delete(t.Context(), rb); err != nil {
		t.Fatal(err)
	}
	wait(t, "the repair is counted", func() error {
		if n := read(t, address).repairs; n != 1 {
			return fmt.Errorf("%.0f repairs", n)
		}
		return nil
	})
}

// requests counts requests by their method.
type requests map[string]float64

func (r requests) total() float64 {
	sum := 0.0
	for _, n := range r {
		sum += n
	}
	return sum
}

func (r requests) String() string {
	var words []string
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if r[method] != 0 {
			words = append(words, fmt.Sprintf("%s %.0f", method, r[method]))
		}
	}
	return strings.Join(words, ", ")
}
