// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/apis/core"
)

// TestTokenSecret checks that a caller who selects an authority writes no Secret that gets a token of a service account,
// and none that is a bootstrap token.
//
// Attack: a bound account, or a caller who selects an authority, writes a bootstrap token into kube-system, and is authenticated by
// it later
// Was: got through
// Answer: 403, as for a Secret that gets a token of a service account
// Held by: TestLentAttacks
func TestTokenSecret(t *testing.T) {
	jane := &user.DefaultInfo{Name: "jane"}
	token, opaque := &core.Secret{Type: core.SecretTypeServiceAccountToken}, &core.Secret{Type: core.SecretTypeOpaque}
	write := func(u user.Info, info *request.RequestInfo, secret *core.Secret) error {
		check := (FinalChecks{}).Commit(request.WithRequestInfo(request.WithUser(t.Context(), u), info), false)
		if check == nil {
			return nil
		}
		defer check.End()
		check.Before(&core.Secret{})
		if secret == nil {
			return check.Begin(nil)
		}
		return check.Begin(secret)
	}
	secrets := &request.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "secrets"}
	for _, secret := range []*core.Secret{token, {Type: core.SecretTypeBootstrapToken}} {
		if err := write(selectsRole("jane"), secrets, secret); !apierrors.IsForbidden(err) {
			t.Errorf("%s, while selecting: %v", secret.Type, err)
		}
	}
	for name, err := range map[string]error{
		"without a selection": write(jane, secrets, token), "another type": write(selectsRole("jane"), secrets, opaque), "a deletion": write(selectsRole("jane"), secrets, nil),
		"another resource": write(selectsRole("jane"), &request.RequestInfo{IsResourceRequest: true, Resource: "configmaps"}, token),
		"another group":    write(selectsRole("jane"), &request.RequestInfo{IsResourceRequest: true, Resource: "secrets", APIGroup: "example.com"}, token),
		"no resource":      write(selectsRole("jane"), &request.RequestInfo{Resource: "secrets"}, token),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
