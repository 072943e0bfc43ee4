// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vocabulary has the information about permissions that is not in a schema: the meaning
// of each permission, the fields that have no permission and the reasons, and the differences
// between versions of a kind. The data file vocabulary.yaml is written by hand and reviewed like an
// API.
//
// The invariant: names of permissions follow the style guide of KEP-3617 ("Style Guide /
// Consistency Help"). A name is in lowerCamelCase, ends in a noun from the list in
// vocabulary.yaml, and does not contain the name of the field's parent or kind. In an embedded
// object, such as a pod template, the name begins with the scope of that object, as in
// podTemplateImage.
//
// The package does not depend on a server or a schema.
package vocabulary
