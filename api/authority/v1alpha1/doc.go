// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.kube-granular.api.authority.v1alpha1
// +groupName=authority.kube-granular.dev

// Package v1alpha1 has the API types of authority.kube-granular.dev: who may set which
// labels and annotations, and who acts with rights of others.
//
// The kube-apiserver serves them in process, where the feature gates ProtectedAttributes and
// AuthorityDelegation are on. No type here has behaviour; what the server does with an object is
// told in docs/protected-attributes.md and docs/delegated-authority.md.
package v1alpha1
