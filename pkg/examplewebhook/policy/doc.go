// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy answers SubjectAccessReviews from rules that stand in one YAML file.
//
// Model: a fault is what the webhook does instead of, or before, an answer. A rule of deny
// answers Deny, a rule of allow Allow, in this order; the first that matches decides. What
// no rule matches is no opinion.
//
// Invariant: an answer depends on the policy and the review alone.
//
// It is pure: no network, no file, no clock and no log. It is an example to be read, and no
// authorizer for a cluster that matters.
package policy
