// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features defines the feature gates of the optimizations of upstream's own work.
//
// All gates are alpha and off by default. If a gate is off, upstream's code runs. They do not
// depend on the gates of authorization, nor the other way round.
//
// The package only defines gates and adds them to a registry. Package wiring reads them.
package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// PrunedFieldManagement makes field management convert and compare only the fields that an
// update changed. The resulting managers are the same.
//
// alpha: v1.37
const PrunedFieldManagement featuregate.Feature = "PrunedFieldManagement"

// CompiledEquality makes strategies and validation compare objects with code that is compiled
// for their types. The results are the same.
//
// alpha: v1.37
const CompiledEquality featuregate.Feature = "CompiledEquality"

// prunedDefault and compiledDefault are set by the linker, and only to run upstream's own tests
// with a gate on, because these start servers with their own flags.
var prunedDefault, compiledDefault = "false", "false"

// Register adds the gates to a registry. Call it before flags are parsed.
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
