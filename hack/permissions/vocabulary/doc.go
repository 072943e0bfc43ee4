// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vocabulary has the information about permissions that is not in a schema: the meaning
// of each permission, the fields without a permission and the reasons, and the differences
// between versions of a kind. The data is vocabulary.yaml, which is written by hand and reviewed
// like an API.
//
// The invariant: names follow the style guide of KEP-3617 ("Style Guide / Consistency Help"). A
// name is a noun from the list, in lowerCamelCase, and does not name the parent of its field. In
// an embedded object, the name is the scope followed by the permission, and never from the list.
//
// The package does not depend on a server or a schema.
package vocabulary
