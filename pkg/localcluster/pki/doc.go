// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki manages the certificates of a local cluster in one directory.
//
// Model: one certificate authority signs the API server's serving certificate and the client
// certificates of users. One key pair signs service account tokens. A certificate is issued anew
// if it is missing, is about to expire, or does not match its authority or its names. Any other
// certificate is used again.
//
// Invariant: from the moment that a private key file exists, only its owner can read it and access
// its directory.
//
// The package uses kubeadm's and client-go's certificate code and has no cryptography of its own.
// It does not depend on kubeconfigs or servers.
package pki
