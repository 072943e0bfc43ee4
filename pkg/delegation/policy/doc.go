// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy indexes AuthorityDelegationPolicies, and decides which writes trigger them. When a
// write triggers a policy, the server issues a delegation on behalf of the user who made the write.
// The package also reads and writes stamps, the annotations by which objects refer to their
// delegations.
//
//	write of a Deployment ──► Index.For(deployments.apps) ──► Policy.TriggeredBy(new, old) ?
//	                                                                  │ yes
//	deployments.apps.authority.kube-granular.dev/NAME-OF-POLICY: ◄────┘ a delegation
//	  {"authorityReference":{"kind":"AuthorityDelegation",…}}
//
// The value of a stamp contains the name of the delegation. To use the delegation, a delegate sends
// that value in the header Authority-Selector. The prefix of a stamp's key contains a resource. On
// objects of that resource only the server can write the stamp. On objects of other resources the
// stamp has no meaning, so it does no harm if controllers copy it, for instance from a Deployment
// to its ReplicaSets.
//
// Package mirror says which of the reports about policies counts.
//
// Invariant: every change of an object triggers a policy, except changes of metadata, status and
// the fields of the permissions that the policy lists as neutral.
//
// The package creates no delegation and asks no authorizer.
package policy
