#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Make the files of a release; `make release` runs this script. They are images and their SBOMs, archives of all
# programs, manifests and the Helm chart of the controller of tenants, the patch series for `git am`, the
# project's sources, this version's section of the CHANGELOG, and checksums. Builds
# are reproducible: the same tree and Go version give the same bytes. Nothing is uploaded.
#
#   hack/release.sh VERSION OUT IMAGES PROGRAMS LDFLAGS
#
# RELEASE_COMMIT is the commit from which images and programs were built. OWN_IMAGE_REPOSITORY and PLUGIN_URL are as in
# CONTRIBUTING.md. hack/release-sign.sh signs the files.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The order of names and the modes of files are not those of whoever calls this script.
export LC_ALL=C
umask 022

: "${GO:=go}"
version=$1 out=$2 images=$3 programs=$4 ldflags=$5
changes=$(hack/release-notes.sh "$version")
[ "$(git rev-parse HEAD)" = "$RELEASE_COMMIT" ] || { echo "release $version: there is a new commit since the images and programs were built" >&2; exit 1; }

rm -rf "$out"
mkdir -p "$out"
printf '%s\n' "$changes" >"$out/CHANGES.md"

# archive NAME FOLDER FILE... makes an archive of files of the folder FOLDER. It does not depend on times, owners or
# the order of files.
archive() {
	local name=$1 folder=$2
	shift 2
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -C "$folder" -c "$@" | gzip -n9 >"$out/$name"
}

# pack NAME FOLDER makes an archive of the folder FOLDER of $out, and removes the folder.
pack() {
	archive "$1" "$out" "$2"
	rm -rf "${out:?}/$2"
}

# Export the series as patches for `git am`, numbered in order, and prove that the tree which they make builds.
hack/upstream/run export --out "$(realpath "$out")/series" >&2
server=$images/$("$GO" env GOARCH)/kube-apiserver
[ -e "$server" ] || server=
GO=$GO hack/series-complete.sh "$out/series" "$ldflags" ${server:+"$server"}
pack "kube-granular-$version-series.tar.gz" series

hack/release-sources.sh "$version" | gzip -n9 >"$out/kube-granular-$version.tar.gz"

# The manifests are the folders for `kubectl apply -k`, with the name of the image. The chart has them as files,
# where the project has a link.
number=${version#v}
image=${OWN_IMAGE_REPOSITORY:-registry.invalid}/tenancy-controller
mkdir "$out/tenancy"
cp -r tenancy/config "$out/tenancy/"
cp -rL tenancy/charts/tenancy "$out/chart"
find "$out/tenancy" "$out/chart" -name '*.go' -delete
sed -i "s|image: tenancy-controller\$|image: $image:$version|; s|edit set image tenancy-controller=|edit set image $image=|" \
	"$out"/tenancy/config/{,components/}manager*/*.yaml
pack "kube-granular-tenancy-$version-manifests.tar.gz" tenancy
sed -i "s|^version: .*|version: $number|; s|^appVersion: .*|appVersion: $version|" "$out/chart/Chart.yaml"
sed -i "s|repository: tenancy-controller|repository: $image|" "$out/chart/values.yaml"
mv "$out/chart" "$out/tenancy"
pack "kube-granular-tenancy-$number.tgz" tenancy

for name in kube-apiserver tenancy-controller kube-granular; do
	ls "$images/$name"-linux-*.tar >/dev/null
	cp "$images/$name"*.tar "$images/$name"*.spdx.json "$out/"
done
# The server alone, for a machine on which it is no container.
for binary in "$images"/*/kube-apiserver; do
	folder=$(dirname "$binary")
	archive "kube-apiserver-$version-linux-$(basename "$folder").tar.gz" . --transform 's|.*/||' LICENSE "$binary"
done
# What skopeo copies to a registry has this digest there.
for layout in "$out"/*.oci.tar; do
	index=$(tar -xOf "$layout" index.json | tr -d ' \n')
	named=$(grep -o '"org.opencontainers.image.ref.name":"[^"]*"' <<<"$index" | cut -d '"' -f 4)
	printf '%s %s %s\n' "$(basename "$layout")" "$named" "$(grep -o '"digest":"[^"]*"' <<<"$index" | cut -d '"' -f 4)"
done >"$out/images.txt"
[ "$(grep -cE '^\S+ \S+:\S+ sha256:[0-9a-f]{64}$' "$out/images.txt")" = 3 ] || { echo "not one digest for each image:" >&2; cat "$out/images.txt" >&2; exit 1; }
# The folder may also contain archives of other versions, which are not copied.
for archive in "$programs"/*-"$version"-*.tar.gz "$programs"/*-"$version"-*.zip; do
	[ ! -e "$archive" ] || cp "$archive" "$out/"
done
# Krew's manifests say where the archives are.
if [ -n "${PLUGIN_URL:-}" ]; then
	for manifest in "$programs"/*.yaml; do
		grep -q "version: $version" "$manifest" || { echo "$manifest is of another version: make plugin-archives PLUGIN_VERSION=$version" >&2; exit 1; }
		sed -n "s|.*uri: $PLUGIN_URL/||p" "$manifest" | while read -r archive; do
			[ -e "$out/$archive" ] || { echo "$manifest names $archive, which is not there" >&2; exit 1; }
		done
		cp "$manifest" "$out/krew-$(basename "$manifest")"
	done
else
	echo "    without manifests for krew: PLUGIN_URL does not say where the archives will be" >&2
fi
sums=$(cd "$out" && sha256sum -- *)
printf '%s\n' "$sums" >"$out/SHA256SUMS"

ls -l "$out" | awk 'NF > 5 { printf "    %-60s %8.1f kB\n", $NF, $5 / 1e3 }' >&2
