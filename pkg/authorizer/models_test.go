// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestModelsAreNotKept holds that the models of a custom resource, which are large, are
// made when its kind is first written to, and once.
func TestModelsAreNotKept(t *testing.T) {
	made := 0
	lazy := target(t, "")
	lazy.Schema = granular.NewLazySchema(func() map[string]*spec.Schema {
		made++
		return models(t, map[string]string{"thing": strings.Replace(things, "EXCLUDED", "false", 1)})
	})
	if made != 0 {
		t.Error("models were made that nobody needed")
	}
	first := kindOf(lazy)
	if first.walker == nil || kindOf(lazy) != first || made != 1 {
		t.Errorf("made %d times, walker %v", made, first.walker)
	}
}
