// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package coverage finds out which permissions of some RBAC rules other rules grant.
//
// A permission is one verb on one resource, object or path. A short list of rules can have tens of
// thousands of permissions. A Set does not list them: it keeps the rules, and one bit for each
// permission. To grant a rule, it looks up the values of the rule, and clears the bits of all
// permissions that have such values at once.
//
// The invariant: whatever rules are granted, a Set does no more work than its limit. A Set that
// has reached the limit keeps the permissions that are left, so they count as not granted.
//
// A rule grants a permission exactly if upstream's escalation check says so. The package knows no
// user, request or storage.
package coverage
