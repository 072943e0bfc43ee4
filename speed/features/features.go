// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features defines the feature gates of the optimizations below speed, which make
// upstream's own work cheaper.
//
// All gates are alpha and off by default. If a gate is off, upstream's code runs. These gates are
// independent of the feature gates of authorization.
//
// The package only defines gates and adds them to a registry. Package wiring reads them.
package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// PrunedFieldManagement makes field management (the code that maintains managedFields) convert and
// compare only the fields that an update changed. The resulting managedFields are the same as
// without the gate.
//
// alpha: v1.37
const PrunedFieldManagement featuregate.Feature = "PrunedFieldManagement"

// CompiledEquality makes strategies and validation compare objects with code that is compiled
// for their types. The results are the same as without the gate.
//
// alpha: v1.37
const CompiledEquality featuregate.Feature = "CompiledEquality"

// prunedDefault and compiledDefault are the defaults of the gates. They are variables only so that
// the linker can change them (go build -ldflags -X), in order to run upstream's own tests with a
// gate on. A flag can't do that, because these tests start servers with fixed flags.
var prunedDefault, compiledDefault = "false", "false"

// Register adds the feature gates to a registry. It must be called before flags are parsed.
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
