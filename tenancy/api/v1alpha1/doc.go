// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API type of a tenant of the cluster: LNamespace.
//
// +kubebuilder:object:generate=true
// +groupName=tenancy.kube-granular.dev
package v1alpha1
