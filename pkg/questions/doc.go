// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package questions keeps concurrent requests from sending the same authorization check to a
// webhook.
//
// Upstream's webhook authorizer caches decisions. But if there is no decision yet, all concurrent
// callers send the check. A granular request checks several verbs, so many equal requests at once
// would multiply the checks. With this package a caller waits while another caller sends the same
// check, and then looks for the decision in upstream's cache. Checks of ordinary verbs never
// wait, so requests that are not granular are not affected.
//
// Invariant: the package passes no decision to anybody. It only makes callers wait, and no longer
// than their own context. A caller finds what the cache would have returned a moment later. If it
// finds nothing, it sends the check itself.
//
// The package knows no authorizer, no review and no cache.
package questions
