// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/fieldpermission"
	. "kube-granular.dev/pkg/fieldpermission/fieldpermissiontest"
)

// TestIndirectWarnings holds that the author of an exclusion is told of the controllers that write the field for others, and no
// other author is.
//
// Attack: the replicas of a deployment are closed, and a holder of update on autoscalers sets them by the bounds of one
// Answer: open, because the autoscaler's controller writes for others; the author is warned, and closes the bounds too
func TestIndirectWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		source, path string
		excluded     bool
		want         []string
	}{
		"replicas":            {"deployments.apps", ".spec.replicas", true, []string{"horizontal-pod-autoscaler"}},
		"all":                 {"statefulsets.apps", ".spec", true, []string{"horizontal-pod-autoscaler"}},
		"by two":              {"replicasets.apps", ".spec.replicas", true, []string{"deployment-controller", "deployment-controller", "horizontal-pod-autoscaler"}},
		"a template":          {"jobs.batch", ".spec.parallelism", true, []string{"cronjob-controller"}},
		"a part of it":        {"persistentvolumes", ".spec.claimRef.name", true, []string{"persistent-volume-binder", "persistent-volume-binder", "kube-scheduler"}},
		"labels of its own":   {"pods", ".metadata.finalizers", true, []string{"job-controller"}},
		"a Secret of a token": {"secrets", ".data", true, []string{"serviceaccount-token-controller"}},
		"owners of a claim":   {"persistentvolumeclaims", ".metadata.ownerReferences", true, []string{"statefulset-controller"}},
		"an add-on":           {"pods", ".spec.containers[*].resources", true, []string{"admission plugin LimitRanger"}},
		"a name":              {"deployments.apps", ".spec.replicas", false, nil},
		"a claim of a pod":    {"pods", ".spec.volumes[*].persistentVolumeClaim", true, []string{"statefulset-controller"}},
		"a subdomain":         {"pods", ".spec.subdomain", true, []string{"statefulset-controller"}},
		"the owners of pods": {"pods", ".metadata.ownerReferences", true,
			[]string{"daemonset-controller", "job-controller", "replicaset-controller", "replication-controller", "statefulset-controller"}},
		"what a deployment copies": {"replicasets.apps", ".spec.minReadySeconds", true, []string{"deployment-controller"}},
		"another field":            {"deployments.apps", ".spec.paused", true, nil},
		"the bounds as such":       {"horizontalpodautoscalers.autoscaling", ".spec.maxReplicas", true, nil},
	} {
		var warnings heard
		author := fieldpermission.Author{Resources: Resources(), Own: func(schema.GroupResource) *overlay.Entries { return nil }}
		p := object(tc.source, "v1", auditing, field(tc.path, "example.com/a", tc.excluded))
		author.Changed(warning.WithWarningRecorder(t.Context(), &warnings), []fieldpermission.Change{{After: p}}, false)
		var got []string
		for _, text := range warnings {
			if by, rest, ok := strings.Cut(text, " is not stopped: "); ok && strings.HasSuffix(rest, "close or protect that too") {
				got = append(got, by)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}
