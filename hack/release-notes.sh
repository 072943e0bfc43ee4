#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Print the section of the CHANGELOG for a release, and fail if the release can't be made: before it is built.
#
#   hack/release-notes.sh VERSION
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1 own=v$(cat VERSION)
fail() { echo "release $version: $1" >&2; exit 1; }

[[ $version == "$own" || $version == "$own"-* ]] || fail "the file VERSION says $own, and binaries and images are of that version"
[[ $version =~ ^v[0-9.]+(-[0-9A-Za-z.-]+)?$ ]] || fail "what follows - may only be letters, digits, dots and -: images are tagged with it"
[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed: a release is made from a commit"
[ -z "${SERIES_WITHOUT:-}" ] || fail "SERIES_WITHOUT leaves out $SERIES_WITHOUT, and the version would not say so"
tagged=$(git rev-parse -q --verify "refs/tags/$version^{commit}" || true)
[ -z "$tagged" ] || [ "$tagged" = "$(git rev-parse HEAD)" ] || fail "the tag $version is on another commit"
if [ -n "${RELEASE_KEY:-}" ]; then
	[ -r "$RELEASE_KEY" ] || fail "RELEASE_KEY: can't read $RELEASE_KEY"
	[ -n "${RELEASE_BUILDER:-}" ] || fail "RELEASE_BUILDER: a signed release names who built it, by a URI"
fi
# A pre-release, such as v0.1.0-rc.1, has no section of its own: its changes are in "Unreleased".
heading="## $version"
[[ $version != *-* ]] || heading="## Unreleased"
changes=$(awk -v heading="$heading" 'index($0, "## ") == 1 {
	on = index($0, heading) == 1 && substr($0, length(heading) + 1, 1) !~ /[0-9A-Za-z.-]/; next } on' CHANGELOG.md)
[ -n "$changes" ] || fail "CHANGELOG.md has no section \"$heading\""
printf '%s\n' "$changes"
