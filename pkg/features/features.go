// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features defines the feature gates of kube-granular.
//
// All gates are alpha. All are off by default, except RBACIndex, which has no effect without
// GranularAuthorization. With all gates off, the server behaves as upstream's server does, but keeps what
// stored definitions exclude.
//
// The package only defines the gates and adds them to a registry. Package wiring asks which of
// them are on.
package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// GranularAuthorization makes the API server authorize single fields (KEP-3617). A caller that
// holds the verb "granular", but not the ordinary verb create, update or patch, is allowed to
// write an object if it holds permissions for all fields that it changes. Some fields have an
// excluded permission, which the ordinary verbs do not include. To change such a field, a caller
// with the ordinary verb needs that permission too.
//
// alpha: v1.37
const GranularAuthorization featuregate.Feature = "GranularAuthorization"

// RBACIndex makes RBAC authorize writes faster: RBAC finds the bindings of the caller in an index
// by subject, and skips roles without a rule for the resource. The decisions are the same. The
// gate has an effect only if GranularAuthorization is on.
//
// alpha: v1.37
const RBACIndex featuregate.Feature = "RBACIndex"

// ProtectedAttributes serves the kinds ProtectedAttribute and ClusterProtectedAttribute. With
// objects of these kinds an administrator defines who is allowed to set which labels and
// annotations. The server enforces that.
//
// alpha: v1.37
const ProtectedAttributes featuregate.Feature = "ProtectedAttributes"

// SelectedAuthority lets a caller select one role for a request, in the header
// Authority-Selector. Then nothing but that role authorizes the request. The gate needs no other
// gate.
//
// alpha: v1.37
const SelectedAuthority featuregate.Feature = "SelectedAuthority"

// AuthorityDelegation serves the kinds AuthorityDelegation and AuthorityDelegationPolicy. With an
// AuthorityDelegation a user lets others use some of its permissions. These others can select the
// delegation for a request, as they select a role. The gate needs SelectedAuthority.
//
// alpha: v1.37
const AuthorityDelegation featuregate.Feature = "AuthorityDelegation"

// MetadataReads lets a caller that is not allowed to get, list or watch a resource, but holds the verb
// "readmetadata" on it, read the metadata of its objects: names, labels, owner references and
// finalizers, without data, annotations and managed fields. The gate needs GranularAuthorization.
//
// alpha: v1.37
const MetadataReads featuregate.Feature = "MetadataReads"

// FieldPermissions serves the kind FieldPermission. With an object of this kind an administrator gives
// fields of a resource permissions of their own, whatever the author of the resource declared. The
// gate needs GranularAuthorization.
//
// alpha: v1.37
const FieldPermissions featuregate.Feature = "FieldPermissions"

// These are the default values of four gates. Only test builds change them, by the linker's flag
// -X, to run upstream's own tests with a gate on: those tests start servers with their own flags.
var (
	granularDefault  = "false"
	selectedDefault  = "false"
	protectedDefault = "false"
	readsDefault     = "false"
)

// Register adds the feature gates to a registry. It must be called before flags are parsed.
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
		MetadataReads: {
			{Version: version.MajorMinor(1, 37), Default: readsDefault == "true", PreRelease: featuregate.Alpha},
		},
		FieldPermissions: {
			{Version: version.MajorMinor(1, 37), Default: false, PreRelease: featuregate.Alpha},
		},
	}); err != nil {
		return err
	}
	// A server with a gate on, and one that it needs off, refuses to start.
	return gates.AddDependencies(map[featuregate.Feature][]featuregate.Feature{
		AuthorityDelegation: {SelectedAuthority},
		FieldPermissions:    {GranularAuthorization},
		MetadataReads:       {GranularAuthorization},
	})
}
