// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features holds the feature gates of kube-granular.
//
// All of them are alpha. All but RBACIndex are off, and RBACIndex has no effect without
// GranularAuthorization. Off means upstream's behaviour: no Gate is installed, and no seam
// does any work.
//
// The package only names gates and adds them to a registry it is given. Who asks
// a gate, and when, is the business of package wiring.
package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// GranularAuthorization makes the API server authorize single fields: the verb
// "granular" stands in for create, update and patch where the caller holds the
// permissions of every field it changes, and excluded permissions are asked of
// everybody (KEP-3617).
//
// alpha: v1.37
const GranularAuthorization featuregate.Feature = "GranularAuthorization"

// RBACIndex lets RBAC find bindings by subject, and leave out roles without a rule about
// the resource, where the Gate asks about a write. The decisions are the same, and cost
// less. It acts only where GranularAuthorization is on, and is on there unless it is
// turned off.
//
// alpha: v1.37
const RBACIndex featuregate.Feature = "RBACIndex"

// ProtectedAttributes serves the API group authority.kube-granular.dev, in which an
// administrator says who may set which labels and annotations, and enforces what is said.
//
// alpha: v1.37
const ProtectedAttributes featuregate.Feature = "ProtectedAttributes"

// SelectedAuthority lets a caller select the one role that a request is authorized by, with the
// header Authority-Selector. It needs no other gate.
//
// alpha: v1.37
const SelectedAuthority featuregate.Feature = "SelectedAuthority"

// AuthorityDelegation lets a user delegate its authority, in the API group
// authority.kube-granular.dev, and a caller select what was delegated to it. It needs
// SelectedAuthority.
//
// alpha: v1.37
const AuthorityDelegation featuregate.Feature = "AuthorityDelegation"

// These are set by the linker, and only where upstream's own tests are run with a gate on:
// they start servers in their own ways, with flags of their own.
var (
	granularDefault  = "false"
	selectedDefault  = "false"
	protectedDefault = "false"
)

// Register adds the gates to a registry. It must happen before flags are read.
func Register(gates featuregate.MutableVersionedFeatureGate) error {
	if err := gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{
		GranularAuthorization: {
			{Version: version.MajorMinor(1, 37), Default: granularDefault == "true", PreRelease: featuregate.Alpha},
		},
		RBACIndex: {
			{Version: version.MajorMinor(1, 37), Default: true, PreRelease: featuregate.Alpha},
		},
		ProtectedAttributes: {
			{Version: version.MajorMinor(1, 37), Default: protectedDefault == "true", PreRelease: featuregate.Alpha},
		},
		SelectedAuthority: {
			{Version: version.MajorMinor(1, 37), Default: selectedDefault == "true", PreRelease: featuregate.Alpha},
		},
		AuthorityDelegation: {
			{Version: version.MajorMinor(1, 37), Default: false, PreRelease: featuregate.Alpha},
		},
	}); err != nil {
		return err
	}
	// A server that is started with one and without the other does not start.
	return gates.AddDependencies(map[featuregate.Feature][]featuregate.Feature{AuthorityDelegation: {SelectedAuthority}})
}
