#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if docs/generated/attacks.md or controllers.md is stale, or if a document names a test, a script, a
# file or a heading that does not exist. docs/generated/paths.md is compared by its test.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec go run ./hack/docs --verify
