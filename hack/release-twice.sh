#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Build the release in bin/release again, in a clone at another path, and compare the checksums; `make
# release-twice` runs this script. RELEASE_CACHE=empty compiles everything anew, which takes ten times as long;
# without it, the clone shares the cache of compiled packages, and links anew. The second build has another path, umask,
# language and configuration of git. What the releaser chose, such as OWN_IMAGE_REPOSITORY, must be the same.
#
#   hack/release-twice.sh VERSION
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1 first=$PWD/bin/release/SHA256SUMS
[ -e "$first" ] || { echo "bin/release is empty: make release" >&2; exit 1; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
git clone -q --no-hardlinks . "$work/another-path"
if [ "${RELEASE_CACHE:-}" = empty ]; then export GOCACHE=$work/cache; fi
printf '[diff]\n\tcontext = 7\n\tnoprefix = true\n[tar]\n\tumask = 0077\n' >"$work/gitconfig"
umask 077
# A key gives other bytes in files that are not in the sums; the second build needs none.
env -u RELEASE_KEY GIT_CONFIG_GLOBAL="$work/gitconfig" LC_ALL="$(locale -a | grep -im 1 'utf-\?8' || echo C)" make -C "$work/another-path" release RELEASE_VERSION="$version"
diff "$first" "$work/another-path/bin/release/SHA256SUMS"
echo "two builds of $version give the same $(wc -l <"$first") files" >&2
