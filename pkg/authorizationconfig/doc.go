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
// A running server that watches connections, as a flag says, also asks each new webhook of a changed
// configuration one question, and loads it only if the webhooks answer (KEP-3221, "Design Details"). A webhook is
// new if none in force has the same connection: the content of its kubeconfig and of the files that
// this names. So the server also reloads when only such a file changes.
//
// The invariants: the package accepts no configuration that upstream refuses, and changes no
// configuration. It asks a webhook only at a reload, and never one whose connection is in force.
//
// It keeps hashes of connections, but no credentials. Requests never wait for it.
package authorizationconfig
