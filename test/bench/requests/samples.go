// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"kube-granular.dev/test/bench/requests/internal/stats"
)

// Sample is what one block of one lane cost. Times are nanoseconds for one request.
type Sample struct {
	Case   string `json:"case"`
	Side   string `json:"side"`
	Server string `json:"server"`
	Round  int    `json:"round"`
	// CPU is what the server spent, Other what the process beside it did, Wall how long
	// a request took, its preparation included. Of CPU, what the server spends while
	// idle has been taken off.
	CPU float64 `json:"cpu"`
	// Median is what the server spent on the median request of the block: neither its
	// garbage collection, nor what it does by itself, nor an interruption is in that.
	Median    float64         `json:"median"`
	Other     float64         `json:"other,omitempty"`
	Wall      float64         `json:"wall"`
	Latencies []time.Duration `json:"latencies"`
}

// Count is a figure that is counted, not sampled: allocations, authorizer calls, bytes.
type Count struct {
	Case  string  `json:"case"`
	Side  string  `json:"side"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
}

// Run is all that was measured between two starts of the servers.
type Run struct {
	Begun   time.Time `json:"begun"`
	Samples []Sample  `json:"samples,omitempty"`
	Counts  []Count   `json:"counts,omitempty"`
	// Idle is what each server spent on average, as a share of one processor, while
	// nobody asked it anything.
	Idle map[string]float64 `json:"idle,omitempty"`
	// Load is the machine's load average at the beginning and at the end.
	Load [2]float64 `json:"load"`
}

// deductIdle takes what servers do by themselves off what requests cost.
func (r *Run) deductIdle() {
	for i := range r.Samples {
		s := &r.Samples[i]
		s.CPU -= r.Idle[s.Server] * s.Wall
	}
}

func (r *Run) count(c, side, what string, value float64) {
	r.Counts = append(r.Counts, Count{c, side, what, value})
}

// store adds a run to a file of them, so that a long measurement may be made in parts.
func store(name string, r *Run) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	return errors.Join(err, file.Close())
}

// load reads the runs in a file; there are none if there is no file.
func load(name string) ([]Run, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var runs []Run
	for decoder := json.NewDecoder(file); ; {
		var r Run
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			return runs, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, r)
	}
}

// names gives the cases, or the sides of a case, in the order of their first samples.
func names(runs []Run, of func(Sample) string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, r := range runs {
		for _, s := range r.Samples {
			if n := of(s); !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// matrix arranges the costs of a case for the bootstrap: of each run the rounds that all
// sides took part in.
func matrix(runs []Run, c string, sides []string, cost func(Sample) float64) []stats.Run {
	var out []stats.Run
	for _, r := range runs {
		rounds := map[int]map[string]float64{}
		last := -1
		for _, s := range r.Samples {
			if s.Case != c {
				continue
			}
			if rounds[s.Round] == nil {
				rounds[s.Round] = map[string]float64{}
			}
			rounds[s.Round][s.Side] = cost(s)
			last = max(last, s.Round)
		}
		var run stats.Run
		for i := range last + 1 {
			row := make([]float64, 0, len(sides))
			for _, side := range sides {
				if v, ok := rounds[i][side]; ok {
					row = append(row, v)
				}
			}
			if len(row) == len(sides) {
				run = append(run, row)
			}
		}
		out = append(out, run)
	}
	return out
}

// beside puts the sides of two cases beside each other, in the rounds that both have.
func beside(left, right []stats.Run) []stats.Run {
	if left == nil {
		return right
	}
	var out []stats.Run
	for i := range left {
		var run stats.Run
		for j := range min(len(left[i]), len(right[i])) {
			run = append(run, slices.Concat(left[i][j], right[i][j]))
		}
		out = append(out, run)
	}
	return out
}

// latencies are those of one side of a case, in milliseconds.
func latencies(runs []Run, c, side string) []float64 {
	var out []float64
	for _, r := range runs {
		for _, s := range r.Samples {
			if s.Case == c && s.Side == side {
				for _, l := range s.Latencies {
					out = append(out, float64(l)/1e6)
				}
			}
		}
	}
	return out
}

// counts are the values of one figure that was counted, one for each run.
func counts(runs []Run, c, side, what string) []float64 {
	var out []float64
	for _, r := range runs {
		for _, n := range r.Counts {
			if n.Case == c && n.Side == side && n.What == what {
				out = append(out, n.Value)
			}
		}
	}
	return out
}
