// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rolecheck finds probable mistakes in the permission verbs of a role: misspelled
// permissions, missing or superfluous parameters, and permission verbs on a resource for which the
// role does not have the verb granular, too. Without that verb they have no effect. In the same roles,
// it finds permission verbs on endpoints without fields, and words that are no verbs of requests.
//
// A misspelled verb grants nothing, and RBAC does not report it. The server returns the findings
// as warnings when a role is written, and `kubectl granular lint` prints them.
//
// The invariant: a finding never makes the server refuse a role, and a role with neither the verb
// granular nor a permission verb is not checked.
//
// The package reads the registry of built-in permissions. It knows no definitions of custom
// resources, only that permission names without a domain belong to Kubernetes.
package rolecheck
