#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Print what identifies a build. All other scripts and the Makefile call this one.
#
#   hack/version.sh kubernetes   the version of Kubernetes that the series is made for: v1.37.2
#   hack/version.sh granular     the version of kube-granular: v0.1.0
#   hack/version.sh server       both, as servers and binaries report it: v1.37.2+granular.0.1.0
#   hack/version.sh tag          the same for an image, whose tag can't have a plus sign
#   hack/version.sh digest       a digest of all sources that decide what a server does, without tests
#   hack/version.sh tenancy      a digest of all sources that decide what the controller of tenants and its plugins do
#
# RELEASE_VERSION=v0.1.0-rc.1 is that of a pre-release, which the file VERSION does not know.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

own=${RELEASE_VERSION:-v$(cat VERSION)}
own=${own#v}
kubernetes=v$(sed -n 's|^[[:space:]]*k8s.io/kubernetes v\([0-9.]*\).*|\1|p' go.mod)

# digest NAME... is a digest of files and folders. An archive of the sources has no git, and nothing but the sources.
digest() {
	local files names=${*//./\\.}
	files=$(git ls-files 2>/dev/null || true)
	[ -n "$files" ] || files=$(find . -type f | sed 's|^\./||')
	grep -E "^(${names// /|})(/|\$)" <<<"$files" | grep -vE '_test\.go$|/testdata/' |
		LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum | sha256sum | cut -c 1-40
}

case ${1:-} in
kubernetes) echo "$kubernetes" ;;
granular) echo "v$own" ;;
server) echo "$kubernetes+granular.$own" ;;
tag) echo "${kubernetes}_granular.$own" ;;
digest) digest VERSION go.mod go.sum api cmd hack/upstream patches pkg speed staging ;;
tenancy) digest VERSION api tenancy/go.mod tenancy/go.sum tenancy/api tenancy/cmd tenancy/config tenancy/internal ;;
*)
	echo "usage: hack/version.sh kubernetes|granular|server|tag|digest|tenancy" >&2
	exit 2
	;;
esac
