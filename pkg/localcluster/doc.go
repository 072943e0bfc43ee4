// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localcluster implements `kube-granular up`: a local control plane for experiments, with
// etcd and the patched kube-apiserver in one process, on loopback.
//
// Model: a directory has all persistent state (data, certificates, kubeconfigs, logs). Up opens
// the port and locks the directory, starts etcd and then the API server, creates the objects of
// the demo, and prints that the cluster is ready. When the Go context of Up ends, Up stops the API
// server and then etcd. Each part of the cluster, such as etcd, has a package of its own below
// this one.
//
// Invariants: only the API server and, if it is enabled, the tenancy controller listen on TCP
// ports, both on 127.0.0.1. The tenancy controller is a separate process. A cluster that is
// stopped and started with the same directory has the same state.
//
// The cluster is only for local use. It has no nodes and a single etcd member. Of Kubernetes' own
// controllers it has only the one that fills the built-in roles.
package localcluster
