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

// gates are the feature gates that make writes cheaper, and must not change any response.
var gates = []string{"PrunedFieldManagement", "CompiledEquality"}

// TestSameAnswers sends sequences of random writes by several managers to all servers, in all
// ways and versions, and compares the responses and the stored objects.
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
				t.Errorf("an object never had more than %d managers", managed)
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

// write describes one request, without what only a server knows, such as the resource version.
type write struct {
	// way is how the change is sent, one of ways. change is a JSON merge patch.
	way     string
	version string
	manager string
	status  bool
	force   bool
	change  map[string]any
	// fields is what a PUT does with managedFields: kept, absent or emptied.
	fields string
}

func (w write) String() string {
	return fmt.Sprintf("%s by %s through %s, status %v, force %v, fields %q: %v", w.way, w.manager, w.version, w.status, w.force, w.fields, w.change)
}

// ways are all ways to write an object: methods and types of patches.
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
