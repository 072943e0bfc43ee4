// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy answers SubjectAccessReviews by the rules of one YAML file.
//
// Model: a fault is what the webhook does instead of, or before, an answer. The rules of deny
// come first, then the rules of allow; the first rule that matches decides. Without a match the
// answer is no opinion.
//
// Invariant: an answer depends on the policy and the review alone.
//
// The package uses no network, file, clock or log. It is an example and not meant for production.
package policy
