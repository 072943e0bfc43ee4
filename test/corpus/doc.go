// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus holds the scenarios: what a caller holds, what it asks for, and
// what must come of it. The format is that of kube-granular.dev/granular/corpus.
//
// They run three times. The library's own tests run those of the kinds it has
// models of by hand. The tests here run those of every built-in kind with the
// models and Go types the server is built from, and of the custom resources in
// crds/ as the server builds their models. test/integration sends them to a
// running server.
//
// The invariant: there is one verdict for a scenario, whoever gives it.
package corpus
