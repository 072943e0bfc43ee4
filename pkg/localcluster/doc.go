// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localcluster is what `kube-granular up` does: a cluster's control plane
// for trying things out, etcd and the patched kube-apiserver in one process, on
// loopback.
//
// Model: a directory holds all that lasts (data, certificates, kubeconfigs,
// logs). Up claims the port and the directory, starts etcd and then the server,
// puts the story's objects there, says that it is ready, and stops the two in
// reverse when its context ends. The packages below this one each do one of these.
//
// Invariant: nothing but the API server listens, and the controller of tenants if it is asked
// for, which is a process of its own; they listen on 127.0.0.1, and a
// cluster stopped and started again with the same directory is the same cluster.
//
// It may not be used as anything but a local cluster: there are no controllers,
// save the one that fills the built-in roles, no nodes, and one member of etcd.
package localcluster
