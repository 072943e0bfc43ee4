// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standins holds the programs that take the place of images which only a registry has,
// in a kind cluster that is made from Go modules and Debian packages alone (`make kind
// KIND_OFFLINE=1`). Its go.mod pins, as tools, the programs that such a cluster takes as they are:
// kind itself, containerd, the CNI plugins and crictl.
//
// They are for tests on one machine. The invariant: none of them is in an image or an archive
// that `make image` or `make release` makes.
package standins
