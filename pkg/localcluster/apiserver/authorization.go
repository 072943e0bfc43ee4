// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer/modes"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"

	"kube-granular.dev/pkg/authorizationconfig"
)

// checkAuthorization returns the errors of the authorization configuration file. The server would
// find the same errors later, but if GranularAuthorization is off, the server's messages do not
// name the file.
func checkAuthorization(o *kubeoptions.BuiltInAuthorizationOptions) error {
	if o.AuthorizationConfigurationFile == "" || o.AreLegacyFlagsSet != nil && o.AreLegacyFlagsSet() {
		return nil // without a file there are no errors, and upstream reports conflicting flags
	}
	_, err := authorizationconfig.Load(o.AuthorizationConfigurationFile)
	return err
}

func usesRBAC(o *kubeoptions.BuiltInAuthorizationOptions) (bool, error) {
	if o.AuthorizationConfigurationFile == "" {
		return slices.Contains(o.Modes, modes.ModeRBAC), nil
	}
	config, err := authorizationconfig.Load(o.AuthorizationConfigurationFile)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(config.Authorizers, func(a apiserverapi.AuthorizerConfiguration) bool {
		return string(a.Type) == modes.ModeRBAC
	}), nil
}
