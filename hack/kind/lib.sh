# shellcheck shell=bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# What the scripts of this folder share: where things lie, and how a step shows its progress.

set -o errexit -o nounset -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/hack/kind
: "${GO:=go}"

# All that a cluster needs lies below one folder: what is built, which is kept, and what runs.
KIND_DIR=${KIND_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kube-granular/kind}
KIND_NODES=${KIND_NODES:-1}
KIND_OFFLINE=${KIND_OFFLINE:-}
KIND_REGISTRIES=${KIND_REGISTRIES:-} # For hack/kind/registries alone.
name=${KIND_NAME:-granular}
version=v$(sed -n 's|^[[:space:]]*k8s.io/kubernetes v\([0-9.]*\).*|\1|p' "$root/go.mod")+granular
node_image=kube-granular/node:${version//+/_}
export KUBECONFIG=$KIND_DIR/$name.kubeconfig
bits=$KIND_DIR/bits # Binaries.
run=$KIND_DIR/run   # Sockets, process IDs, and what is put back at the end.
kind=$bits/kind

if [ -n "$KIND_OFFLINE" ]; then
	export DOCKER_HOST=unix://$run/docker.sock
fi

# Where hack/kind/registries answers for the registries: an address of a bridge of the project's own
# daemon, which no other machine knows.
gateway=172.30.255.1
registries=172.30.255.2
authority=$KIND_DIR/registries.pem

# step WHAT COMMAND... runs a command, with its output in a log, and says every ten seconds how
# long it has been at it. If it fails, the end of the log is shown.
step() {
	local what=$1 started=$SECONDS log beat
	log=$KIND_DIR/logs/${what//[^a-zA-Z0-9]/-}.log
	shift
	mkdir -p "$KIND_DIR/logs"
	echo "==> $what" >&2
	(while sleep 10; do echo "    $what: $((SECONDS - started)) s so far" >&2; done) &
	beat=$!
	# In a process of its own, where a failing command ends it: in a condition it would not.
	( set -o errexit; "$@" ) >"$log" 2>&1 </dev/null &
	local code=0
	wait $! || code=$?
	kill "$beat" 2>/dev/null
	wait "$beat" 2>/dev/null || true
	if [ $code -ne 0 ]; then
		echo "    $what: failed after $((SECONDS - started)) s; the end of $log:" >&2
		tail -n 30 "$log" >&2
		exit 1
	fi
	echo "    $what: $((SECONDS - started)) s" >&2
}

# cached STAMP KEY reports whether what STAMP names was made from KEY.
cached() { [ "$(cat "$KIND_DIR/$1.made-from" 2>/dev/null)" = "$2" ]; }
made() { echo "$2" >"$KIND_DIR/$1.made-from"; }

# digest FILE... prints one digest of all files, by their contents.
digest() { cat "$@" | sha256sum | cut -c 1-16; }
