// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy knows the policies by which writes of objects cause delegations, and the
// stamps by which objects name them.
//
//	write of a Deployment ──► Index.For(deployments.apps) ──► Policy.Caused(new, old) ?
//	                                                                  │ yes
//	deployments.apps.authority.kube-granular.dev/NAME-OF-POLICY: ◄────┘ a delegation
//	  {"authorityReference":{"kind":"AuthorityDelegation",…}}
//
// A stamp is an annotation whose value is what a delegate sends in the header
// Authority-Selector. Its prefix names the resource. On an object of that resource the
// server alone writes it. On any other it means nothing, so that controllers may copy it.
//
// Invariant: whatever is changed of an object, but its metadata, its status and what a policy
// calls neutral, is Caused.
//
// The package makes no delegation and asks nobody what he may.
package policy
