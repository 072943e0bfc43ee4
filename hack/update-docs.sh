#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Write docs/generated: the attacks from the comments of the tests, what controllers may do
# from upstream's bootstrap roles, and the paths from
# what the running server answers. The server is bin/kube-granular: run `make build` first.
# `hack/update-docs.sh attacks` writes the first two alone, which need no server.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go run ./hack/docs
if [[ ${1:-} != attacks ]]; then
	# A run that writes fails, so that nobody takes it for a test: the next one has to pass.
	go test -count=1 ./test/integration/paths -update || go test -count=1 ./test/integration/paths
fi
