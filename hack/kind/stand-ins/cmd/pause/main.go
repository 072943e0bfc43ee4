// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command pause stands in for the process that holds a pod's namespaces. It waits to be
// told to stop. It is the first process of its pod where processes are shared, so it reaps
// those that are left to it.
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
