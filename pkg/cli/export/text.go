// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// forbidden is the reason of a refusal.
var forbidden = metav1.StatusReasonForbidden

// verbOf returns the verb of a permission, with a description in place of a parameter.
func verbOf(p *schema.Permission) string { return kinds.VerbOf(p) }
