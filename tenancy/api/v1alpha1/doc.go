// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of tenants: LNamespace, and SudoRequest, a request for sudo.
//
// +kubebuilder:object:generate=true
// +groupName=tenancy.kube-granular.dev
package v1alpha1
