// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorizationconfig validates authorization configurations before a server uses them.
//
// kube-apiserver validates the fields of a configuration and compiles its match conditions. But
// its errors name the field and not the file. It reads the kubeconfig of a webhook only after it
// has reached etcd. And the cost of a match condition shows only when requests evaluate it. This
// package adds the file to every error, reads the kubeconfigs, and evaluates each match condition
// for one large request.
//
// The invariant: the package accepts no configuration that upstream refuses, and changes no
// configuration.
//
// It loads no configuration, calls no webhook and keeps no state.
package authorizationconfig
