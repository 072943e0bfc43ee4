#!/usr/bin/env bash
# Run every fuzz test of the project, each for FUZZTIME: a number of inputs (the default is
# 20000x) or a time such as 1h. Fail if a fuzz test finds a failing input, or if go test does not
# run it. The default is a number of inputs because with a time go test may fail only because the
# time is over ("context deadline exceeded").
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
	# If the output has no such line, go test found no fuzz test of this name, which is no error for
	# go test.
	grep -q '^fuzz: elapsed' <<<"$out" || {
		echo "$out"
		echo "$name matched no fuzzer" >&2
		exit 1
	}
	count=$((count + 1))
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' ':!upstream' | sed -E 's/:func /:/')
[ "$count" -gt 0 ] || { echo "there are no fuzzers" >&2; exit 1; }
echo "fuzzers: $count ran, none found anything"
