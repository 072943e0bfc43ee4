// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/cel/environment"
)

// rusageThread is RUSAGE_THREAD of getrusage(2).
const rusageThread = 1

// processorTime returns the processor time that f takes on its thread.
func processorTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var start, end syscall.Rusage
	_ = syscall.Getrusage(rusageThread, &start)
	f()
	_ = syscall.Getrusage(rusageThread, &end)
	return time.Duration(end.Utime.Nano() + end.Stime.Nano() - start.Utime.Nano() - start.Stime.Nano())
}

// limit is how much processor time an expression may take, if it is not 0. Only a search for costly
// expressions sets it, on a machine without other work: -args -limit 100ms. The tests themselves bound
// what an expression allocates.
var limit = flag.Duration("limit", 0, "processor time that an expression may take; 0 is no limit")

// maxAllocated bounds what judging, compiling or evaluating an expression allocates, in bytes.
const maxAllocated = 1 << 28

// allocated returns how many bytes f allocates, together with all that runs beside it.
func allocated(f func()) uint64 {
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	f()
	runtime.ReadMemStats(&end)
	return end.TotalAlloc - start.TotalAlloc
}

// checkCost fails a test if judging, compiling or evaluating an expression allocates too much, or takes
// longer than limit on a processor, the best of three times.
func checkCost(t *testing.T, object map[string]any, text string) {
	fastest := time.Hour
	judge := func() {
		program, err := conditions.Compile(text, environment.NewExpressions)
		if err == nil {
			_, _, _ = program.Evaluate(t.Context(), map[string]any{"object": object, "oldObject": object, "text": "text"}, testBudget)
		}
	}
	if n := allocated(judge); n > maxAllocated {
		t.Errorf("allocates %d bytes: %s", n, text)
	}
	for range 3 {
		if *limit == 0 {
			return
		}
		if fastest = min(fastest, processorTime(judge)); fastest < *limit {
			return
		}
	}
	t.Errorf("takes %v: %s", fastest, text)
}

// FuzzText searches for an expression that costs much processor time, beginning with those that once
// did.
func FuzzText(f *testing.F) {
	for _, bomb := range bombs {
		f.Add(bomb.expression)
	}
	for _, text := range costly {
		f.Add(text)
	}
	for _, text := range atTheBounds() {
		f.Add(text)
	}
	object := large()
	f.Fuzz(func(t *testing.T, text string) { checkCost(t, object, text) })
}

// FuzzGrown does the same with expressions that grow from a grammar, so that most of them compile.
func FuzzGrown(f *testing.F) {
	for seed := range 64 {
		var data []byte
		for i := range 40 {
			data = append(data, byte(seed*97+i*i*31+i*seed))
		}
		f.Add(data)
	}
	object := large()
	f.Fuzz(func(t *testing.T, data []byte) {
		g := grower{data: data}
		checkCost(t, object, g.grow(6)+" == "+g.grow(4))
	})
}

// grower makes an expression from bytes: each byte chooses how the expression goes on.
type grower struct {
	data []byte
	vars []string
}

func (g *grower) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := int(g.data[0])
	g.data = g.data[1:]
	return b % n
}

var leaves = []string{"object", "oldObject", "text", "1", "'ab'", "[]", "{}", "object.list", "object.names", "object.text", "object.empty", "[1, 2, 3]", "true", "lists.range(1000)", "null", "b'ab'", "optional.none()"}

var methods = []string{
	".size()", ".sort()", ".distinct()", ".flatten()", ".reverse()", ".join(',')", ".join(object.text)", ".split('')", ".lowerAscii()", ".replace('a', 'bcd')",
	".replace('', object.text)", ".findAll('a*b|c')", ".findAll('a.*c|a')", ".matches('(a|b)*c')", ".max()", ".sum()", ".isSorted()", ".first()", ".orValue([])", ".value()",
	".slice(0, 2)", "[0]", ".list", ".?names", "[?'text']", ".indexOf('b')", ".contains(object.text)", ".filter(x, x != 1)", ".optMap(x, [x, x])", ".startsWith(object.text)",
}

func (g *grower) grow(depth int) string {
	if depth == 0 || len(g.data) == 0 {
		if n := len(g.vars); n > 0 && g.next(3) > 0 {
			return g.vars[g.next(n)]
		}
		return leaves[g.next(len(leaves))]
	}
	switch g.next(14) {
	case 0, 1:
		return fmt.Sprintf("[%s, %s]", g.grow(depth-1), g.grow(depth-1))
	case 2:
		return fmt.Sprintf("{'a': %s, 1: %s}", g.grow(depth-1), g.grow(depth-1))
	case 3, 4, 5:
		return g.loop(depth, []string{"map", "filter", "all", "exists", "exists_one"}[g.next(5)], 1)
	case 6:
		return g.loop(depth, []string{"transformList", "transformMap", "all"}[g.next(3)], 2)
	case 7, 8:
		return g.grow(depth-1) + methods[g.next(len(methods))]
	case 9:
		operator := []string{"==", "!=", "+", "in", "<", "&&", "||", "-", ">="}[g.next(9)]
		return fmt.Sprintf("(%s %s %s)", g.grow(depth-1), operator, g.grow(depth-1))
	case 10:
		return fmt.Sprintf("'%%s%%s'.format([%s, %s])", g.grow(depth-1), g.grow(depth-1))
	case 11:
		return fmt.Sprintf("%s(%s)", []string{"string", "dyn", "type", "bytes", "size", "optional.of", "quantity", "url"}[g.next(8)], g.grow(depth-1))
	case 12:
		return fmt.Sprintf("sets.%s(%s, %s)", []string{"contains", "equivalent", "intersects"}[g.next(3)], g.grow(depth-1), g.grow(depth-1))
	}
	return fmt.Sprintf("(%s ? %s : %s)", g.grow(depth-1), g.grow(depth-1), g.grow(depth-1))
}

func (g *grower) loop(depth int, macro string, count int) string {
	source := g.grow(depth - 1)
	names := []string{fmt.Sprintf("v%d", len(g.vars)), fmt.Sprintf("v%d", len(g.vars)+1)}[:count]
	g.vars = append(g.vars, names...)
	body := g.grow(depth - 1)
	g.vars = g.vars[:len(g.vars)-count]
	return fmt.Sprintf("%s.%s(%s, %s)", source, macro, strings.Join(names, ", "), body)
}
