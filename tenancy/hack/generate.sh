#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes what is generated from the Go types: deep copies and the definitions of its kinds.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off

go tool controller-gen object:headerFile=../hack/boilerplate.go.txt paths=./api/...
go tool controller-gen crd paths=./api/... output:crd:dir=config/crd
