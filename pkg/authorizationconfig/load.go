// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"fmt"
	"os"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer"
)

// Load loads and checks an authorization configuration file as the server does when it starts. It
// asks no webhook.
func Load(file string) (*apiserverapi.AuthorizationConfiguration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--authorization-config: %w", err)
	}
	config, err := authorizer.LoadAndValidateData(data, authorizationcel.NewDefaultCompiler(), nil)
	if err := (Checks{}).Check(file, config, err); err != nil {
		return nil, err
	}
	return config, nil
}
