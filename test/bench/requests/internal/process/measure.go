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

// Metrics reads the server's metrics: the sum over the series of each name. Reading
// them costs the server allocations and time of its own.
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
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics of %q: %q: %w", s.Name, line, err)
		}
		name, _, _ := strings.Cut(line[:at], "{")
		out[name] += value
	}
	return out, lines.Err()
}

// Heap is what the server's heap holds after a garbage collection, in bytes.
func (s *Server) Heap(ctx context.Context) (float64, error) {
	client := s.Client(Administrator)
	// Two, so that what finalizers let go of in the first is gone as well.
	for range 2 {
		if _, err := client.Get(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
	}
	m, err := s.Metrics(ctx)
	return m["go_memstats_heap_alloc_bytes"], err
}

// Resident is the memory that the server's process occupies, in bytes.
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

// ResetPeak makes Peak begin anew.
func (s *Server) ResetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.PID()), []byte("5"), 0)
}

// Peak is the most memory that the server's process occupied since ResetPeak, in bytes.
func (s *Server) Peak() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(data), "VmHWM:")
	fields := strings.Fields(rest)
	if !found || len(fields) < 2 || fields[1] != "kB" {
		return 0, fmt.Errorf("status of %q has no VmHWM", s.Name)
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes * 1024, err
}

// Profile records where the server spends its time.
func (s *Server) Profile(ctx context.Context, duration time.Duration) ([]byte, error) {
	return s.Client(Administrator).Get(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(duration.Seconds())))
}
