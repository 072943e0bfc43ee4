// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package with implements the kubectl plugin that runs a kubectl command with a selected authority:
// one role or delegation of the caller, to which the server limits each request.
//
//	kubectl with clusterrole/view get pods
//
// A plugin can't make kubectl send a header. So this plugin contains the commands of upstream
// kubectl, with a transport that selects the authority (package transport of api/selection).
//
// The invariant: each request of a command selects the authority that the argument AUTHORITY
// names. If the server does not confirm the selection, the command fails. The plugin starts no
// program that would send requests of its own, so kubectl plugins can't be used with it.
package with
