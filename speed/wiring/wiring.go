// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wiring installs in kube-apiserver the optimizations below speed, which make upstream's
// own work cheaper.
//
// A server only has to import the package, and a patch in patches/speed adds this import. The
// package registers the feature gates. With the gate PrunedFieldManagement, field managers leave
// out unchanged fields; with the gate CompiledEquality, equality.Semantic uses compiled
// comparisons.
//
// No other package below speed registers anything. Package wiring itself has no logic.
package wiring

import (
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	forked "k8s.io/apimachinery/third_party/forked/golang/reflect"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"kube-granular.dev/speed/equality"
	"kube-granular.dev/speed/features"
	"kube-granular.dev/speed/fieldmanagement"
)

func init() {
	utilruntime.Must(features.Register(utilfeature.DefaultMutableFeatureGate))
	managedfields.InstallPruner(prune)
	managedfields.InstallDecoder(fieldmanagement.NewDecoder(pruned))
	forked.InstallCompiled(equality.New(compiled))
}

func prune(converter managedfields.TypeConverter) managedfields.Pruner {
	return fieldmanagement.NewPruner(converter, pruned)
}

func pruned() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.PrunedFieldManagement)
}

func compiled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.CompiledEquality)
}
