// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki manages the certificates of a local cluster in one directory.
//
// Model: one certificate authority signs the API server's serving certificate and the client
// certificates of users. One key pair signs service account tokens. Valid certificates are used
// again; missing ones, and those about to expire, are issued.
//
// Invariant: only the owner can read a private key file and access its directory, from the moment
// it exists.
//
// The package uses kubeadm's and client-go's certificate code and has no cryptography of its own.
// It does not depend on kubeconfigs or servers.
package pki
