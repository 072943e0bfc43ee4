// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vocabulary holds what no schema says of the permissions: what each means,
// which fields have none and why, and where the versions of a kind differ. The
// data is vocabulary.yaml, written by people and reviewed as an API is.
//
// The invariant: names follow the style guide of KEP-3617 ("Style Guide /
// Consistency Help"). A name is a noun from the list, in lowerCamelCase, and says
// nothing of where its field lies; what lies in an embedded object gets its name
// from the scope and the permission, never from the list.
//
// The package knows no server and no schema.
package vocabulary
