#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Run the tests of all modules, and print a summary at the end; `make test` runs this script. If the
# tests of a module fail, those of the next module still run.
#
#   hack/test.sh PACKAGE...   the packages of the workspace
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

: "${GO:=go}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rows=() failed=0 tested=0 total=0

# run NAME COMMAND... runs the tests of one module, and adds a row with the results to the summary.
run() {
	local name=$1 started=$SECONDS result=passed ok bad none
	shift
	"$@" 2>&1 | tee "$log" || { result=FAILED failed=1; }
	# go test prints a line for each package: ok, FAIL, or that there are no test files.
	ok=$(grep -c '^ok  	' "$log" || true)
	bad=$(grep -c '^FAIL	' "$log" || true)
	none=$(grep -c 'no test files' "$log" || true)
	tested=$((tested + ok + bad)) total=$((total + SECONDS - started))
	rows+=("$(printf '%-20s %8s %8s %8s %8s  %s' "$name" "$ok" "$bad" "$none" "$((SECONDS - started))" "$result")")
}

# Tests of a running server wait more than they compute, so one package more than there are cores
# runs at a time.
run workspace "$GO" test -p "$(($(nproc) + 1))" -timeout 30m "$@"
run tenancy env GOWORK=off "$GO" -C tenancy test -timeout 30m ./...
run tenancy/bigquery env GOWORK=off "$GO" -C tenancy/bigquery test ./...
run hack/image env GOWORK=off "$GO" -C hack/image test ./...
run hack/attest env GOWORK=off "$GO" -C hack/attest test ./...
# Go does not see that files of another module changed, which the chart reads.
run test/gitops env GOWORK=off "$GO" -C test/gitops test -count=1 ./...
run test/ui env GOWORK=off "$GO" -C test/ui test ./...

printf '\n%-20s %8s %8s %8s %8s  %s\n' MODULE PASSED FAILED 'NO TESTS' SECONDS RESULT
printf '%s\n' "${rows[@]}"
printf '%d packages tested in %d s\n' "$tested" "$total"
exit "$failed"
