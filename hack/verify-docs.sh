#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if a page of docs/generated that needs no server is stale, such as attacks.md, or if a
# document names a test, a script, a file or a heading that does not exist. docs/generated/paths.md
# needs a server; a test in test/integration/paths checks it.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec go run ./hack/docs --verify
