// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output prints what the commands of the plugin found: as a table for people, and as
// JSON or YAML for programs. Both have the same content.
//
// It knows nothing of permissions.
package output
