// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lowerbound

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func equalQuantity(a, b *resource.Quantity) bool { return *a == *b || spelling(*a) == spelling(*b) }

// spelling returns the canonical text of a quantity. It takes a copy, because String caches the text
// in the quantity.
func spelling(q resource.Quantity) string { return q.String() }

func equalTime(a, b *time.Time) bool { return a.Equal(*b) }

func equalIntOrString(a, b *intstr.IntOrString) bool {
	switch {
	case a.Type != b.Type:
		return false
	case a.Type == intstr.Int:
		return a.IntVal == b.IntVal
	case a.Type == intstr.String:
		return a.StrVal == b.StrVal
	}
	return *a == *b
}
