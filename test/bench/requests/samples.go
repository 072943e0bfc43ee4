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

// Sample is the cost of one block of requests of one lane. Times are nanoseconds for one request.
type Sample struct {
	Case   string `json:"case"`
	Side   string `json:"side"`
	Server string `json:"server"`
	Round  int    `json:"round"`
	// CPU is the CPU time of the server, without the time that the server spends while idle. Other
	// is the CPU time of another process that takes part. Wall is the elapsed time of a request,
	// including its preparation by the client.
	CPU float64 `json:"cpu"`
	// Median is the CPU time of the server for the median request of the block. So it does not
	// include garbage collections, background work or interruptions.
	Median    float64         `json:"median"`
	Other     float64         `json:"other,omitempty"`
	Wall      float64         `json:"wall"`
	Latencies []time.Duration `json:"latencies"`
}

// Count is a figure that is counted once in a run and not sampled in each round, such as the number
// of allocations.
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
	// Idle is the CPU time that each server spends without requests, as a share of one processor.
	Idle map[string]float64 `json:"idle,omitempty"`
	// Load is the machine's load average at the beginning and at the end.
	Load [2]float64 `json:"load"`
}

// deductIdle subtracts the CPU time that an idle server spends from the CPU time of the samples.
func (r *Run) deductIdle() {
	for i := range r.Samples {
		s := &r.Samples[i]
		s.CPU -= r.Idle[s.Server] * s.Wall
	}
}

func (r *Run) count(c, side, what string, value float64) {
	r.Counts = append(r.Counts, Count{c, side, what, value})
}

// store appends a run to a file of runs, so that a long measurement can be made in parts.
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

// load returns the runs in a file, or none if the file does not exist.
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

// names calls the function of for each sample, and returns the different results, such as the
// names of the cases, in the order of the first sample with each result. It leaves out empty
// results.
func names(runs []Run, name func(Sample) string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, r := range runs {
		for _, s := range r.Samples {
			if n := name(s); !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// matrix returns the costs of the given sides of a case in the form that the bootstrap needs: for
// each run, a row for each round, with a column for each side. It leaves out rounds that lack a
// sample of a side.
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

// beside joins the matrices of two cases, so that each row has the columns of both. It keeps only
// as many rows of a run as both cases have.
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

// latencies returns the latencies of all requests of one side of a case, in milliseconds.
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

// counts returns the values of one counted figure of a side of a case, over all runs.
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
