// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/harness"
)

var (
	parallel = flag.Int("writers", 200, "how many clients write at once")
	each     = flag.Int("requests", 15, "how many requests each of them makes")
	seed     = flag.Uint64("seed", 1, "the seed of the random choices of the clients")
)

// TestConcurrency lets many clients write to the same objects while a role and a schema change,
// and then checks every state of the objects. The package comment says more.
//
// Attack: writing while the role is removed, the schema changes and others write
// Answer: a permission covers each step of an object's history
func TestConcurrency(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	c := harness.Start(t, "--audit-log", log)
	config := harness.Config(t, c, "admin")
	w := &writers{}
	for range 8 {
		own := rest.CopyConfig(config)
		own.Dial = (&net.Dialer{}).DialContext // without a shared dialer, clients share no connection
		client, err := rest.HTTPClientFor(own)
		if err != nil {
			t.Fatal(err)
		}
		w.clients = append(w.clients, &harness.Client{URL: c.URL, HTTP: client})
	}
	client := kubernetes.NewForConfigOrDie(config)
	prepare(t, w, client)
	h := follow(t, c, client)

	background, stop := context.WithCancel(t.Context())
	var underneath sync.WaitGroup
	underneath.Go(func() { flip(background, t, w, client) })
	underneath.Go(func() { reshape(background, t, w) })

	start := time.Now()
	attempts := make([][]attempt, *parallel)
	var all sync.WaitGroup
	for i := range attempts {
		all.Go(func() {
			random := rand.New(rand.NewPCG(*seed, uint64(i)))
			for range *each {
				a, err := w.one(t.Context(), random)
				if err != nil {
					t.Errorf("request %d: %v", a.id, err)
					return
				}
				attempts[i] = append(attempts[i], a)
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	stop()
	underneath.Wait()
	history := h.wait(t)

	made := slices.Concat(attempts...)
	count, late := map[int]int{}, 0
	for _, a := range made {
		count[a.status]++
		if a.unknown() {
			late++
		}
	}
	t.Logf("%d requests by %d clients in %s: %v by status; %d states of objects; the role changed %d times", len(made), *parallel, took, count, len(history), w.role.Load()/2)
	if count[200] == 0 || count[403] == 0 || late > len(made)/4 {
		t.Errorf("the statuses are too one-sided for a test: %v", count)
	}
	report(t, check(made, history))
	report(t, replay(t, log, made))
	server, err := os.ReadFile(filepath.Join(c.Dir, "kube-apiserver.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(server)) {
		for _, bad := range []string{"panicked: true", "Observed a panic", "DATA RACE", "was not verified field by field"} {
			if strings.Contains(line, bad) {
				t.Errorf("the server's log says %s", line)
			}
		}
	}
}

// report fails the test with the first 20 contradictions.
func report(t *testing.T, wrong []string) {
	t.Helper()
	for i, what := range wrong {
		if i == 20 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(what)
	}
}

// flip gives the user named flipping one more verb and takes it away, again and again, until
// ctx ends.
func flip(ctx context.Context, t *testing.T, w *writers, client kubernetes.Interface) {
	for more := true; ctx.Err() == nil; more = !more {
		w.role.Add(1)
		var verbs []string
		if more {
			verbs = []string{flipped}
		}
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: flipping + "-more"}, Rules: rules(verbs)}
		_, err := client.RbacV1().Roles("concurrency").Update(ctx, role, metav1.UpdateOptions{})
		if err == nil {
			err = holds(ctx, w, flipping, flipped, more)
		}
		if ctx.Err() == nil && err != nil {
			t.Errorf("change the role: %v", err)
			return
		}
		w.role.Add(1)
		// Some requests must run while the role does not change.
		next := w.count.Load() + 25
		if wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) { return w.count.Load() >= next, nil }) != nil {
			return
		}
	}
}

// definition returns the CustomResourceDefinition of widgets, with a description in the schema
// that the test changes.
func definition(description string) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.concurrency.example.com"},
		"spec": map[string]any{
			"group": "concurrency.example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget",
				"listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec": map[string]any{"type": "object",
						"properties": map[string]any{"size": map[string]any{"type": "string", "description": description}}},
				}}},
			}},
		},
	}
}

// reshape changes the schema of the custom resource again and again, until ctx ends.
func reshape(ctx context.Context, t *testing.T, w *writers) {
	for i := 1; ctx.Err() == nil; i++ {
		body, err := json.Marshal(definition(fmt.Sprint(i)))
		if err != nil {
			t.Error(err)
			return
		}
		status, answer, err := send(ctx, w.clients[1], "", http.MethodPatch, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.concurrency.example.com", "application/merge-patch+json", body)
		if ctx.Err() == nil && (err != nil || status != http.StatusOK) {
			t.Errorf("change the schema: %d %s %v", status, answer, err)
			return
		}
		next := w.count.Load() + 40
		if wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) { return w.count.Load() >= next, nil }) != nil {
			return
		}
	}
}
