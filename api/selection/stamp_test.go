// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/selection"
)

// TestStamped checks which annotation Stamped reads, and that it returns an error for all
// others.
func TestStamped(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	const key, stamp = "deployments.apps.authority.kube-granular.dev/p", `{"authorityReference":{"kind":"AuthorityDelegation","name":"d","uid":"u"}}`
	for name, tc := range map[string]struct {
		annotations map[string]string
		says        string
	}{
		"stamped":      {map[string]string{key: stamp}, ""},
		"nothing":      {nil, "no authority was delegated"},
		"other policy": {map[string]string{key + "2": stamp}, "no authority was delegated"},
		"other kind": {map[string]string{strings.Replace(key, "deployments", "replicasets", 1): stamp},
			"no authority was delegated"},
		"nonsense": {map[string]string{key: "renew"}, key},
		"a role": {map[string]string{key: `{"authorityReference":{"kind":"ClusterRole","name":"cluster-admin"}}`},
			"does not name an AuthorityDelegation"},
		"only its name": {map[string]string{key: `{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`},
			"with its uid"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := selection.Stamped(tc.annotations, deployments, "p")
			switch {
			case tc.says == "" && (err != nil || got.AuthorityReference.UID != "u"):
				t.Errorf("%v, %v", got, err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("wanted %q, got %v, %v", tc.says, got, err)
			}
		})
	}
}
