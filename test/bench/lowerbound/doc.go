// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lowerbound compares two objects of a kind by code that is generated for the kind's Go
// types: field by field, with no lookups at run time. Its cost is a lower bound for the cost of the
// change walk, which finds the changed fields of two objects.
//
// The code looks at the same fields as the change walk. It reports two objects as equal exactly if
// the walk finds no change, unless list elements were reordered. It does not report which field
// differs, so it can't replace the walk. Command generate writes all of it except SameJSON and the
// functions in equal.go. Only benchmarks and tests use the package.
package lowerbound

//go:generate go run ./generate generated.go
