// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// CPU returns the CPU time of all threads of a process: the sum of the first field of each thread's
// schedstat, in nanoseconds (see Documentation/scheduler/sched-stats.rst of Linux). Unlike the times
// in stat, it is not rounded to clock ticks. It does not include threads that have ended, but the Go
// runtime keeps its threads.
func CPU(pid int) (time.Duration, error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("process %d has no threads, or this system has no /proc/PID/task/TID/schedstat", pid)
	}
	var sum time.Duration
	for _, name := range names {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread ended
		}
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(data), " ")
		spent, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += time.Duration(spent)
	}
	return sum, nil
}

// Load returns the machine's load average of the last minute.
func Load() (float64, error) {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(data), " ")
	return strconv.ParseFloat(first, 64)
}
