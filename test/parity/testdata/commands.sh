#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Run upstream's tests of kubectl (test/cmd) against a server that runs already.
#
#   commands.sh TREE PORT BIN [TEST...]   the sources, the server's port, the folder of kubectl; run_TEST_tests
set -o errexit -o nounset -o pipefail

tree=$1
export SECURE_API_PORT=$2 ALLOW_SKEW=true
bin=$3
shift 3
# The tests write into the folder in which they run.
work=$(mktemp -d)
for entry in "$tree"/*; do [ "${entry##*/}" = hack ] || ln -s "$entry" "$work/"; done
cp -R "$tree/hack" "$work/"
cd "$work"
export KUBE_JUNIT_REPORT_DIR=$work/reports WHAT=$*

source hack/lib/init.sh
source hack/lib/test.sh
export THIS_PLATFORM_BIN=$bin
source test/cmd/legacy-script.sh

# Nothing is built, and etcd runs already.
make() { :; }
kube::etcd::start() { :; }
kube::etcd::cleanup() { :; }
kube::golang::verify_go_version() { :; }

setup
kube::util::trap_add 'rm -rf "$work"' EXIT
kubectl create -f - <<'NODE'
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}}, "status": {"capacity": {"memory": "1Gi"}}}
NODE
export SUPPORTED_RESOURCES=("*")
runTests
