// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package questions keeps concurrent requests from asking a webhook the same question.
//
// Upstream's webhook authorizer caches answers, but concurrent callers all ask if there is no
// answer yet. A granular request asks several verbs, so many equal requests at once would
// multiply them. With this package a caller waits while another one asks the same question, and
// then looks for the answer in upstream's cache. Questions about ordinary verbs never wait, so
// requests that are not granular are not affected.
//
// Invariant: the package passes no answer to anybody. It only makes callers wait, no longer than
// their own context. A caller finds what the cache would have answered a moment later. If it
// finds nothing, it asks itself.
//
// The package knows no authorizer, no review and no cache.
package questions
