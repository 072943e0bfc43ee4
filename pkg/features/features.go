// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features defines the feature gates of kube-granular.
//
// All of them are alpha. All are off by default, except RBACIndex, which has no effect without
// GranularAuthorization. With all gates off, the server behaves as upstream's server does.
//
// The package only names the gates and adds them to a registry. Package wiring reads them.
package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// GranularAuthorization makes the API server authorize single fields (KEP-3617). A caller with
// the verb "granular" may create, update and patch an object if it holds the permissions of all
// fields that it changes. Every caller, including holders of `update`, needs the excluded
// permissions of the fields that it changes.
//
// alpha: v1.37
const GranularAuthorization featuregate.Feature = "GranularAuthorization"

// RBACIndex lets RBAC find bindings by subject, and skip roles without a rule for the resource,
// when the server authorizes a write. The decisions are the same but take less time. The gate has
// an effect only if GranularAuthorization is on.
//
// alpha: v1.37
const RBACIndex featuregate.Feature = "RBACIndex"

// ProtectedAttributes serves the kinds ProtectedAttribute and ClusterProtectedAttribute, by which
// an administrator defines who may set which labels and annotations, and enforces them.
//
// alpha: v1.37
const ProtectedAttributes featuregate.Feature = "ProtectedAttributes"

// SelectedAuthority lets a caller select, in the header Authority-Selector, the single role that
// authorizes a request. The gate needs no other gate.
//
// alpha: v1.37
const SelectedAuthority featuregate.Feature = "SelectedAuthority"

// AuthorityDelegation serves the kinds AuthorityDelegation and AuthorityDelegationPolicy. A user
// can delegate permissions, and a delegate can select such a delegation for a request. The gate
// needs SelectedAuthority.
//
// alpha: v1.37
const AuthorityDelegation featuregate.Feature = "AuthorityDelegation"

// The linker sets these defaults to run upstream's own tests with a gate on, because those tests
// start servers with flags of their own. Nothing else sets them.
var (
	granularDefault  = "false"
	selectedDefault  = "false"
	protectedDefault = "false"
)

// Register adds the gates to a registry. It must be called before flags are parsed.
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
	// A server with AuthorityDelegation on and SelectedAuthority off refuses to start.
	return gates.AddDependencies(map[featuregate.Feature][]featuregate.Feature{AuthorityDelegation: {SelectedAuthority}})
}
