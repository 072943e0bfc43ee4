#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Make the files of a release; `make release` runs this script. They are images, archives of the
# kubectl plugin, the patch series for `git am`, the project's sources, this version's section of the
# CHANGELOG, and checksums. Builds are reproducible: the same tree and Go version give the same
# bytes. Nothing is uploaded.
#
#   hack/release.sh VERSION OUT IMAGES PLUGIN
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1 out=$2 images=$3 plugin=$4
changes=$(hack/release-notes.sh "$version")

rm -rf "$out"
mkdir -p "$out"
printf '%s\n' "$changes" >"$out/CHANGES.md"

# Export the series as patches for `git am`, numbered in order, including patches that add the
# permission markers.
hack/upstream/run export --out "$(realpath "$out")/series" >&2

hack/series-applies.sh "$out/series"

# pack FOLDER makes an archive of a folder and removes the folder. The archive does not depend on
# times, owners or the order of files.
pack() {
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$out" -c "$1" | gzip -n9 >"$out/kube-granular-$version-$1.tar.gz"
	rm -rf "${out:?}/$1"
}
pack series
git archive --format=tar --prefix="kube-granular-$version/" HEAD | gzip -n9 >"$out/kube-granular-$version.tar.gz"
cp "$images"/kube-apiserver* "$out/"
# The folder may also contain archives of other versions, which are not copied.
cp "$plugin"/kubectl-granular-"$version"-* "$plugin/granular.yaml" "$out/"
grep -q "version: $version" "$out/granular.yaml" || { echo "$plugin/granular.yaml is of another version: make plugin-archives PLUGIN_VERSION=$version" >&2; exit 1; }
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out" | awk 'NF > 5 { printf "    %-60s %8.1f kB\n", $NF, $5 / 1e3 }' >&2
