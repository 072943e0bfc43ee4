#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if `git am` can't apply the patches that `hack/upstream/run export` writes.
set -o errexit -o nounset -o pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/series-applies.sh"
