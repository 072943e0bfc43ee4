// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy indexes AuthorityDelegationPolicies, decides which writes trigger them, and
// reads and writes stamps, by which objects name their delegations.
//
//	write of a Deployment ──► Index.For(deployments.apps) ──► Policy.TriggeredBy(new, old) ?
//	                                                                  │ yes
//	deployments.apps.authority.kube-granular.dev/NAME-OF-POLICY: ◄────┘ a delegation
//	  {"authorityReference":{"kind":"AuthorityDelegation",…}}
//
// A stamp is an annotation whose value is what a delegate sends in the header Authority-Selector.
// Its prefix names the resource. On an object of that resource only the server writes it. On
// other objects it has no meaning, so controllers may copy it.
//
// Invariant: every change of an object triggers a policy, except changes of metadata, status and
// the neutral permissions of the policy.
//
// The package creates no delegation and asks no authorizer.
package policy
