#!/usr/bin/env bash
# Runs every fuzzer of the project for FUZZTIME each (a number of inputs, default
# 20000x, or a time such as 1h), and fails if one finds something or matched nothing.
# The default is a number because go test can call the end of a time itself a failure
# ("context deadline exceeded"): it happens when the time is up while a worker answers.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${FUZZTIME:-20000x}
count=0
while IFS=: read -r file name; do
	dir=$(dirname "$file")
	echo "==> $name in $dir for $fuzztime" >&2
	out=$(go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -fuzzminimizetime 1x "./$dir" 2>&1) || {
		echo "$out"
		exit 1
	}
	# Without this line go test matched nothing and called it a success.
	grep -q '^fuzz: elapsed' <<<"$out" || {
		echo "$out"
		echo "$name matched no fuzzer" >&2
		exit 1
	}
	count=$((count + 1))
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' ':!upstream' | sed -E 's/:func /:/')
[ "$count" -gt 0 ] || { echo "there are no fuzzers" >&2; exit 1; }
echo "fuzzers: $count ran, none found anything"
