// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.kube-granular.api.authority.v1alpha1
// +groupName=authority.kube-granular.dev

// Package v1alpha1 has the API types of authority.kube-granular.dev: who may set which labels and
// annotations, and who acts with permissions of others.
//
// The kube-apiserver serves them in process if the feature gates ProtectedAttributes and
// AuthorityDelegation are on. The types have no behaviour; docs/protected-attributes.md and
// docs/delegated-authority.md describe what the server does with them.
package v1alpha1
