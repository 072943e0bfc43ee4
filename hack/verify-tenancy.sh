#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if the code or the CRD that is generated from the Go types of LNamespace was stale. The script
# leaves the generated files up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

before=$(cat tenancy/api/v1alpha1/zz_generated.deepcopy.go tenancy/config/crd/*.yaml | sha256sum)
tenancy/hack/generate.sh
after=$(cat tenancy/api/v1alpha1/zz_generated.deepcopy.go tenancy/config/crd/*.yaml | sha256sum)
test "$before" = "$after" || { echo "tenancy/api or tenancy/config/crd was not as tenancy/hack/generate.sh writes it; it is now" >&2; exit 1; }
