// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package web holds the page of `kubectl granular ui`: its markup, style and script, and joins them into
// one document.
//
// The document is the same served and as a file; only the data differs. In a file, the snapshot stands
// in the document. A served document fetches it from its own origin.
//
// Invariant: the document names every style and script in it by its hash in a content security policy,
// so the browser runs nothing else, whatever the names in a snapshot are.
//
// The package imports the standard library alone, and knows nothing of what a snapshot contains.
package web
