# shellcheck shell=bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Variables and functions that the scripts of this folder share: the paths of files, and the display
# of progress.

set -o errexit -o nounset -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/hack/kind
: "${GO:=go}"

# KIND_DIR is the folder with all files of kind clusters: built binaries and images, which are kept,
# and the state of running clusters.
KIND_DIR=${KIND_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kube-granular/kind}
KIND_NODES=${KIND_NODES:-1}
KIND_OFFLINE=${KIND_OFFLINE:-}
KIND_AUDIT_POLICY=${KIND_AUDIT_POLICY:-}
KIND_REGISTRIES=${KIND_REGISTRIES:-} # For hack/kind/registries alone.
name=${KIND_NAME:-granular}
version=$("$root/hack/version.sh" server)
node_image=kube-granular/node:${version//+/_}
export KUBECONFIG=$KIND_DIR/$name.kubeconfig
bits=$KIND_DIR/bits # Binaries.
run=$KIND_DIR/run   # Sockets, process IDs, and what is put back at the end.
kind=$bits/kind

if [ -n "$KIND_OFFLINE" ]; then
	export DOCKER_HOST=unix://$run/docker.sock
fi

# Each gate of this project that upstream does not turn on by itself.
every_gate=GranularAuthorization=true,MetadataReads=true,ProtectedAttributes=true,FieldPermissions=true
every_gate+=,SelectedAuthority=true,AuthorityDelegation=true,PrunedFieldManagement=true,CompiledEquality=true

# Where hack/kind/registries answers for the registries: an address of a bridge of the project's own
# daemon, which no other machine knows.
gateway=172.30.255.1
registries=172.30.255.2
authority=$KIND_DIR/registries.pem

# step WHAT COMMAND... runs a command with its output in a log file. Every ten seconds it prints how
# long the command has run. If the command fails, it prints the end of the log and exits.
step() {
	local what=$1 started=$SECONDS log beat
	log=$KIND_DIR/logs/${what//[^a-zA-Z0-9]/-}.log
	shift
	mkdir -p "$KIND_DIR/logs"
	echo "==> $what" >&2
	(while sleep 10; do echo "    $what: $((SECONDS - started)) s so far" >&2; done) &
	beat=$!
	# Run the command in a process of its own, in which a failing line ends it. In a condition of this
	# shell, bash would ignore errexit.
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

# cached STAMP KEY succeeds if the artifact STAMP was last made from inputs with the key KEY;
# made STAMP KEY records this.
cached() { [ "$(cat "$KIND_DIR/$1.made-from" 2>/dev/null)" = "$2" ]; }
made() { echo "$2" >"$KIND_DIR/$1.made-from"; }

# digest FILE... prints one digest of the contents of all files.
digest() { cat "$@" | sha256sum | cut -c 1-16; }
