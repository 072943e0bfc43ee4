// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorizationconfig judges authorization configurations before a server uses them.
//
// kube-apiserver validates the fields of a configuration and compiles its match conditions. It
// names the field and not the file, reads the kubeconfig of a webhook when etcd has been
// reached, and knows what a match condition costs when a request has paid for it. This package
// adds the file to every error, reads the kubeconfigs, and evaluates each match condition for one
// large question.
//
// The invariant: nothing that upstream refuses is accepted, and what is accepted is not changed.
//
// It loads no configuration, asks no webhook and keeps no state.
package authorizationconfig
