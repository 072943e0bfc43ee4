// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/util/webhook"
)

// Checks validates loaded authorization configurations. It implements granular.Configurations.
// The zero value is ready to use.
type Checks struct{}

var _ granular.Configurations = Checks{}

// Check implements granular.Configurations. err is the result of upstream's validation of config.
// If err is not nil, Check returns it with the name of the file added. If err is nil, Check looks
// for mistakes that upstream does not find, and returns them with the name of the file and the path
// of the field.
func (Checks) Check(file string, config *apiserverapi.AuthorizationConfiguration, err error) error {
	if err == nil {
		err = checkWebhooks(config.Authorizers)
	}
	if err != nil {
		return fmt.Errorf("--authorization-config %s: %w", file, err)
	}
	return nil
}

func checkWebhooks(authorizers []apiserverapi.AuthorizerConfiguration) error {
	compiler := authorizationcel.NewDefaultCompiler()
	var all []error
	for i, a := range authorizers {
		if a.Webhook == nil {
			continue
		}
		path := field.NewPath("authorizers").Index(i)
		// The type InClusterConfig is for other servers: kube-apiserver can't call itself.
		// Upstream's validation, which all servers share, accepts this type, and then
		// kube-apiserver panics, both at the start and when it reloads the file.
		if kind := a.Webhook.ConnectionInfo.Type; kind != apiserverapi.AuthorizationWebhookConnectionInfoTypeKubeConfigFile {
			all = append(all, field.NotSupported(path.Child("connectionInfo", "type"), kind,
				[]string{apiserverapi.AuthorizationWebhookConnectionInfoTypeKubeConfigFile}))
		}
		if file := a.Webhook.ConnectionInfo.KubeConfigFile; file != nil {
			if _, err := webhook.LoadKubeconfig(*file, nil); err != nil {
				all = append(all, field.Invalid(path.Child("connectionInfo", "kubeConfigFile"), *file, err.Error()))
			}
		}
		for j, condition := range a.Webhook.MatchConditions {
			if err := checkCost(compiler, condition); err != nil {
				all = append(all, field.Invalid(path.Child("matchConditions").Index(j).Child("expression"), condition.Expression, err.Error()))
			}
		}
	}
	return utilerrors.NewAggregate(all)
}

// costExceeded is part of cel-go's error for an expression that exceeds its cost limit.
const costExceeded = "actual cost limit exceeded"

// checkCost evaluates a match condition for a large request, and returns an error if the condition
// does not compile or the evaluation exceeds the server's cost limit. Other errors of the
// evaluation are ignored, because they depend on the request. The evaluation is aborted at the cost
// limit, so checkCost can't take long.
func checkCost(compiler authorizationcel.Compiler, condition apiserverapi.WebhookMatchCondition) error {
	matcher, errs := validation.ValidateAndCompileMatchConditions(compiler, []apiserverapi.WebhookMatchCondition{condition})
	if len(errs) > 0 || matcher == nil {
		return errs.ToAggregate()
	}
	_, err := matcher.Eval(context.Background(), largeReview())
	if err != nil && strings.Contains(err.Error(), costExceeded) {
		return errors.New("exceeds the cost limit of a match condition: for a caller in 100 groups it would fail, and the failure policy would decide")
	}
	return nil
}

// largeReview returns a SubjectAccessReview that is about as large as one can be in practice: for a
// caller in many groups, and a permission verb with a long parameter.
func largeReview() *authorizationv1.SubjectAccessReview {
	long := strings.Repeat("x", 253)
	spec := authorizationv1.SubjectAccessReviewSpec{
		User:  "system:serviceaccount:" + long[:63] + ":" + long,
		UID:   long[:36],
		Extra: map[string]authorizationv1.ExtraValue{"authentication.kubernetes.io/credential-id": {long}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: long[:63], Verb: "granular:label(" + long + ")", Group: "apps", Version: "v1",
			Resource: "deployments", Subresource: "status", Name: long,
		},
	}
	for i := range 100 {
		spec.Groups = append(spec.Groups, fmt.Sprintf("group-%d-%s", i, long[:50]))
	}
	return &authorizationv1.SubjectAccessReview{Spec: spec}
}
