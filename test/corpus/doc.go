// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus holds scenarios in YAML: which verbs a caller holds, which change it sends,
// and what the decision must be. Package kube-granular.dev/granular/corpus defines the format.
//
// Three suites run the scenarios. The library's own tests run the scenarios of the kinds that
// they have hand-written models for. The tests of this package run the scenarios of every
// built-in kind, with the models and Go types of the server, and of the custom resources in
// crds/, with models that are built as the server builds them. test/integration sends the
// scenarios to a running server.
//
// The invariant: a scenario has just one verdict, the same in all three suites.
package corpus
