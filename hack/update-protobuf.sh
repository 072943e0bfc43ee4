#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Regenerate the protobuf code of the API types to which a patch adds fields, in upstream/kubernetes,
# with the generator of that tree. The server encodes custom resource definitions with this code. If
# the code is not regenerated, it drops new fields without an error.
#
# All programs except protoc are built from the modules that the tree requires. Upstream generates
# with protoc 23.4. Other versions of protoc write the same output; --verify shows whether that is
# true of the installed one:
#
#   hack/update-protobuf.sh            write the code into the tree
#   hack/update-protobuf.sh --verify   fail if that would change anything
#
# Then add the changes to their patch:
#
#   hack/upstream/run refresh --into crd/0002-protobuf

set -o errexit
set -o nounset
set -o pipefail

packages=(
  k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1
  k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1
)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tree=${root}/upstream/kubernetes
command -v protoc >/dev/null || { echo "update-protobuf: protoc is not installed (Debian: protobuf-compiler)" >&2; exit 1; }
[[ -d ${tree} ]] || { echo "update-protobuf: no patched tree, run: hack/upstream/run apply" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "${scratch}"' EXIT
mkdir -p "${scratch}/bin" "${scratch}/imports/github.com/gogo"

cd "${tree}"
export GOWORK=${root}/go.work
for program in \
  k8s.io/code-generator/cmd/go-to-protobuf \
  k8s.io/code-generator/cmd/go-to-protobuf/protoc-gen-gogo \
  golang.org/x/tools/cmd/goimports; do
  go build -o "${scratch}/bin/" "${program}"
done
ln -s "$(go list -m -f '{{.Dir}}' github.com/gogo/protobuf)" "${scratch}/imports/github.com/gogo/protobuf"

generated() {
  for package in "${packages[@]}"; do
    for file in generated.proto generated.pb.go generated.protomessage.pb.go; do
      [[ ! -f staging/src/${package}/${file} ]] || sha256sum "staging/src/${package}/${file}"
    done
  done
}

if [[ ${1:-} == --verify ]]; then
  before=$(generated)
  for package in "${packages[@]}"; do
    mkdir -p "${scratch}/was/${package}"
    cp -p "staging/src/${package}"/generated.* "${scratch}/was/${package}/"
  done
fi

PATH="${scratch}/bin:${PATH}" go-to-protobuf \
  --go-header-file hack/boilerplate/boilerplate.generatego.txt \
  --output-dir "${tree}/staging/src" \
  --proto-import "${tree}/staging/src" \
  --proto-import "${scratch}/imports" \
  --proto-import third_party/protobuf \
  --packages "$(IFS=, ; echo "${packages[*]}")" \
  --apimachinery-packages -k8s.io/apimachinery/pkg/util/intstr,-k8s.io/apimachinery/pkg/api/resource,-k8s.io/apimachinery/pkg/runtime/schema,-k8s.io/apimachinery/pkg/runtime,-k8s.io/apimachinery/pkg/apis/meta/v1

if [[ ${1:-} == --verify ]]; then
  after=$(generated)
  for package in "${packages[@]}"; do
    cp -p "${scratch}/was/${package}"/generated.* "staging/src/${package}/"
  done
  if [[ ${before} != "${after}" ]]; then
    echo "update-protobuf: the protobuf code is stale, run hack/update-protobuf.sh" >&2
    diff <(echo "${before}") <(echo "${after}") >&2 || true
    exit 1
  fi
fi
