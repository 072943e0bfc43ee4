// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protect decides whether a caller may change protected labels and annotations.
//
// An Entry protects one key, or all keys of a domain, in the whole cluster or in one
// namespace. Entries of the cluster are one scope, those of a namespace another. A
// change has up to two sides: the old and the new value. An absent value is no side, so
// setting has one side, changing two, removing one.
//
//	for every scope that applies, and for every side of the change:
//	  concerned  the entries that protect this value
//	  no entry is concerned         the side is not protected
//	  one of them admits            the side is admitted
//	  none of them admits           the write is refused
//
// What an entry does about one value:
//
//	                    the value is   concerned   admits who is admitted by it
//	no values           any            yes         yes
//	protectedValues     one of them    yes         yes
//	                    another        no          no
//	allowedValues       one of them    yes         yes
//	                    another        yes         no
//	mode Audit          any            no          no
//
// Alternatives combine within a scope and within a side, and nowhere else:
//
//	cluster: prod by role P, dev by role D         who holds       is refused
//	  (unset)  > env=prod                          P               no
//	  (unset)  > env=prod                          D               yes, prod comes
//	  env=prod > env=dev                           P               yes, dev comes
//	  env=prod > env=dev                           D               yes, prod goes
//	  env=prod > env=dev                           P and D         no
//	  env=prod > env=test                          P               no
//	  env=test > env=play                          nothing         no
//	  env=prod > env=prod                          nothing         no
//	  cluster: env by P; namespace: env by T       T alone         yes, by the cluster
//	  cluster: env by P; namespace: env by T       P alone         yes, by the namespace
//	  an object with env=prod is deleted           nothing         no, that changes no label
//
// A filter of resources applies to the objects that attributes end up in. Controllers copy
// the labels of a pod template to pods, so an entry for pods protects them in every workload.
// A Table has what is copied from where. The attributes of a template that it does not know
// may end up anywhere.
//
// Entries with mode Audit refuse nothing and admit nothing. They yield a Finding for each
// change that would be refused if all of them were enforced.
//
// A Set is immutable and may be used by any number of goroutines; a Decider serves one
// request. The Holder answers whether a caller holds a role or a verb. It is asked about
// each at most once for a request, in an order that depends only on the entries and the
// changes, and only for entries that are concerned. If it fails, the write must be refused.
//
// The invariant: more entries with mode Enforce in another scope never make a refused
// write an admitted one, and neither do entries that leave a value unprotected.
//
// Messages name keys, places, roles and verbs, and never a value.
package protect
