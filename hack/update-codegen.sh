#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Generate the code in api/: deep copies, defaults, OpenAPI, clients, listers, informers and apply
# configurations. The generators are built from the patched tree, so run `make upstream` first.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
export GOFLAGS=${GOFLAGS:--buildvcs=false -trimpath}

module=kube-granular.dev/api
types=$module/authority/v1alpha1
bin=$root/upstream/.bin
header=$root/hack/boilerplate.go.txt
mkdir -p "$bin"

for name in deepcopy-gen defaulter-gen applyconfiguration-gen client-gen lister-gen informer-gen; do
	go build -o "$bin/$name" "k8s.io/code-generator/cmd/$name"
done
# openapi-gen is built from the patched kube-openapi, which knows permission markers.
(cd upstream/generators/kube-openapi && GOWORK=$root/upstream/generators/go.work go build -o "$bin/openapi-gen" ./cmd/openapi-gen)

# Remove all generated code first, because the generators do not remove code of deleted types.
find api -name 'zz_generated.*.go' -delete
rm -rf api/client api/openapi

cd api
"$bin/deepcopy-gen" --go-header-file "$header" --output-file zz_generated.deepcopy.go "$types"
"$bin/defaulter-gen" --go-header-file "$header" --output-file zz_generated.defaults.go "$types"
"$bin/openapi-gen" --go-header-file "$header" --report-filename /dev/null \
	--output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go \
	--output-dir openapi --output-pkg $module/openapi "$types"
# Models of meta/v1 and rbac/v1 have names that differ from their Go packages. The generator would
# know these names only if the packages were among its inputs, but then it would also generate their
# models again. So the names are replaced here.
sed -i 's|"k8s.io/apimachinery/pkg/apis/meta/v1\.|"io.k8s.apimachinery.pkg.apis.meta.v1.|; s|"k8s.io/api/rbac/v1\.|"io.k8s.api.rbac.v1.|' openapi/zz_generated.openapi.go
"$bin/applyconfiguration-gen" --go-header-file "$header" \
	--output-dir client/applyconfiguration --output-pkg $module/client/applyconfiguration "$types"
"$bin/client-gen" --go-header-file "$header" --clientset-name versioned --input-base $module --input authority/v1alpha1 \
	--output-dir client/clientset --output-pkg $module/client/clientset \
	--apply-configuration-package $module/client/applyconfiguration
"$bin/lister-gen" --go-header-file "$header" \
	--output-dir client/listers --output-pkg $module/client/listers "$types"
"$bin/informer-gen" --go-header-file "$header" \
	--output-dir client/informers --output-pkg $module/client/informers \
	--versioned-clientset-package $module/client/clientset/versioned \
	--listers-package $module/client/listers "$types"
