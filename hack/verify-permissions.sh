#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if docs/permissions.md or the registry of permissions is stale.
# The server is bin/kube-granular: run `make build` first.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec go run ./hack/permissions --verify
