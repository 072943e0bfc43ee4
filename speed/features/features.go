// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features holds the feature gates of what makes upstream's own work cheaper.
//
// All of them are alpha and off. Off means upstream's code. None depends on a gate of
// authorization, and none of those on one of these.
//
// The package only names gates and adds them to a registry it is given. Who asks
// a gate, and when, is the business of package wiring.
package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// PrunedFieldManagement makes the field management of updates convert and compare
// only what the update changed. The managers are the same, and cost less.
//
// alpha: v1.37
const PrunedFieldManagement featuregate.Feature = "PrunedFieldManagement"

// CompiledEquality makes the comparisons of objects in strategies and validation use code
// compiled for their types. The answers are the same, and cost less.
//
// alpha: v1.37
const CompiledEquality featuregate.Feature = "CompiledEquality"

// prunedDefault and compiledDefault are set by the linker, and only where upstream's own
// tests are run with a gate on: they start servers in their own ways, with flags of their
// own.
var prunedDefault, compiledDefault = "false", "false"

// Register adds the gates to a registry. It must happen before flags are read.
func Register(gates featuregate.MutableVersionedFeatureGate) error {
	return gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{
		PrunedFieldManagement: {
			{Version: version.MajorMinor(1, 37), Default: prunedDefault == "true", PreRelease: featuregate.Alpha},
		},
		CompiledEquality: {
			{Version: version.MajorMinor(1, 37), Default: compiledDefault == "true", PreRelease: featuregate.Alpha},
		},
	})
}
