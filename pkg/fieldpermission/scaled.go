// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"slices"

	"kube-granular.dev/api/authority/v1alpha1"
)

// scaled are the built-in resources whose replicas an autoscaler writes for others. Its controller
// bypasses FieldPermissions.
var scaled = []string{"deployments.apps", "replicasets.apps", "replicationcontrollers", "statefulsets.apps"}

// scaledWarning is for the author of an exclusion of replicas.
const scaledWarning = "an autoscaler is not stopped: whoever may write a HorizontalPodAutoscaler sets the replicas by its bounds; " +
	"close .spec.minReplicas and .spec.maxReplicas of horizontalpodautoscalers.autoscaling too"

// closesReplicas reports whether a specification excludes replicas that an autoscaler can write.
func closesReplicas(p *v1alpha1.FieldPermission) bool {
	return slices.Contains(scaled, p.Name) && slices.ContainsFunc(p.Spec.Fields, func(f v1alpha1.FieldEntry) bool {
		return f.Excluded && (f.Path == ".spec.replicas" || f.Path == ".spec")
	})
}
