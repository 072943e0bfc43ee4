#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Sign the checksums of a release, and write its signed provenance. It needs the sources of the release, Go and the key,
# and builds nothing of the release: so the key need not be where the release was built.
#
#   hack/release-sign.sh VERSION OUT
#
# RELEASE_KEY is the private key, RELEASE_BUILDER a URI of who built, RELEASE_REPOSITORY the URI of the repository.
# OWN_IMAGE_REPOSITORY, PLUGIN_URL, PLATFORMS, IMAGE_ARCHS and IMAGE_REPOSITORY are what the releaser chose.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

: "${GO:=go}"
version=$1 out=$(realpath "$2")
hack/release-notes.sh "$version" >/dev/null
[ -n "${RELEASE_KEY:-}" ] || { echo "release $version: RELEASE_KEY names no key" >&2; exit 1; }
# The signature says that the sources are those of this commit. About the programs it says only who built them.
sources=kube-granular-$version.tar.gz
cmp <(hack/release-sources.sh "$version") <(gzip -dc "$out/$sources") || { echo "release $version: $sources is not of this commit" >&2; exit 1; }
# The SBOM has the version of Go that the server was compiled by.
compiler=$(grep -hoE ' of go[0-9a-z.]+"' "$out"/kube-apiserver-linux-*.spdx.json | tr -d '"' | cut -d ' ' -f 3 | sort -u)
chosen=()
for name in OWN_IMAGE_REPOSITORY PLUGIN_URL PLATFORMS IMAGE_ARCHS IMAGE_REPOSITORY; do
	[ -z "${!name:-}" ] || chosen+=(--parameter "$name=${!name}")
done
GOWORK=off "$GO" -C hack/attest run . sign --key "$(realpath "$RELEASE_KEY")" --builder "$RELEASE_BUILDER" --version "$version" \
	--repository "${RELEASE_REPOSITORY:-}" --commit "$(git rev-parse HEAD)" \
	--material "go.mod=$(sha256sum go.mod | cut -c 1-64)" --material "go.sum=$(sha256sum go.sum | cut -c 1-64)" \
	--parameter "kubernetes=$(hack/version.sh kubernetes)" --parameter "sources=$(hack/version.sh digest)" \
	--parameter "go=$compiler" "${chosen[@]}" "$out"
