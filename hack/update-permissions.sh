#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Write docs/permissions.md and the registry of permissions from the running server.
# The server is bin/kube-granular: run `make build` first.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec go run ./hack/permissions
