// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"kube-granular.dev/granular/rule"
	"kube-granular.dev/granular/schema"
)

var share = flag.Int("share", 1500, "judge one write of so many, of each schema in turn; 1 judges all")

// maxDifferent is the number of schemas with a difference after which a run ends. The smallest come first.
const maxDifferent = 20

// tally counts what was judged. shapes are shapes of schemas with one sort of objects; refused are schemas
// that do not compile, because fields with one name for their permissions disagree about it. typed are writes
// of which a Go type was compared too. callers are the classes of worlds, and worlds is what they stand for:
// see Caller.Worlds.
type tally struct {
	shapes, schemas, refused, writes, typed, callers, different int
	worlds                                                      Count
}

func (t *tally) add(other tally) {
	t.shapes += other.shapes
	t.schemas += other.schemas
	t.refused += other.refused
	t.writes += other.writes
	t.typed += other.typed
	t.callers += other.callers
	t.different += other.different
	t.worlds = t.worlds.Plus(other.worlds)
}

// class is a set of worlds with the same shape of the schema.
type class struct {
	size, number int
	variant
}

// variant is what worlds of one shape can have besides.
type variant struct {
	// odd is as in values. same gives permissions one name. metadata puts the fields into the object's own
	// metadata.
	odd, same, metadata bool
}

func classes() []class {
	var out []class
	for size := 1; size <= 3; size++ {
		for number := range Forests(size) {
			for _, odd := range []bool{false, true} {
				out = append(out, class{size, number, variant{odd: odd}}, class{size, number, variant{odd: odd, same: true}})
				if size < 3 {
					out = append(out, class{size, number, variant{odd: odd, metadata: true}})
				}
			}
		}
	}
	return out
}

// TestEveryWorld compares the answers of the library with the rule.
func TestEveryWorld(t *testing.T) {
	start, work := time.Now(), make(chan class)
	var total tally
	var counting sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range work {
				found, differences := c.judge(*share)
				counting.Lock()
				total.add(found)
				for _, difference := range differences {
					t.Errorf("%+v: %s", c, difference)
				}
				counting.Unlock()
			}
		})
	}
	for _, c := range classes() {
		counting.Lock()
		enough := total.different >= maxDifferent
		counting.Unlock()
		if enough {
			break
		}
		work <- c
	}
	close(work)
	workers.Wait()
	minutes := time.Since(start).Minutes()
	t.Logf("%d million worlds in %d classes: %+v", total.worlds.Number/1e6, total.callers, total)
	t.Logf("%.1f million worlds and %.1f million classes a minute", float64(total.worlds.Number)/1e6/minutes, float64(total.callers)/1e6/minutes)
	few := total.shapes < 100 || total.schemas < 10_000 || total.callers < 100_000 || total.typed < 1000
	if few || total.worlds.Over || total.worlds.Number < 10_000_000 {
		t.Errorf("that is no proof: %+v", total)
	}
}

// judge judges one of share writes of the class. It returns the first worlds in which the answers differ.
func (c class) judge(share int) (found tally, differences []string) {
	found.shapes = 1
	fields, interner := Forests(c.size)[c.number], schema.NewInterner()
	root, outside := Root(fields), []Mark{{}}
	if c.metadata {
		root = Root([]*Node{{Kind: rule.Object, Kids: fields}})
		root.Kids[0].Name = "metadata"
		outside = append(outside, Mark{Verb: true})
	}
	all, typ, number := Objects(root, c.odd), goType(root, false), 0
	for range Marked(fields, Surroundings{InField: true}) {
		for _, m := range outside {
			if c.metadata {
				root.Kids[0].Mark = m
			}
			k, err := compiled(root, c.same, interner)
			if err != nil {
				if found.refused++; !c.same {
					return found, append(differences, fmt.Sprintf("%v: %v", root, err))
				}
				continue
			}
			k.goType = typ
			found.schemas++
			number++
			err = k.judgeAll(&found, all, share, number)
			found.typed, found.worlds = found.typed+k.typedWrites, found.worlds.Plus(k.caller.Worlds())
			if err != nil {
				if found.different++; len(differences) < 3 {
					differences = append(differences, fmt.Sprintf("%v: %v", root, err))
				}
				if found.different >= maxDifferent {
					return found, differences
				}
			}
		}
	}
	return found, differences
}

// judgeAll judges one of share writes of a kind, and returns the first that differs. The writes are numbered:
// each object is created, or replaces each other one, by callers with and without the ordinary verb.
func (k *kind) judgeAll(found *tally, all []any, share, first int) error {
	for number := first * 7919 % share; number < 2*len(all)*(len(all)+1); number += share {
		pair := number / 2
		w := write{stored: rule.Absent{}, sent: all[pair%len(all)], granular: number%2 == 1}
		if pair >= len(all) {
			w.stored = all[pair/len(all)-1]
		}
		judged, err := k.judge(w, number/2+number/share)
		if err == nil && number%4 < 2 {
			w.final = all[(number/share*31+first)%len(all)]
			var more int
			more, err = k.judgeAdmitted(w)
			judged += more
		}
		found.writes, found.callers = found.writes+1, found.callers+judged
		if err != nil {
			old, _ := json.Marshal(w.old())
			new, _ := json.Marshal(w.sent)
			final, _ := json.Marshal(w.final)
			return fmt.Errorf("from %s to %s, stored %s, granular %v, a holder of %v: %w", old, new, final, w.granular, &k.caller, err)
		}
	}
	return nil
}
