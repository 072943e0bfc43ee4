// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cedar compares the library with the engine of Cedar, an authorization language of others. It
// has only tests.
//
// A write is judged twice: by the packages schema, change and decide, and by Cedar. For Cedar, a role and
// the permissions of a schema become policies, and each difference between two objects becomes a request:
//
//	permission of the schema   an entity, whose parent is the next more general permission
//	field that differs         an entity, whose parent is the innermost permission around it; its
//	                           attributes are the keys around it and the values in it
//	granted verb               permit: the caller may change what is in the permission
//	ordinary verb              permit: the caller may change everything
//	excluded permission        forbid: nobody may change what is in it, unless the caller holds it, an
//	                           excluded one around it, or one inside it that has the field
//
// A write is allowed if Cedar allows all of its requests. So the engine decides what a permission
// includes, what an exclusion takes away, and which parameter a verb has. The library decides the
// same with an order on the path to a field, without the word forbid.
//
// The schemas are random ones of up to a dozen nodes, those of built-in kinds, and one of a custom
// resource. The objects of kinds are those of test/corpus, changed at random.
//
// Left out are values of another shape than the schema has, elements with one key, defaults that are
// objects, and what admission changes: package rule/worlds judges these.
//
// Invariant: the translation reads schemas, objects and verbs, and nothing of the packages that it judges.
package cedar
