#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Check that `git am` applies a series of patches to upstream's sources, in the version that go.mod
# pins. The sources are the files that the patches change, copied from upstream's Go modules. If no
# folder of patches is given, the script exports the series first.
#
#   hack/series-applies.sh [FOLDER]
set -o errexit -o nounset -o pipefail
[ $# = 0 ] || series=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

: "${GO:=go}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir "$tree"
if [ $# = 0 ]; then
	series=$work/series
	GO=$GO hack/upstream/run export --out "$series" >/dev/null
fi
declare -A folders
# from MODULE prints the folder of a module in the version that go.mod pins.
from() {
	[ -n "${folders[$1]:-}" ] || folders[$1]=$(GOWORK=off "$GO" list -m -f '{{.Dir}}' "$1")
	echo "${folders[$1]}"
}

while read -r path; do
	module=k8s.io/kubernetes inside=$path
	if [[ $path == staging/src/k8s.io/* ]]; then
		rest=${path#staging/src/}
		module=k8s.io/$(cut -d / -f 2 <<<"$rest")
		inside=${rest#"$module"/}
	fi
	# If the module does not have the file, an earlier patch of the series adds it.
	[ -e "$(from "$module")/$inside" ] || continue
	mkdir -p "$tree/$(dirname "$path")"
	cp "$(from "$module")/$inside" "$tree/$path"
done < <(cat "$series"/*.patch | sed -n 's|^--- a/||p' | sort -u)
chmod -R u+w "$tree"
git -C "$tree" init -q
git -C "$tree" -c user.name=pristine -c user.email=pristine@localhost add --all
git -C "$tree" -c user.name=pristine -c user.email=pristine@localhost commit -q -m pristine
git -C "$tree" -c user.name=applied -c user.email=applied@localhost am --quiet "$series"/*.patch
echo "$(find "$series" -name '*.patch' | wc -l) patches apply with git am to $(git -C "$tree" ls-files | wc -l) files" >&2
