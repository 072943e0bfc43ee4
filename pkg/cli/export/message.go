// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// validate adds a validation. Its message says what may change, and never has a value of an object.
func (e *emitter) validate(expression, message string) {
	if expression != always {
		e.validations = append(e.validations, admissionv1.Validation{
			Expression: expression, Message: message, Reason: ptr.To(metav1.StatusReasonForbidden)})
	}
}

// message is the text of a refusal at a path. It names the verbs of which one would do for all at and below the path.
func (e *emitter) message(path string, n *schema.Node) string {
	return "the roles of the caller do not cover this change of " + path + needs(n)
}

// others is the text of a refusal of another field of an object than those that may change.
func (e *emitter) others(path string, n *schema.Node, free []*schema.Node) string {
	var names []string
	for _, child := range free {
		names = append(names, path+"."+child.Field)
	}
	where := cmp.Or(path, "the object")
	if len(names) == 0 {
		return "the roles of the caller cover no change of " + where + needs(n)
	}
	return "the roles of the caller cover changes of " + where + " only at or below " + strings.Join(names, ", ") + needs(n)
}

func needs(n *schema.Node) string {
	candidates, _ := decide.Candidates(n)
	if len(candidates) == 0 {
		return ""
	}
	var verbs []string
	for _, p := range candidates {
		verbs = append(verbs, kinds.VerbOf(p))
	}
	return "; on a server that authorizes fields, each of these verbs covers it: " + strings.Join(verbs, ", ")
}
