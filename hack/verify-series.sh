#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if `git am` does not apply the series to upstream's sources, or if the tree that it makes with the two patches of
# a release is not upstream/kubernetes, or lacks a package that kube-apiserver imports. It takes a minute. `make
# series-builds` also compiles the server.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
series=$(mktemp -d)
trap 'rm -rf "$series"' EXIT
hack/upstream/run export --out "$series" >/dev/null
hack/series-complete.sh --list "$series"
