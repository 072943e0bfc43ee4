// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestPluginExplain holds what explain shows of built-in kinds and of custom resources.
func TestPluginExplain(t *testing.T) {
	harness.RunScripts(t, on, "explain*.txtar")
}
