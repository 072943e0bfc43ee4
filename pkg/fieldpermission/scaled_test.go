// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/fieldpermission"
	. "kube-granular.dev/pkg/fieldpermission/fieldpermissiontest"
)

// TestReplicasWarning holds that the author of an exclusion of replicas is told of autoscalers, and no other author is.
//
// Attack: the replicas of a deployment are closed, and a holder of update on autoscalers sets them by the bounds of one
// Answer: open, because the autoscaler's controller writes for others; the author is warned, and closes the bounds too
func TestReplicasWarning(t *testing.T) {
	for name, tc := range map[string]struct {
		source, path string
		excluded     bool
		want         int
	}{
		"replicas":           {"deployments.apps", ".spec.replicas", true, 1},
		"all":                {"statefulsets.apps", ".spec", true, 1},
		"a name":             {"deployments.apps", ".spec.replicas", false, 0},
		"another field":      {"deployments.apps", ".spec.paused", true, 0},
		"nothing to scale":   {"jobs.batch", ".spec", true, 0},
		"the bounds as such": {"horizontalpodautoscalers.autoscaling", ".spec.maxReplicas", true, 0},
	} {
		var warnings heard
		author := fieldpermission.Author{Resources: Resources(), Own: func(schema.GroupResource) *overlay.Entries { return nil }}
		p := object(tc.source, "v1", auditing, field(tc.path, "example.com/a", tc.excluded))
		author.Changed(warning.WithWarningRecorder(t.Context(), &warnings), []fieldpermission.Change{{After: p}}, false)
		got := 0
		for _, text := range warnings {
			if strings.Contains(text, "HorizontalPodAutoscaler") {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}
