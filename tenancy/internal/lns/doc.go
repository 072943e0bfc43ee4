// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lns implements kubectl lns, a plugin that shows LNamespaces and changes their people and
// the account that pays.
//
// The plugin makes no security decisions: it sends what the user typed, and the server authorizes
// it.
//
// Invariant: no change of somebody else is lost. Each change is a JSON patch of the entries that the
// user named, and holds only for the generation of the LNamespace that the plugin has read. If
// somebody else was faster, the plugin reads again. The lists are atomic, so a server-side apply would
// replace a whole list with the entries of one caller; a merge patch would do the same.
package lns
