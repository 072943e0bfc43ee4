// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examplewebhook is an authorization webhook to try things out with: a real server
// with TLS that answers SubjectAccessReviews of version v1 by a policy in one YAML file.
//
// Model: Start reads the policy, listens on loopback with a certificate that it makes itself,
// and writes the kubeconfig by which kube-apiserver finds and trusts it. The policy is read
// again when its file changes; one that can't be read changes nothing. Each review is told
// to whoever listens.
//
// Invariant: it answers by the last policy that could be read, and never allows anything
// where it fails.
//
// What is answered is for package policy to say. It may not be used as more than an example:
// it authenticates nobody, and whoever reaches it is told what the policy says.
package examplewebhook
