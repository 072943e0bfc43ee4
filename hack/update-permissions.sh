#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Generate docs/permissions.md and the registry of permissions from the schema of a server, which the
# script starts. The server is bin/kube-granular, so run `make build` first.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec go run ./hack/permissions
