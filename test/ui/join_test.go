// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import "testing"

// at returns an element of a snapshot, by keys and indexes.
func at(element any, path ...any) any {
	for _, step := range path {
		if key, ok := step.(string); ok {
			element = element.(map[string]any)[key]
		} else {
			element = element.([]any)[step.(int)]
		}
	}
	return element
}

// numbers returns a list of indexes of a snapshot.
func numbers(all ...float64) []any {
	var out []any
	for _, n := range all {
		out = append(out, n)
	}
	return out
}

// TestSeveralVerbsInPart holds that each verb that is held in part counts, and not only the first.
func TestSeveralVerbsInPart(t *testing.T) {
	snapshot := sample(t)
	at(snapshot, "cells", 5, 0).(map[string]any)["s"] = numbers(8, 12)
	page := serve(t, snapshot, "#/fields/apps/Deployment/spec.replicas?ns=shop", nil)
	page.shows(".detail", "serviceaccount ci/robot")
	page.visit("#/fields/apps/Deployment/spec.template.spec.containers[*].image?ns=shop")
	page.shows(".detail", "serviceaccount ci/robot")
	page.visit("#/people/serviceaccount/ci%2Frobot?ns=shop")
	page.shows(".pane", "granular:podTemplateContainerImage(<name>)")
}
