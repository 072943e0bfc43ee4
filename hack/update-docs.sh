#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Generate pages in docs/generated, and the JSON schemas in docs/schemas: attacks.md from the comments of
# the tests, controllers.md from upstream's bootstrap roles, conformance.md from upstream's list of tests,
# indirect-writers.md from the table of package overlay, and paths.md from the answers of a running
# server. The server is bin/kube-granular, so run `make build` first.
# `hack/update-docs.sh attacks` does not generate paths.md, and needs no server.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go run ./hack/docs
if [[ ${1:-} != attacks ]]; then
	# The test fails if -update has changed the page. Then it must pass in a second run without
	# -update.
	go test -count=1 ./test/integration/paths -update || go test -count=1 ./test/integration/paths
fi
