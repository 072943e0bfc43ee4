#!/usr/bin/env bash
# Run fuzz tests of the project, each for FUZZTIME: a number of inputs (the default is
# 20000x) or a time such as 1h. FUZZ is a pattern of their names; the default is all. Fail if one
# finds a failing input, or if go test does not run it. The default is a number of inputs because
# with a time go test may fail only because the time is over ("context deadline exceeded").
#
# With FUZZ_KEEP, so many of the inputs that reach new code are kept in testdata/fuzz of the package: of
# those up to 4 kB some of each length, because the shortest ones are mostly refused at once. To commit
# them makes each later run, and go test, begin with them.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${FUZZTIME:-20000x}
count=0
while IFS=: read -r file name; do
	[[ $name =~ ^(${FUZZ:-.*})$ ]] || continue
	dir=$(dirname "$file")
	echo "==> $name in $dir for $fuzztime" >&2
	out=$(go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -fuzzminimizetime 1x ${FUZZ_ARGS:-} "./$dir" 2>&1) || {
		echo "$out"
		exit 1
	}
	# If the output has no such line, go test found no fuzz test of this name, which is no error for
	# go test.
	grep '^fuzz: elapsed' <<<"$out" | tail -n 1 >&2 || {
		echo "$out"
		echo "$name matched no fuzzer" >&2
		exit 1
	}
	if [ -n "${FUZZ_KEEP:-}" ]; then
		found=$(go env GOCACHE)/fuzz/$(go list "./$dir")/$name
		mkdir -p "$dir/testdata/fuzz/$name"
		find "$found" -type f -size -4096c -printf '%s %p\n' 2>/dev/null | sort -n |
			awk -v n="$FUZZ_KEEP" '{ all[NR] = $2 } END { n = n < NR ? n : NR; for (i = 1; i <= n; i++) print all[int(i * NR / n)] }' |
			xargs -r cp -t "$dir/testdata/fuzz/$name"
	fi
	count=$((count + 1))
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' ':!upstream' | sed -E 's/:func /:/')
[ "$count" -gt 0 ] || { echo "there are no such fuzzers" >&2; exit 1; }
echo "fuzzers: $count ran, none found anything"
