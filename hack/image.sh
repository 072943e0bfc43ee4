#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Make container images of kube-apiserver; `make image` runs this script. It writes for each
# architecture a static binary without symbols, an archive for `docker load` and an SBOM, for all
# architectures together one OCI image layout, and checksums. It needs no daemon and no root. Builds
# are reproducible: the same tree gives the same bytes.
#
#   hack/image.sh VERSION LDFLAGS OUT ARCHITECTURE...
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

: "${GO:=go}"
version=$1 ldflags=$2 out=$3
shift 3
# The image has the name that kubeadm expects: _ replaces the + of the version, because a tag can't
# have one, and the name is the same for all architectures.
tag=${IMAGE_REPOSITORY:-registry.k8s.io}/kube-apiserver:${version//+/_}
revision=$(hack/version.sh digest)

mkdir -p "$out"
GOWORK=off "$GO" -C hack/image build -o "$PWD/$out/image-tool" .
tool=$out/image-tool
rm -f "$out"/kube-apiserver* "$out/SHA256SUMS"
# Scanners match modules by version. Go has none for those that are built from a folder.
pins=$(awk '$1 ~ /^k8s\.io\// && $2 ~ /^v[0-9.]+$/ && NF == 2 { print $1 "=" $2 }' go.mod | sort -u | paste -sd ,)
for module in kube-granular.dev kube-granular.dev/api kube-granular.dev/granular; do pins+=,$module=$(hack/version.sh granular); done

specs=()
for arch in "$@"; do
	echo "    kube-apiserver for linux/$arch: build" >&2
	binary=$out/$arch/kube-apiserver
	CGO_ENABLED=0 GOOS=linux GOARCH=$arch "$GO" build -trimpath -buildvcs=false -ldflags "-s -w $ldflags" \
		-o "$binary" ./upstream/kubernetes/cmd/kube-apiserver
	spec=$(cat <<-EOF
		{"tags": ["$tag"], "architecture": "$arch", "entrypoint": ["/usr/local/bin/kube-apiserver"],
		"files": {"/usr/local/bin/kube-apiserver": "$binary"}, "bind": ["/usr/local/bin/kube-apiserver"],
		"labels": {"org.opencontainers.image.title": "kube-apiserver with granular authorization",
			"org.opencontainers.image.version": "$version",
			"org.opencontainers.image.revision": "$revision",
			"org.opencontainers.image.licenses": "Apache-2.0"}}
	EOF
	)
	specs+=("$spec")
	echo "    kube-apiserver for linux/$arch: pack" >&2
	"$tool" docker --out "$out/kube-apiserver-linux-$arch.tar" <<<"[$spec]"
	"$tool" sbom --name "kube-apiserver-${version//+/_}-linux-$arch" --version "$version" --pin "$pins" \
		--out "$out/kube-apiserver-linux-$arch.spdx.json" "$binary"
done
(IFS=,; "$tool" oci --out "$out/kube-apiserver.oci.tar" <<<"[${specs[*]}]")
(cd "$out" && sha256sum kube-apiserver* >SHA256SUMS)
echo "$tag, sources $revision:" >&2
(cd "$out" && ls -l kube-apiserver* | awk '{ printf "    %s/%-40s %5.1f MB\n", "'"$out"'", $NF, $5 / 1e6 }') >&2
