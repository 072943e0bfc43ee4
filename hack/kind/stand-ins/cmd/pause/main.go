// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command pause replaces the pause process that keeps the namespaces of a pod. It waits for a
// signal to stop. In a pod with a shared process namespace it has PID 1, so it reaps orphaned
// processes.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
