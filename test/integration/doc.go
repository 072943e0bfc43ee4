// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the patched server, real etcd and real kubectl, and
// looks at them as a user does.
//
// The scenarios are scripts in testdata/script: each gets a namespace of its own
// with what testdata/fixtures puts there, and says with `as USER` who runs
// kubectl. `snapshot` and `unchanged` prove that a refused request stored nothing.
// What they try to get around the server is a row of docs/generated/attacks.md, made of
// a comment beside it; hack/docs/attacks has its form.
//
// What scripts can't say is said in Go on the stage: a server whose authorization
// chain begins with a webhook that knows a caller for every request, grants it what
// the test says and keeps what it was asked. There the corpus is sent in each way a
// change can be, and bodies, versions, subresources, retries and webhooks are tried.
//
// What the tests share is in package harness, servers are run by package cluster. A test
// file is named by what it holds.
//
// The invariant: for every request that is allowed there is a twin that differs in
// one thing and is refused.
package integration
