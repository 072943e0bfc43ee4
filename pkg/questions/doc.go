// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package questions keeps requests that arrive together from asking a webhook the same.
//
// Upstream's authorizer of webhooks remembers answers, and whoever asks before there is one
// asks again. A granular request asks several verbs, so many equal requests at once would
// multiply them. Here who asks what is being asked already waits, and then looks for the
// answer where upstream left it. Questions about ordinary verbs never wait: for requests that
// are not granular the server stays as it is.
//
// The invariant: nobody is given an answer by this package. It lets its callers wait, no
// longer than their own context; what they find is what the cache would have told a request
// that came a moment later, and who finds nothing asks for itself.
//
// It knows no authorizer, no review and no cache.
package questions
