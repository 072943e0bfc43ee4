// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output prints the results of the plugin's commands: as a table for people, and as JSON
// or YAML for programs. JSON and YAML have the same content.
//
// The package does not depend on permissions.
package output
