// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorizationconfig validates authorization configurations before a server uses them.
//
// kube-apiserver itself validates the fields of a configuration and compiles the match conditions.
// But its errors contain the path of the field and not the name of the file. It reads the
// kubeconfig of a webhook only after it has connected to etcd. And it notices that a match
// condition is too costly only when requests are evaluated. This package adds the name of the file
// to every error, reads the kubeconfigs earlier, and evaluates each match condition for one large
// request.
//
// The invariant: the package accepts no configuration that upstream refuses, and changes no
// configuration.
//
// It loads no configuration, calls no webhook and keeps no state.
package authorizationconfig
