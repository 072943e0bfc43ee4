#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if what `hack/upstream/run export` writes is not what `git am` takes.
set -o errexit -o nounset -o pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/series-applies.sh"
