#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Make container images of kube-apiserver, the controller of tenants, or kube-granular; `make image` runs this script. It
# writes for each architecture a static binary without symbols, an archive for `docker load` and an SBOM, for
# all architectures together one OCI image layout, and checksums. It needs no daemon and no root. Builds
# are reproducible: the same tree gives the same bytes.
#
#   hack/image.sh kube-apiserver|tenancy-controller|kube-granular LDFLAGS OUT ARCHITECTURE...
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The order of names and the modes of files are not those of whoever calls this script.
export LC_ALL=C
umask 022

: "${GO:=go}"
name=$1 ldflags=$2 out=$(realpath -m "$3")
shift 3
arguments='' sources=digest
# Nobody can own a name that ends in .invalid (RFC 2606): without a repository of its own, no image is pulled from anywhere.
# Kubeadm asks for the server by its version, in which _ replaces +, because a tag can't have one. The name is
# the same for all architectures. The controller runs on any server, so its version is that of kube-granular.
case $name in
kube-apiserver)
	version=$(hack/version.sh server) title="kube-apiserver with granular authorization" more='"bind": ["/usr/local/bin/kube-apiserver"],'
	repository=${IMAGE_REPOSITORY:-registry.k8s.io}
	build() { "$GO" build -trimpath -buildvcs=false -ldflags "-s -w $ldflags" -o "$1" ./upstream/kubernetes/cmd/kube-apiserver; }
	;;
tenancy-controller)
	version=$(hack/version.sh granular) title="controller of tenants" more='"user": "65532:65532",'
	repository=${OWN_IMAGE_REPOSITORY:-registry.invalid} sources=tenancy
	build() { GOWORK=off "$GO" -C tenancy build -trimpath -buildvcs=false -ldflags "-s -w $ldflags" -o "$1" ./cmd/tenancy-controller; }
	;;
kube-granular)
	version=$(hack/version.sh granular) title="etcd and a kube-apiserver with granular authorization, to try it" more=
	repository=${OWN_IMAGE_REPOSITORY:-registry.invalid} arguments=', "up"'
	build() { "$GO" build -trimpath -buildvcs=false -ldflags "-s -w $ldflags" -o "$1" ./cmd/kube-granular; }
	;;
*)
	echo "usage: hack/image.sh kube-apiserver|tenancy-controller|kube-granular LDFLAGS OUT ARCHITECTURE..." >&2
	exit 2
	;;
esac
tag=$repository/$name:${version//+/_}
revision=$(hack/version.sh $sources)

mkdir -p "$out"
GOWORK=off "$GO" -C hack/image build -o "$out/image-tool" .
tool=$out/image-tool
rm -f "$out/$name"*
# A release has the binaries that it finds, so none stays of an architecture that is not built now.
for old in "$out"/*/"$name"; do
	case " $* " in *" $(basename "$(dirname "$old")") "*) ;; *) rm -f "$old" ;; esac
done
# Scanners match modules by version. Go has none for those that are built from a folder.
pins=$(awk '$1 ~ /^k8s\.io\// && $2 ~ /^v[0-9.]+$/ && NF == 2 { print $1 "=" $2 }' go.mod | sort -u | paste -sd ,)
for module in kube-granular.dev kube-granular.dev/api kube-granular.dev/granular kube-granular.dev/tenancy; do pins+=,$module=$(hack/version.sh granular); done

# Webhooks, identity providers and key services may have certificates of public authorities. On kubeadm's nodes
# the folder is the node's own.
root=$out/root
rm -rf "$root"
install -d -m 755 "$root" "$root/etc" "$root/etc/ssl" "$root/etc/ssl/certs"
"$tool" roots --out "$root/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' >"$root/etc/passwd"
chmod 644 "$root/etc/passwd" "$root/etc/ssl/certs/ca-certificates.crt"

specs=()
for arch in "$@"; do
	echo "    $name for linux/$arch: build" >&2
	binary=$out/$arch/$name
	mkdir -p "$out/$arch"
	CGO_ENABLED=0 GOOS=linux GOARCH=$arch build "$binary"
	spec=$(cat <<-SPEC
		{"tags": ["$tag"], "architecture": "$arch", "entrypoint": ["/usr/local/bin/$name"$arguments], $more
		"root": "$root", "files": {"/usr/local/bin/$name": "$binary"},
		"labels": {"org.opencontainers.image.title": "$title",
			"org.opencontainers.image.version": "$version",
			"org.opencontainers.image.revision": "$revision",
			"org.opencontainers.image.licenses": "Apache-2.0"}}
	SPEC
	)
	specs+=("$spec")
	echo "    $name for linux/$arch: pack" >&2
	"$tool" docker --out "$out/$name-linux-$arch.tar" <<<"[$spec]"
	"$tool" sbom --name "$name-${version//+/_}-linux-$arch" --version "$version" --pin "$pins" \
		--out "$out/$name-linux-$arch.spdx.json" "$binary"
done
(IFS=,; "$tool" oci --out "$out/$name.oci.tar" <<<"[${specs[*]}]")
(cd "$out" && sha256sum ./*.tar ./*.json | sed 's|  ./|  |' >SHA256SUMS)
echo "$tag, sources $revision:" >&2
(cd "$out" && ls -l "$name"* | awk '{ printf "    %s/%-40s %5.1f MB\n", "'"$out"'", $NF, $5 / 1e6 }') >&2
