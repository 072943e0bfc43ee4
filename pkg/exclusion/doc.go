// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exclusion guards the excluded fields of custom resources against updates of their
// definitions. An excluded field needs its permission from every caller, also from one that holds
// update. A definition declares it by a permission extension, and many clients drop extensions that
// they do not know.
//
//	update of a definition ──► Keep: does it weaken an exclusion that is stored?
//	                             no ──► stored as sent
//	                             yes, and the caller holds granular:permissionExclusion
//	                                ──► stored as sent; a warning, an audit annotation, a counter
//	                             yes, and it does not
//	                                ──► the stored extensions stay, with a warning; or 403
//
// Package crd compares the definitions, and puts the stored extensions back. This package asks the
// authorizer, and tells the caller, the audit log and the metrics.
//
// Invariant: a caller without the verb stores no definition under which somebody may change an
// excluded field who could not change it before. What deleting and creating the definition opens is
// not guarded.
//
// The feature gate of this server does not matter: a server with the gate on may share the storage.
//
// The package keeps nothing about a request after its end. It has no rules of its own about what
// weakens an exclusion.
package exclusion
