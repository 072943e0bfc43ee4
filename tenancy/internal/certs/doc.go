// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs makes and rotates the certificate with which the controller serves its webhooks.
//
// The certificate is in a Secret, so that all replicas serve the same certificate. Each
// certificate has a CA of its own. The key of the CA is discarded, so that the trusted CA can't
// sign anything else. A new CA is added to the caBundle of the webhook configurations before its
// certificate is served, and the previous CA stays in the caBundle until the next rotation. So no
// request fails while some replicas or API servers know only the old certificate.
//
// Invariant: GetCertificate returns a certificate that was read from the Secret or written to it.
package certs
