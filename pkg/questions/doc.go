// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package questions keeps concurrent requests from sending the same authorization check to a
// webhook.
//
// Upstream's webhook authorizer caches decisions. But while a decision is not in the cache, each
// concurrent request sends the check to the webhook. A granular request (one that is authorized
// field by field) checks several verbs, so many equal requests at once would send very many
// checks. With this package a request waits while another request sends the same check, and then
// looks for the decision in upstream's cache. Checks of ordinary verbs, such as "update", never
// wait, so requests that are not granular are not affected.
//
// Invariant: the package passes no decision to anybody. It only makes a request wait until the
// other request has its decision, or until the waiting request's own context ends. If the cache
// has no decision after the wait, the request sends the check itself.
//
// The package knows no authorizer, no SubjectAccessReview and no cache.
package questions
