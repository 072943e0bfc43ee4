// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examplewebhook is an authorization webhook for experiments: a TLS server that answers
// SubjectAccessReviews of version v1 by a policy in one YAML file.
//
// Model: Start reads the policy, listens on loopback with a self-signed certificate, and writes
// the kubeconfig with which kube-apiserver connects to it. The policy is read again when its file
// changes; a file that can't be read is ignored. Options.OnReview is called with each review.
//
// Invariant: it answers by the last policy that could be read, and never allows a request after
// an error.
//
// Package policy decides the answers. The webhook is only an example: it authenticates nobody,
// and everybody who can connect learns what the policy allows.
package examplewebhook
