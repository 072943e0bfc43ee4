// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examplewebhook is an authorization webhook for experiments: a TLS server that answers
// SubjectAccessReviews of version v1 according to a policy in one YAML file.
//
// Model: Start reads the policy, listens on loopback with a self-signed certificate, and writes
// the kubeconfig with which kube-apiserver connects to the webhook. When the policy file changes,
// the policy is read again; if the new file is not valid, the old policy stays in effect.
// Options.OnReview is called with each review.
//
// Invariant: an answer is according to the last valid policy. A review that can't be decoded is
// never allowed.
//
// Package policy decides the answers. The webhook is only an example: it authenticates nobody,
// and everybody who can connect learns what the policy allows.
package examplewebhook
