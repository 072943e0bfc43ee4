// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy indexes AuthorityDelegationPolicies, and decides which writes trigger them. It
// also reads and writes stamps, the annotations by which objects name their delegations.
//
//	write of a Deployment ──► Index.For(deployments.apps) ──► Policy.TriggeredBy(new, old) ?
//	                                                                  │ yes
//	deployments.apps.authority.kube-granular.dev/NAME-OF-POLICY: ◄────┘ a delegation
//	  {"authorityReference":{"kind":"AuthorityDelegation",…}}
//
// A stamp is an annotation that names the delegation of an object. A delegate sends its value in
// the header Authority-Selector. The prefix of its key names a resource. On objects of that
// resource only the server can write the stamp. On objects of other resources it has no meaning,
// so controllers may copy it.
//
// Invariant: every change of an object triggers a policy, except changes of metadata, status and
// the neutral permissions of the policy.
//
// The package creates no delegation and asks no authorizer.
package policy
