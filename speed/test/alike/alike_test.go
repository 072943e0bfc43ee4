// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package alike

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// steps is how many requests are sent for each kind.
const steps = 150

// gates are those that make writes cheaper, and must change nothing else.
var gates = []string{"PrunedFieldManagement", "CompiledEquality"}

// TestSameAnswers sends sequences of random writes by several managers, through all ways
// to write and all versions of each kind.
//
// Attack: with `CompiledEquality`, a change of immutable fields of claims, volumes, jobs, stateful sets, pods,
// services, secrets, bindings and classes; the same value written in another way, which is no change
// Answer: the same bytes as without the gate, except for times, uids and versions
func TestSameAnswers(t *testing.T) {
	without := start(t, "")
	without.define(t)
	with := map[string]*server{}
	for _, gate := range gates {
		with[gate] = start(t, gate)
		with[gate].define(t)
	}
	sent, answers := map[string]int{}, map[int]int{}
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 40))
			managed, there := 0, false
			for step := range steps {
				w := k.randomWrite(r, there)
				want := without.send(t, k, w)
				for _, gate := range gates {
					if diff := cmp.Diff(want, with[gate].send(t, k, w)); diff != "" {
						t.Fatalf("step %d, %s (-without +with %s):\n%s", step, w, gate, diff)
					}
				}
				sent[w.way]++
				answers[want.Code]++
				managed = max(managed, strings.Count(want.Managed, "\n"))
				there = want.There
			}
			if managed < 4 {
				t.Errorf("there were never more than %d managers", managed)
			}
		})
	}
	t.Logf("sent %v, answers %v", sent, answers)
	for _, way := range ways {
		if sent[way] < 20 {
			t.Errorf("only %d times %s", sent[way], way)
		}
	}
	if answers[http.StatusOK] < len(kinds)*steps/2 || answers[http.StatusConflict] == 0 || answers[http.StatusUnprocessableEntity] == 0 {
		t.Errorf("that is no test: answers %v", answers)
	}
}

// write is one request, but for what only the server knows.
type write struct {
	// way is how change, a JSON merge patch, is written.
	way     string
	version string
	manager string
	status  bool
	force   bool
	change  map[string]any
	// fields says what becomes of the managed fields in a PUT.
	fields string
}

func (w write) String() string {
	return fmt.Sprintf("%s by %s through %s, status %v, force %v, fields %q: %v", w.way, w.manager, w.version, w.status, w.force, w.fields, w.change)
}

// ways are all there are. Where there is no object it is mostly made first.
var ways = []string{"post", "put", "merge", "strategic", "json", "apply", "delete"}

func (k kind) randomWrite(r *rand.Rand, there bool) write {
	w := write{
		version: k.versions[r.IntN(len(k.versions))],
		manager: fmt.Sprintf("m%d", r.IntN(5)),
		force:   r.IntN(3) > 0,
		fields:  []string{"kept", "kept", "kept", "absent", "emptied"}[r.IntN(5)],
	}
	switch n := r.IntN(100); {
	case !there && n < 60:
		w.way = "post"
	case n < 35:
		w.way = "put"
	case n < 50:
		w.way = "merge"
	case n < 65:
		w.way = "strategic"
	case n < 75:
		w.way = "json"
	case n < 90:
		w.way = "apply"
	case n < 96:
		w.way = "delete"
	default:
		w.way = "post"
	}
	if w.way == "strategic" && k.custom {
		w.way = "merge"
	}
	changes := k.changes(w.version)
	if k.status != nil && r.IntN(4) == 0 && w.way != "post" && w.way != "delete" {
		w.status, changes = true, k.status(w.version)
	}
	if w.way == "post" {
		return w
	}
	w.change = changes[r.IntN(len(changes))]
	if r.IntN(3) == 0 {
		w.change = merge(w.change, changes[r.IntN(len(changes))])
	}
	return w
}
