// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

var (
	seed         = flag.Uint64("seed", 0, "seed of where tutorials are broken off and of their random orders; 0 takes one from the clock")
	randomOrders = flag.Int("random-orders", 0, "how many random orders of tutorials to try besides forward and reverse")
)

const (
	// chain is the tutorial that asks its reader to start no other tutorial before its cleanup.
	chain = "authorizer-chain.md"
	// tenancy is the flag that runs the controller of tenants. It lets all users read objects
	// that other tutorials show as refused. So the tutorials with this flag get a server of
	// their own.
	tenancy = "--tenancy"
	// tenancyReady waits for the ClusterRoles that the controller of tenants creates shortly
	// after it is ready.
	tenancyReady = "until kubectl get clusterrole lnamespace-sudo lnamespace-sudo-quotas lnamespace-sudo-namespace >/dev/null 2>&1; do sleep 0.1; done"
)

// tutorial is a document of docs/tutorials.
type tutorial struct {
	name  string
	steps []step
	// flags are the flags of the server that the tutorial needs.
	flags []string
}

// TestTutorialsInAnyOrder checks that the tutorials work on one server in any order, even after
// a tutorial was broken off halfway. Each finished tutorial must leave the cluster and the
// directory as they were.
func TestTutorialsInAnyOrder(t *testing.T) {
	all := tutorials(t)
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Run("with a server of their own for "+tenancy, func(t *testing.T) {
		inAnyOrder(t, slices.DeleteFunc(slices.Clone(all), func(one tutorial) bool { return !slices.Contains(one.flags, tenancy) }))
	})
	t.Run("with a server that has the flags of all others", func(t *testing.T) {
		inAnyOrder(t, slices.DeleteFunc(slices.Clone(all), func(one tutorial) bool {
			// A server writes one audit log, and from-update reads that of its own page.
			return slices.Contains(one.flags, tenancy) || slices.Contains(one.flags, "GranularAuthorization=false") ||
				strings.HasPrefix(one.name, "lending")
		}))
	})
}

// inAnyOrder runs tutorials on one server: forward, in reverse, broken off, and in random
// orders.
func inAnyOrder(t *testing.T, all []tutorial) {
	o := start(t, all)
	var twice []tutorial
	for _, one := range all {
		twice = append(twice, one, one)
	}
	o.inOrder(t, "forward, each twice", twice)
	if len(all) > 1 {
		reverse := slices.Clone(all)
		slices.Reverse(reverse)
		o.inOrder(t, "reverse", reverse)
	}
	o.brokenOff(t, "broken off", all)
	if len(all) == 1 {
		return
	}
	for i := range *randomOrders {
		o.inOrder(t, fmt.Sprintf("random order %d", i+1), o.shuffled(all))
	}
}

// orders runs tutorials in several orders, all on one server.
type orders struct {
	*reader
	cluster *cluster.Cluster
	before  state
	random  *rand.Rand
}

func start(t *testing.T, all []tutorial) *orders {
	t.Helper()
	dir := t.TempDir()
	var steps []step
	for _, one := range all {
		steps = append(steps, one.steps...)
	}
	flags := together(all)
	arguments := inPlace(t, dir, steps, flags)
	c := harness.Start(t, arguments...)
	o := &orders{reader: newReader(t, c, dir, arguments), cluster: c, random: rand.New(rand.NewPCG(*seed, 0))}
	if slices.Contains(flags, tenancy) {
		if err := o.do(step{command: tenancyReady}); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if o.before, err = look(t.Context(), c, dir); err != nil {
		t.Fatal(err)
	}
	return o
}

// inOrder runs tutorials one after the other. Each must leave everything as it was.
func (o *orders) inOrder(t *testing.T, name string, order []tutorial) {
	if t.Failed() {
		return // An earlier failure left the state changed.
	}
	t.Run(name, func(t *testing.T) {
		t.Logf("-seed=%d: %s", *seed, names(order))
		for _, one := range order {
			o.steps(t, one, len(one.steps))
			nothingLeft(t, o.cluster, o.reader, o.before)
		}
	})
}

// brokenOff breaks each tutorial off after a random step, one after the other. Then it runs
// each from the start, beside the objects that all of them left.
func (o *orders) brokenOff(t *testing.T, name string, all []tutorial) {
	if t.Failed() {
		return
	}
	t.Run(name, func(t *testing.T) {
		order := o.shuffled(all)
		// The chain tutorial is the last to be broken off and the first to run again, as its
		// text asks.
		if at := slices.IndexFunc(order, func(one tutorial) bool { return one.name == chain }); at >= 0 {
			order[at], order[len(order)-1] = order[len(order)-1], order[at]
		}
		for _, one := range order {
			n := 1 + o.random.IntN(len(one.steps)-1)
			t.Logf("-seed=%d: %s broken off after line %d", *seed, one.name, one.steps[n-1].line)
			o.steps(t, one, n)
		}
		slices.Reverse(order)
		for _, one := range order {
			o.steps(t, one, len(one.steps))
		}
		nothingLeft(t, o.cluster, o.reader, o.before)
	})
}

// steps runs the first n steps of a tutorial.
func (o *orders) steps(t *testing.T, of tutorial, n int) {
	t.Helper()
	awaitNextSecond(t)
	for _, s := range of.steps[:n] {
		s.await(t)
		if err := o.do(s); err != nil {
			t.Fatalf("%s: %v", of.name, err)
		}
	}
}

func (o *orders) shuffled(all []tutorial) []tutorial {
	order := slices.Clone(all)
	o.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// tutorials returns all tutorials, sorted by file name.
func tutorials(t *testing.T) []tutorial {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(root, "docs", "tutorials", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no tutorials: %v", err)
	}
	var all []tutorial
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, tutorial{name: filepath.Base(path), steps: steps, flags: upArguments(string(text))})
	}
	return all
}

// together returns the flags of one server that serves all the tutorials: the union of their
// feature gates, and all their other flags.
func together(all []tutorial) []string {
	var gates, rest []string
	for _, one := range all {
		for i := 0; i < len(one.flags); i++ {
			if one.flags[i] == "--feature-gates" && i+1 < len(one.flags) {
				i++
				gates = append(gates, one.flags[i])
				continue
			}
			rest = append(rest, one.flags[i])
		}
	}
	if len(gates) == 0 {
		return rest
	}
	return append(rest, "--feature-gates", strings.Join(gates, ","))
}

func names(of []tutorial) string {
	var names []string
	for _, one := range of {
		names = append(names, strings.TrimSuffix(one.name, ".md"))
	}
	return strings.Join(names, ", ")
}

// await waits before a step that notes the time, so that what was done before is in another second.
func (s step) await(t *testing.T) {
	t.Helper()
	if strings.Contains(s.command, "date -u") {
		awaitNextSecond(t)
	}
}

// awaitNextSecond waits until the clock shows another second. A tutorial asks an audit log for the requests
// since a time in seconds. A person is never so fast that those of the steps before are among them.
func awaitNextSecond(t *testing.T) {
	t.Helper()
	started := time.Now().Unix()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return time.Now().Unix() > started, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
