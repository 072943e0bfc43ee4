// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/kubernetes"
)

// sample holds the metrics of a server at a time after the start.
type sample struct {
	at     time.Duration
	values [len(measured)]float64
}

// measured are the metrics of a sample. label is a text that the labels of a series must contain.
// The values of all such series of a metric are added up.
var measured = [...]struct{ title, metric, label string }{
	{"resident memory, MB", "process_resident_memory_bytes", ""},
	{"live heap, MB", "go_gc_heap_live_bytes", ""}, // What the last garbage collection found to be in use.
	{"goroutines", "go_goroutines", ""},
	{"trees compiled", "apiserver_granular_authorization_trees_compiled_total", ""},
	{"answers of 500 and above", "apiserver_request_total", `code="5`},
}

// sample reads the metrics of both servers at an interval, until ctx ends.
func (r *run) sample(ctx context.Context) {
	started := time.Now()
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for {
		moment := time.Since(started)
		granular, err := take(ctx, r.admin)
		off, otherErr := take(ctx, r.other)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil || otherErr != nil:
			r.fault("metrics: %v %v", err, otherErr)
		default:
			granular.at, off.at = moment, moment
			r.mu.Lock()
			r.samples, r.controls = append(r.samples, granular), append(r.controls, off)
			wrong := len(r.wrong)
			r.mu.Unlock()
			fmt.Fprintf(os.Stderr, "%6s: %.0f MB, %.0f goroutines; %d allowed, %d refused, %d churned, %d wrong\n", moment.Round(time.Second),
				granular.values[0], granular.values[2], r.allowed.Load(), r.refused.Load(), r.churned.Load(), wrong)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func take(ctx context.Context, client *kubernetes.Clientset) (sample, error) {
	var s sample
	data, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return s, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if strings.Contains(name, "{") {
			// Labels may contain spaces, but the value does not.
			if i := strings.LastIndex(lines.Text(), " "); i > 0 {
				name, value = lines.Text()[:i], lines.Text()[i+1:]
			}
		}
		for i, m := range measured {
			metric, labels, _ := strings.Cut(name, "{")
			if !ok || metric != m.metric || !strings.Contains(labels, m.label) {
				continue
			}
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return s, fmt.Errorf("%s: %w", name, err)
			}
			if strings.HasSuffix(m.title, "MB") {
				number /= 1e6
			}
			s.values[i] += number
		}
	}
	return s, nil
}

func (r *run) writeCSV(path string) error {
	var out strings.Builder
	out.WriteString("seconds")
	for _, m := range measured {
		fmt.Fprintf(&out, ",%q,%q", m.title, m.title+", gate off")
	}
	out.WriteByte('\n')
	for i, s := range r.samples {
		fmt.Fprintf(&out, "%.0f", s.at.Seconds())
		for j := range measured {
			fmt.Fprintf(&out, ",%.1f,%.1f", s.values[j], r.controls[i].values[j])
		}
		out.WriteByte('\n')
	}
	return os.WriteFile(path, []byte(out.String()), 0o644)
}

// quarter returns the mean of a metric over one quarter of the run. which is 1 for the first
// quarter. The summary leaves out the first quarter, because the caches of the servers fill then.
func quarter(samples []sample, metric, which int) float64 {
	n := len(samples) / 4
	part := samples[(which-1)*n : which*n]
	sum := 0.0
	for _, s := range part {
		sum += s.values[metric]
	}
	return sum / float64(max(1, len(part)))
}

func (r *run) summary() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%v, %d operators: %d writes allowed, %d refused, %d conflicts, %d times churned, %d wrong\n\n",
		r.lasted, r.operators, r.allowed.Load(), r.refused.Load(), r.retried.Load(), r.churned.Load(), len(r.wrong))
	w := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "METRIC\tGATE ON, 2ND QUARTER\tLAST QUARTER\tGATE OFF, 2ND QUARTER\tLAST QUARTER")
	for i, m := range measured {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.0f\n", m.title,
			quarter(r.samples, i, 2), quarter(r.samples, i, 4), quarter(r.controls, i, 2), quarter(r.controls, i, 4))
	}
	fmt.Fprintln(w, "\nLATENCY OF A PUT\tGATE ON\tGATE OFF\tRATIO\t")
	for _, p := range []float64{0.5, 0.9, 0.99} {
		granular, off := quantile(r.on, p), quantile(r.off, p)
		fmt.Fprintf(w, "p%.0f\t%v\t%v\t%.2f\t\n", p*100, granular.Round(10*time.Microsecond), off.Round(10*time.Microsecond), float64(granular)/float64(max(1, off)))
	}
	w.Flush()
	for _, wrong := range r.wrong {
		fmt.Fprintln(&out, "wrong:", wrong)
	}
	return out.String()
}

func quantile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[int(p*float64(len(sorted)-1))]
}
