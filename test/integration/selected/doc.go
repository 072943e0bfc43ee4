// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selected tests the header Authority-Selector, by which a caller acts with one role
// only, on the real server: every way in which a selection can be sent, and every part of the
// server that must respect it.
//
// A token names the user that sends a request, and a webhook of the tests believes it. Each
// refused request has a twin, the same request without the selection or with one that allows
// it.
package selected
