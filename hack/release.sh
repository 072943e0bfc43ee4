#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Make what a release consists of, as `make release` does: images, archives of the plugin, the series
# for `git am`, the project's sources, this version's part of the CHANGELOG, and checksums of all. The
# same tree and Go version make the same bytes. Nothing is uploaded.
#
#   hack/release.sh VERSION OUT IMAGES PLUGIN
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1 out=$2 images=$3 plugin=$4
[ -z "$(git status --porcelain)" ] || { echo "the tree has changes that are not committed: a release is made from a commit" >&2; exit 1; }
# A version such as v0.1.0-rc.1 is not the last word: its changes are those that are not released.
heading="## $version"
[[ $version != *-* ]] || heading="## Unreleased"
changes=$(awk -v heading="$heading" 'index($0, "## ") == 1 { on = index($0 " ", heading) == 1; next } on' CHANGELOG.md)
[ -n "$changes" ] || { echo "CHANGELOG.md has no section \"$heading\"" >&2; exit 1; }

rm -rf "$out"
mkdir -p "$out"
printf '%s\n' "$changes" >"$out/CHANGES.md"

# The series as patches for git am, in the order in which they apply, markers included.
hack/upstream/run export --out "$(realpath "$out")/series" >&2

hack/series-applies.sh "$out/series"

# pack makes a tar of a folder, without times, owners and the order of its files, and removes it.
pack() {
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$out" -c "$1" | gzip -n9 >"$out/kube-granular-$version-$1.tar.gz"
	rm -rf "${out:?}/$1"
}
pack series
git archive --format=tar --prefix="kube-granular-$version/" HEAD | gzip -n9 >"$out/kube-granular-$version.tar.gz"
cp "$images"/kube-apiserver* "$out/"
# Archives of another version may lie beside them.
cp "$plugin"/kubectl-granular-"$version"-* "$plugin/granular.yaml" "$out/"
grep -q "version: $version" "$out/granular.yaml" || { echo "$plugin/granular.yaml is of another version: make plugin-archives PLUGIN_VERSION=$version" >&2; exit 1; }
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out" | awk 'NF > 5 { printf "    %-60s %8.1f kB\n", $NF, $5 / 1e3 }' >&2
