// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart of the controller of tenants, tenancy/charts/tenancy, with Helm's and
// kustomize's own libraries.
//
// The chart reads the manifests of tenancy/config, and changes them as its values say. The invariant: for each
// combination of values, Helm renders the same objects that kustomize builds from the folder for it. What
// differs is listed: the namespace, which Helm creates, the tag of the image, and that Helm keeps definitions and policies.
package chart
