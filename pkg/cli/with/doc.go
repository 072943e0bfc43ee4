// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package with is the kubectl plugin that runs kubectl with a selected authority.
//
//	kubectl with clusterrole/view get pods
//
// A plugin can't give kubectl a header to send. So this one is kubectl: upstream's commands,
// linked in, with a transport that selects (package transport of api/selection).
//
// The invariant: each request of a command selects what the first argument says, at a server
// that repeats it, or the command fails. Nothing is handed to a program that would send
// requests of its own: there are no plugins below this one.
package with
