// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.kube-granular.api.authority.v1alpha1
// +groupName=authority.kube-granular.dev

// Package v1alpha1 has the API types of authority.kube-granular.dev: who may set which
// labels and annotations.
//
// The kube-apiserver serves them in process, where the feature gate ProtectedAttributes is
// on. No type here has behaviour; what the server does with an object is told in
// docs/protected-attributes.md.
package v1alpha1
