// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import _ "embed" // for the schema

//go:embed schema.json
var schema []byte

// Schema returns the JSON schema of tests, for editors.
func Schema() []byte { return schema }
