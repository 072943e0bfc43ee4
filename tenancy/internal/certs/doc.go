// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs makes and rotates the certificate of the webhooks.
//
// It lies in a Secret, so that all replicas serve the same one. Each certificate has an
// authority of its own, whose key is thrown away: nothing else can be signed by what the
// API server trusts. A new certificate is announced in the caBundle of the webhook
// configurations before it is served, and the authority of the one before stays there until
// the next, so that no request is refused while replicas and API servers catch up.
//
// Invariant: what GetCertificate returns was read from the Secret, or written to it.
package certs
