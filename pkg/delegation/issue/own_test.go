// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/fake"
)

// TestAccountsAreRecorded checks that a delegation records which service account created it, also if the
// request does not say so. Other users have the UID that the request has.
//
// Attack: creating a delegation by impersonation of a service account, which is then deleted and created anew
// Answer: the delegation records the UID of the first account, and ends with it; 403 if there is no such account
// Was: it belonged to each account of the name
func TestAccountsAreRecorded(t *testing.T) {
	d := &Issuer{Client: fake.NewClientset(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "robot", UID: "r-1"}})}
	for name, tc := range map[string]struct {
		caller user.DefaultInfo
		want   string
		fails  bool
	}{
		"a token":            {user.DefaultInfo{Name: "system:serviceaccount:n:robot", UID: "r-0"}, "r-0", false},
		"impersonated":       {user.DefaultInfo{Name: "system:serviceaccount:n:robot"}, "r-1", false},
		"no such account":    {user.DefaultInfo{Name: "system:serviceaccount:n:other"}, "", true},
		"another namespace":  {user.DefaultInfo{Name: "system:serviceaccount:m:robot"}, "", true},
		"a person":           {user.DefaultInfo{Name: "robot"}, "", false},
		"a person and a UID": {user.DefaultInfo{Name: "robot", UID: "p-1"}, "p-1", false},
	} {
		got, err := d.delegatorOf(t.Context(), &tc.caller)
		if (err != nil) != tc.fails || err == nil && got.UID != tc.want {
			t.Errorf("%s: %q, %v", name, got.UID, err)
		}
	}
}
