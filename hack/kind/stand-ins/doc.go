// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standins contains replacements for images that are only available from a registry, for
// a kind cluster that is built from Go modules and Debian packages alone (`make kind
// KIND_OFFLINE=1`). Its go.mod pins, as tools, the unchanged programs of such a cluster: kind
// itself, containerd, the CNI plugins and crictl.
//
// They are for tests on one machine. The invariant: none of them is in an image or an archive
// that `make image` or `make release` makes.
package standins
