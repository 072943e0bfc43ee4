// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/apis/core"

	"kube-granular.dev/speed/features"
)

// TestCompiledEquality holds that compiled comparisons are used if the gate CompiledEquality is
// on, and upstream's code if it is off. The test tells them apart by allocations: compiled
// comparisons make none.
func TestCompiledEquality(t *testing.T) {
	pod := &core.Pod{Spec: core.PodSpec{Containers: make([]core.Container, 3)}}
	same, other := pod.DeepCopy(), pod.DeepCopy()
	other.Spec.Containers[2].Image = "other"
	for _, gate := range []bool{true, false} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CompiledEquality, gate)
		if !equality.Semantic.DeepEqual(pod, same) || equality.Semantic.DeepEqual(pod, other) {
			t.Errorf("gate %t: the wrong answer", gate)
		}
		if allocs := testing.AllocsPerRun(20, func() { equality.Semantic.DeepEqual(pod, same) }); (allocs == 0) != gate {
			t.Errorf("gate %t: %v allocations", gate, allocs)
		}
	}
}
