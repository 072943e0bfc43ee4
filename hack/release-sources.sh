#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Write the sources of a release to standard output, as a tar. The same commit gives the same bytes, whatever the caller's
# git is set to: who signs a release compares them.
#
#   hack/release-sources.sh VERSION
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec git -c tar.umask=0002 -c core.attributesFile=/dev/null archive --format=tar --prefix="kube-granular-$1/" HEAD
