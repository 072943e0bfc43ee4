// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer/modes"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// checkAuthorization returns what is wrong with the authorization configuration, with the
// names of the file and the field. kube-apiserver names no file, looks at a webhook's
// kubeconfig only later, and evaluates a match condition no sooner than for a request.
func checkAuthorization(ctx context.Context, o *kubeoptions.BuiltInAuthorizationOptions) error {
	file := o.AuthorizationConfigurationFile
	if file == "" || o.AreLegacyFlagsSet != nil && o.AreLegacyFlagsSet() {
		return nil // upstream has the say about flags
	}
	compiler := authorizationcel.NewDefaultCompiler()
	config, _, err := authorizer.LoadAndValidateFile(file, compiler, nil)
	if err == nil {
		err = checkWebhooks(ctx, compiler, config.Authorizers)
	}
	if err != nil {
		return fmt.Errorf("--authorization-config %s: %w", file, err)
	}
	return nil
}

func checkWebhooks(ctx context.Context, compiler authorizationcel.Compiler, authorizers []apiserverapi.AuthorizerConfiguration) error {
	var all []error
	for i, a := range authorizers {
		if a.Webhook == nil {
			continue
		}
		at := field.NewPath("authorizers").Index(i)
		if file := a.Webhook.ConnectionInfo.KubeConfigFile; file != nil {
			if _, err := clientcmd.BuildConfigFromFlags("", *file); err != nil {
				all = append(all, field.Invalid(at.Child("connectionInfo", "kubeConfigFile"), *file, err.Error()))
			}
		}
		for j, condition := range a.Webhook.MatchConditions {
			if err := affordable(ctx, compiler, condition); err != nil {
				all = append(all, field.Invalid(at.Child("matchConditions").Index(j).Child("expression"), condition.Expression, err.Error()))
			}
		}
	}
	return utilerrors.NewAggregate(all)
}

// costExceeded is how cel-go says that an expression cost more than it may.
const costExceeded = "actual cost limit exceeded"

// affordable evaluates a condition for a large request, and returns an error if that costs
// more than the server allows. Other errors depend on the request.
func affordable(ctx context.Context, compiler authorizationcel.Compiler, condition apiserverapi.WebhookMatchCondition) error {
	matcher, errs := validation.ValidateAndCompileMatchConditions(compiler, []apiserverapi.WebhookMatchCondition{condition})
	if len(errs) > 0 || matcher == nil {
		return errs.ToAggregate()
	}
	_, err := matcher.Eval(ctx, largeReview())
	if err != nil && strings.Contains(err.Error(), costExceeded) {
		return errors.New("costs more than a match condition may: for a caller in 100 groups it would fail, and the failure policy decide")
	}
	return nil
}

// largeReview is about as large as a question gets: a caller in many groups, about one key
// of one field.
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

func usesRBAC(o *kubeoptions.BuiltInAuthorizationOptions) (bool, error) {
	if o.AuthorizationConfigurationFile == "" {
		return slices.Contains(o.Modes, modes.ModeRBAC), nil
	}
	config, _, err := authorizer.LoadAndValidateFile(o.AuthorizationConfigurationFile, authorizationcel.NewDefaultCompiler(), nil)
	if err != nil {
		return false, fmt.Errorf("--authorization-config %s: %w", o.AuthorizationConfigurationFile, err)
	}
	return slices.ContainsFunc(config.Authorizers, func(a apiserverapi.AuthorizerConfiguration) bool {
		return string(a.Type) == modes.ModeRBAC
	}), nil
}
