// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package export writes granular roles, protected attributes and FieldPermissions as ValidatingAdmissionPolicies and
// ordinary roles, for servers that do not authorize single fields.
//
//	roles, bindings ──► grants: who holds which verbs, on which objects
//	                       │
//	permission tree ───────┴──► CEL: what differs between oldObject and object is covered by a verb
//	                       │
//	                       └──► policies and their bindings, and a role with update and patch
//
// An allowed path becomes CEL in this way. The recursion follows the permission tree, and goes below a node
// only if a verb of the role is for a field there. At each node:
//
//  1. a verb without a parameter that the role has covers the node and all below: nothing is compared;
//  2. a verb with a parameter becomes a test of the key in hand, or of the old and of the new value;
//  3. an object: every key of both objects that is not on an allowed path is equal, or absent in both;
//  4. a map: the same for each key; a key that only one object has counts as a change of its element;
//  5. a list of type map: the same for each key of an element; keys are unique, their order is kept;
//  6. a set: each element that one list has more often is covered;
//  7. an atomic list whose elements are known by a value: those without a verb are the same, in the same order;
//  8. anything else is equal as a whole, in its presence too;
//  9. what the server itself writes (resourceVersion, generation, ...) is never compared;
//  10. a create has an empty object as the old one.
//
// A FieldPermission becomes a policy for all callers in the same way: its exclusions are open to who holds their verb, for
// which the policy asks an authorizer. For a protected attribute, each place of labels and annotations is compared.
//
// Step 3 compares the keys that the objects have, not those that a schema lists, so a field of a later
// version stays closed.
//
// Invariant: a policy refuses every change that the permissions do not cover. What CEL can't express is an
// error, and then there is no policy and no role.
//
// The package sends no request, and links no server: it bounds the cost of expressions by itself.
package export
