// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"context"
	"errors"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// kinds has the kind in the test models for each resource.
var kinds = map[Resource]string{
	deployments:               "apps/v1/Deployment",
	statefulSets:              "apps/v1/StatefulSet",
	cronJobs:                  "batch/v1/CronJob",
	pods:                      "/v1/Pod",
	{"", "configmaps"}:        "/v1/ConfigMap",
	{"example.com", "fleets"}: "example.com/v1/Fleet",
	// ConfigMap stands in for these kinds: it has metadata and no template.
	services: "/v1/ConfigMap", endpoints: "/v1/ConfigMap", nodes: "/v1/ConfigMap", revisions: "/v1/ConfigMap",
	{"", "events"}: "/v1/ConfigMap", {"events.k8s.io", "events"}: "/v1/ConfigMap",
	{"", "namespaces"}: "/v1/ConfigMap", replicaSets: "/v1/ConfigMap", endpointSlices: "/v1/ConfigMap", claims: "/v1/ConfigMap",
}

func resourceOf(name string) Resource {
	resource, group, _ := strings.Cut(name, ".")
	return Resource{group, resource}
}

// walkers caches walkers. The tests of this package do not run in parallel.
var walkers = map[Resource]*change.Walker{}

func walkerOf(t testing.TB, r Resource) *change.Walker {
	t.Helper()
	if w := walkers[r]; w != nil {
		return w
	}
	part := strings.Split(kinds[r], "/")
	tree, err := testmodels.Tree(part[0], part[1], part[2])
	if err != nil {
		t.Fatal(err)
	}
	walkers[r] = change.NewWalker(tree)
	return walkers[r]
}

var builtin = Builtin()

func targetOf(t testing.TB, r Resource) *Target { return builtin.Target(r, walkerOf(t, r).Tree()) }

func plainOf(t testing.TB, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if out == nil {
		return nil
	}
	return out
}

// caller holds some references. It returns an error for those in fails.
type caller struct {
	holds, fails map[string]bool
	asked        []string
}

func callerWith(holds ...string) *caller {
	c := &caller{holds: map[string]bool{}, fails: map[string]bool{}}
	for _, h := range holds {
		if r, ok := strings.CutPrefix(h, "fails "); ok {
			c.fails[r] = true
		} else {
			c.holds[h] = true
		}
	}
	return c
}

var errHolder = errors.New("no answer")

func short(r Reference) string {
	switch {
	case r.Kind == Verb:
		return r.Name
	case r.Namespace == "":
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Name + " in " + r.Namespace
}

func (c *caller) Holds(_ context.Context, r Reference) (bool, error) {
	c.asked = append(c.asked, short(r))
	if c.fails[short(r)] {
		return true, errHolder // an adapter may return true with an error by mistake
	}
	return c.holds[short(r)], nil
}

func role(name string) RoleRef { return RoleRef{ClusterRole, name} }

func values(v ...string) []string { return v }

// env returns an entry for the label env, with role name. The functions in more modify the entry.
func env(name string, more ...func(*Entry)) Entry {
	e := Entry{Name: name, Kind: schema.Label, Key: "env", Role: role(name)}
	for _, m := range more {
		m(&e)
	}
	return e
}

func only(v ...string) func(*Entry)    { return func(e *Entry) { e.ProtectedValues = v } }
func allowed(v ...string) func(*Entry) { return func(e *Entry) { e.AllowedValues = v } }
func in(namespace string) func(*Entry) { return func(e *Entry) { e.Namespace = namespace } }
func key(k string) func(*Entry)        { return func(e *Entry) { e.Key = k } }
func annotation(e *Entry)              { e.Kind = schema.Annotation }
func audit(e *Entry)                   { e.Mode = Audit }
func byVerb(e *Entry)                  { e.Role = RoleRef{} }
func byRole(e *Entry)                  { e.Role.Kind = Role }
func forResources(names ...string) func(*Entry) {
	return func(e *Entry) {
		for _, n := range names {
			e.Resources = append(e.Resources, resourceOf(n))
		}
	}
}
func notResources(names ...string) func(*Entry) {
	return func(e *Entry) {
		for _, n := range names {
			e.ExcludeResources = append(e.ExcludeResources, resourceOf(n))
		}
	}
}

// write is one request: an object before and after, in namespace default unless another is set.
type write struct {
	resource, old, new string
	namespace          string
	holds              []string
}

func (w write) run(t testing.TB, entries []Entry) (*Refusal, []Finding, *caller, error) {
	t.Helper()
	resource := resourceOf(w.resource)
	if w.resource == "" {
		resource = pods
	}
	if w.namespace == "" {
		w.namespace = "default"
	}
	set, target := New(entries...), targetOf(t, resource)
	c := callerWith(w.holds...)
	active := set.Active(w.namespace, target)
	decider := NewDecider(set, w.namespace, target, c, 0)
	changes, err := walkerOf(t, resource).Attributes(active, decider, plainOf(t, w.old), plainOf(t, w.new))
	if err != nil {
		t.Fatal(err)
	}
	refusal, findings, err := decider.Decide(t.Context(), changes)
	return refusal, findings, c, err
}
