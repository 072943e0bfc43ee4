// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protect decides whether a caller may change protected labels and annotations.
//
// An Entry protects one key, or all keys of a domain, in the whole cluster or in one namespace. In
// this package, a scope has all entries of the cluster or of one namespace. A change has up to two
// sides: the old and the new value. An absent value is no side: adding a key has one side (the new
// value), changing its value has two, and removing the key has one (the old value).
//
//	for every scope that applies, and for every side of the change:
//	  concerned  the entries that protect this value
//	  no entry is concerned         the side is not protected
//	  one of them admits            the side is admitted
//	  none of them admits           the write is refused
//
// An entry admits a caller who holds its role, or its verb if it has no role. This depends on the
// value:
//
//	                    the value is   concerned   admits callers
//	no values           any            yes         yes
//	protectedValues     one of them    yes         yes
//	                    another        no          no
//	allowedValues       one of them    yes         yes
//	                    another        yes         no
//	mode Audit          any            no          no
//
// In one scope it suffices that one entry admits a side. But every side must be admitted in every
// scope that protects it:
//
//	cluster: prod by role P, dev by role D         caller holds    is refused
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
// The filter of an entry (Resources and ExcludeResources) selects the objects that an attribute
// ends up in, not the object that a caller writes. Controllers copy the labels of a pod template
// to pods, so an entry for pods protects these labels in every workload. A Table lists what is
// copied from where. If a template is not in the Table, its attributes may end up in any object,
// so every filter selects them.
//
// Entries with mode Audit refuse nothing and admit nothing. They yield a Finding for each change
// of a value that they protect and that would be refused if they were enforced together with all
// other entries.
//
// A Set is immutable and may be used by any number of goroutines; a Decider serves one request.
// The Holder answers whether a caller holds a role or a verb. For one request, the Holder is asked
// about each role and verb at most once, in an order that depends only on the entries and the
// changes, and only for entries that are concerned. If the Holder returns an error, the write must
// be refused.
//
// Invariant: a write that is refused stays refused if entries with mode Enforce are added to a
// scope other than the one that refuses. It also stays refused if entries that protect none of its
// values are added to any scope.
//
// Messages show keys, locations, roles and verbs, and never a value.
package protect
