#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if the generated code in api/ is stale. The folder api/ is restored at the end.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kept=$(mktemp -d)
cp -a api "$kept/api"
trap 'rm -rf api && mv "$kept/api" api && rmdir "$kept"' EXIT
hack/update-codegen.sh >"$kept/log" 2>&1 || { cat "$kept/log" >&2; rm "$kept/log"; exit 1; }
rm "$kept/log"
diff -ru "$kept/api" api >&2 || { echo "api/ is stale, run hack/update-codegen.sh" >&2; exit 1; }
