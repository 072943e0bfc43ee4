// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/apis/core"

	"kube-granular.dev/pkg/selected"
)

// writesSecretSelecting reports whether a caller who selected an authority writes Secrets.
func writesSecretSelecting(ctx context.Context, u user.Info) bool {
	info, ok := request.RequestInfoFrom(ctx)
	return ok && info.IsResourceRequest && info.APIGroup == "" && info.Resource == "secrets" && selected.Selects(u)
}

// checkTokenSecret returns an error for a Secret that is a credential for the server: one into which a controller writes
// a token of a service account, or a bootstrap token. The selected authority would not restrict whoever uses the
// token. obj is nil for a deletion.
func checkTokenSecret(obj runtime.Object) error {
	secret, ok := obj.(*core.Secret)
	if !ok || secret.Type != core.SecretTypeServiceAccountToken && secret.Type != core.SecretTypeBootstrapToken {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, secret.Name, errors.New(
		"no Secret of the type "+string(secret.Type)+" can be written while an authority is selected, "+
			"or by a service account that acts under a delegation, because the selection would not restrict the holder of the token"))
}
