// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localcluster implements `kube-granular up`: a local control plane for experiments, with
// etcd and the patched kube-apiserver in one process, on loopback.
//
// Model: a directory has all persistent state (data, certificates, kubeconfigs, logs). Up opens
// the port and locks the directory, starts etcd and then the server, creates the objects of the
// demo, and prints that it is ready. When its context ends it stops both in reverse order. Each
// of these steps has a package below this one.
//
// Invariants: only the API server listens, and the tenancy controller if it is enabled, which is
// a separate process; both listen on 127.0.0.1. A cluster that is stopped and started with the
// same directory has the same state.
//
// It is only for local use: there are no controllers, except the one that fills the built-in
// roles, no nodes, and a single etcd member.
package localcluster
