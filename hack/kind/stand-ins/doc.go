// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standins contains replacements for programs whose images are only available from a
// registry. They are for a kind cluster that is built only from Go modules and Debian packages
// (`make kind KIND_OFFLINE=1`). The go.mod pins, as tools, the programs that such a cluster uses
// unchanged: kind itself, containerd, the CNI plugins and crictl.
//
// The replacements are for tests on one machine. The invariant: none of them is in an image or an
// archive that `make image` or `make release` makes.
package standins
