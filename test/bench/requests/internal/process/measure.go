// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Metrics returns the server's metrics by name. The value of a metric is the sum over all its
// labels. Each call costs the server CPU time and allocations.
func (s *Server) Metrics(ctx context.Context) (map[string]float64, error) {
	text, err := s.Client(Administrator).Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		space := strings.LastIndexByte(line, ' ')
		if space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics of %q: %q: %w", s.Name, line, err)
		}
		name, _, _ := strings.Cut(line[:space], "{")
		out[name] += value
	}
	return out, lines.Err()
}

// Heap returns the size of the server's live heap after a garbage collection, in bytes.
func (s *Server) Heap(ctx context.Context) (float64, error) {
	client := s.Client(Administrator)
	// The second collection also frees objects that finalizers of the first one released.
	for range 2 {
		if _, err := client.Get(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
	}
	m, err := s.Metrics(ctx)
	return m["go_memstats_heap_alloc_bytes"], err
}

// Resident returns the resident memory of the server's process, in bytes.
func (s *Server) Resident() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.PID()))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of %q: %q", s.Name, data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// Profile records a CPU profile by the server's own profiler.
func (s *Server) Profile(ctx context.Context, duration time.Duration) ([]byte, error) {
	return s.Client(Administrator).Get(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(duration.Seconds())))
}
