// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy answers SubjectAccessReviews according to the rules of one YAML file.
//
// Model: the rules of deny come first, then the rules of allow. The first rule that matches a
// review decides. If no rule matches, the answer is no opinion. A fault makes the webhook answer
// late, or send an error or nothing in place of the answer.
//
// Invariant: an answer depends only on the policy and the review.
//
// The package uses no network, file, clock or log. It is an example and not meant for production.
package policy
