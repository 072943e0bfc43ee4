// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorizationconfig validates authorization configurations before a server uses them.
//
// kube-apiserver validates the fields of a configuration and compiles its match conditions. Its
// errors name the field but not the file, it reads the kubeconfig of a webhook only after it has
// reached etcd, and it finds out the cost of a match condition only at requests. This package
// adds the file to every error, reads the kubeconfigs, and evaluates each match condition for one
// large review.
//
// The invariant: a configuration that upstream refuses is refused, and an accepted one is not
// changed.
//
// It loads no configuration, calls no webhook and keeps no state.
package authorizationconfig
