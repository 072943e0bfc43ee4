// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki keeps the certificates of a local cluster in one directory.
//
// Model: one certificate authority signs the API server's serving certificate
// and the client certificates of users; one key pair signs service account
// tokens. What exists and is still good is used again, what is missing or about
// to expire is issued.
//
// Invariant: a private key is readable by its owner alone, from the moment its
// file exists, and its directory admits nobody else.
//
// The package issues with kubeadm's and client-go's certificate code. It may not
// do cryptography of its own, and it knows no kubeconfig and no server.
package pki
