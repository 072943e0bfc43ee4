// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"flag"
	"runtime"
	"sync"
	"testing"
	"time"

	"kube-granular.dev/granular/rule/worlds"
)

var share = flag.Int("share", 1000, "judge one write of so many for schemas of one node, and of more for larger ones; 1 judges all")

// rarity is how much larger the share is for schemas with so many nodes.
var rarity = []int{0, 1, 25, 10_000}

// maxDifferent is the number of schemas with a difference after which a run ends. The smallest come first.
const maxDifferent = 20

// tally counts what was judged. refused are writes of definitions that do not compile. callers are the classes
// of worlds, and worlds is what they stand for.
type tally struct {
	schemas, definitions, refused, writes, callers, different int
	worlds                                                    worlds.Count
}

func (t *tally) add(other tally) {
	t.schemas += other.schemas
	t.definitions += other.definitions
	t.refused += other.refused
	t.writes += other.writes
	t.callers += other.callers
	t.different += other.different
	t.worlds = t.worlds.Plus(other.worlds)
}

// TestEveryVersion compares the answers of the gate with the rule.
//
// Attack: a write through a version that hides a stored field, or names its permission in another way, changes what nobody allowed
// Answer: small definitions with two and three versions: what the request shows, what is stored, and what a webhook makes of it
func TestEveryVersion(t *testing.T) {
	type class struct{ size, number int }
	start, work := time.Now(), make(chan class)
	var total tally
	var counting sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range work {
				found, differences := judgeClass(c.size, c.number)
				counting.Lock()
				total.add(found)
				for _, difference := range differences {
					t.Errorf("%+v: %s", c, difference)
				}
				counting.Unlock()
			}
		})
	}
	for size := 1; size <= 3; size++ {
		for number := range worlds.Forests(size) {
			counting.Lock()
			enough := total.different >= maxDifferent
			counting.Unlock()
			if !enough {
				work <- class{size, number}
			}
		}
	}
	close(work)
	workers.Wait()
	t.Logf("%d million worlds in %d classes, %.2f million classes a minute: %+v",
		total.worlds.Number/1e6, total.callers, float64(total.callers)/1e6/time.Since(start).Minutes(), total)
	if total.schemas < 10_000 || total.definitions < 4000 || total.callers < 50_000 || total.worlds.Over {
		t.Errorf("that is no proof: %+v", total)
	}
}

// judgeClass judges writes of all schemas of one shape. It returns the first differences.
func judgeClass(size, number int) (found tally, differences []string) {
	nodes := worlds.Forests(size)[number]
	s := newSpace(worlds.Root(nodes))
	for range worlds.Marked(nodes, worlds.Surroundings{InField: true}) {
		found.schemas++
		if err := s.judge(&found, 1+(*share-1)*rarity[size], found.schemas); err != nil {
			if found.different++; len(differences) < 2 {
				differences = append(differences, err.Error())
			}
			if found.different >= maxDifferent {
				break
			}
		}
	}
	return found, differences
}
