#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Run the tests of all modules, and print a summary at the end; `make test` runs this script. If the
# tests of a module fail, those of the next module still run.
#
#   hack/test.sh PACKAGE...   the packages of the workspace
#
# With TEST_WITHIN, a number of seconds, the tests of commands do not begin after that time, and the summary says that
# they are skipped. CI sets it, because a slow machine would not end in time. All other tests always run.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

: "${GO:=go}"
# `make lint` runs go vet, with more checks than go test would run again for each package.
export GOFLAGS="${GOFLAGS:-} -vet=off"
work=$(mktemp -d)
log=$work/log
beside=
# A shell without a terminal lets its background jobs outlive an interrupt.
trap '[ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true; rm -rf "$work"' EXIT
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

# Tests of the commands that people type, and of the pages that show them: most of their time is kubectl's start, some
# thousand times. The boundary is tested by the other packages.
commands='/test/(docs|integration/(plugin|recipes|roletest)|bench/requests)$'
packages=$("$GO" list "$@")

# workspace NAME COUNT PACKAGE... tests packages of the workspace, COUNT at a time.
workspace() {
	local name=$1 count=$2
	shift 2
	[ $# = 0 ] || run "$name" "$GO" test -p "$count" -timeout 60m "$@"
}

# Tests of a running server wait more than they compute, so one package more than there are cores runs at a time: the
# tests of tenants, which are one long package, beside those of the workspace.
tenants() {
	local code=0
	env GOWORK=off "$GO" -C tenancy test -p 1 -timeout 60m ./... >"$work/tenants" 2>&1 || code=$?
	echo "$code" >"$work/ended"
}

# show_tenants prints what the tests of tenants print, until they end, and returns their exit code.
show_tenants() {
	tail --pid="$beside" -n +1 -f "$work/tenants"
	return "$(cat "$work/ended")"
}

mapfile -t boundary < <(grep -vE "$commands" <<<"$packages")
mapfile -t typed < <(grep -E "$commands" <<<"$packages")
# In a group of processes of its own, so that its servers can be ended with it.
set -o monitor
touch "$work/tenants"
tenants &
beside=$!
set +o monitor
workspace workspace "$(nproc)" "${boundary[@]}"
# The summary has the seconds that were left of them.
run tenancy show_tenants
run tenancy/bigquery env GOWORK=off "$GO" -C tenancy/bigquery test ./...
run hack/image env GOWORK=off "$GO" -C hack/image test ./...
run hack/attest env GOWORK=off "$GO" -C hack/attest test ./...
# Go does not see that files of another module changed, which the chart reads.
run test/gitops env GOWORK=off "$GO" -C test/gitops test -count=1 ./...
run test/ui env GOWORK=off "$GO" -C test/ui test ./...
if [ ${#typed[@]} != 0 ] && [ -n "${TEST_WITHIN:-}" ] && [ "$SECONDS" -gt "$TEST_WITHIN" ]; then
	rows+=("$(printf '%-20s %8s %8s %8s %8s  %s' commands - - - - "SKIPPED, as $TEST_WITHIN s are over")")
else
	workspace commands "$(($(nproc) + 1))" "${typed[@]}"
fi

printf '\n%-20s %8s %8s %8s %8s  %s\n' MODULE PASSED FAILED 'NO TESTS' SECONDS RESULT
printf '%s\n' "${rows[@]}"
printf '%d packages tested in %d s\n' "$tested" "$total"
exit "$failed"
