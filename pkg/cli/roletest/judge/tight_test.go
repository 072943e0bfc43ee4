// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/cli/roletest/format"
)

// TestFailsWithoutPart holds when a case needs a part of a role: if the answer without the part is not the
// outcome that the case expects. An answer that no missing right explains is an error.
func TestFailsWithoutPart(t *testing.T) {
	replicas, patch := &format.Refusal{Field: ".spec.replicas"}, &format.Refusal{Needs: "patch"}
	robot := format.Subject{User: "robot"}
	selecting := format.Subject{User: "robot", Selects: &format.Authority{Kind: "AuthorityDelegation", Name: "a"}}
	for name, tc := range map[string]struct {
		refused *format.Refusal
		as      format.Subject
		answer  error
		needed  bool
		unknown bool
	}{
		"still allowed":                           {as: robot},
		"no longer allowed":                       {as: robot, answer: forbidden(whole), needed: true},
		"no longer allowed by admission":          {as: robot, answer: forbidden(admission), needed: true},
		"still refused at the field":              {refused: replicas, as: robot, answer: forbidden(atReplicas)},
		"refused before the fields are judged":    {refused: replicas, as: robot, answer: forbidden(whole), needed: true},
		"still refused as a whole":                {refused: patch, as: robot, answer: forbidden(whole)},
		"refused at a field, and not as a whole":  {refused: patch, as: robot, answer: forbidden(atReplicas), needed: true},
		"a refusal that becomes allowed":          {refused: patch, as: robot, needed: true},
		"a server that fails":                     {as: robot, answer: errors.New("EOF"), unknown: true},
		"a server that fails instead of refusing": {refused: patch, as: robot, answer: errors.New("EOF"), unknown: true},
		"a delegation that lost a right":          {as: selecting, answer: errors.New("not delegated"), needed: true},
	} {
		j := &judged{
			test:    &format.Case{As: tc.as, Refused: tc.refused},
			request: &request{verbs: []string{"patch"}, resource: schema.GroupVersionResource{Resource: "deployments"}},
		}
		if needed, err := j.fails(tc.answer); needed != tc.needed || (err != nil) != tc.unknown {
			t.Errorf("%s: needed: %t, error: %v", name, needed, err)
		}
	}
}
