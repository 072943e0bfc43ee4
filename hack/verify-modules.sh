#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Fail if a go.mod lacks a module that its packages import, or requires one that they do not import.
#
# A module that builds without the workspace must be as `go mod tidy` writes it. The others need the
# patched tree, which go mod tidy does not know. For them, the script compares only the direct
# requirements, after replacing the pinned Kubernetes modules by the tree. It does not check the
# pinned versions, which hack/upstream sets.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
tree=upstream/kubernetes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for module in api examples/copier hack/attest hack/image hack/kind/stand-ins hack/upstream staging/src/kube-granular.dev/granular test/gitops test/ui; do
	GOWORK=off go -C "$module" mod tidy -diff || { echo "$module/go.mod is not tidy: run GOWORK=off go -C $module mod tidy" >&2; exit 1; }
done

# pinned are the Kubernetes modules that go.mod pins and the workspace replaces by the patched tree.
pinned=(k8s.io/kubernetes)
edits=("-replace=k8s.io/kubernetes=$root/$tree")
for folder in "$tree"/staging/src/k8s.io/*/; do
	module=k8s.io/$(basename "$folder")
	pinned+=("$module")
	edits+=("-dropreplace=$module@v0.0.0" "-replace=$module=$root/$folder")
done
printf '%s\n' "${pinned[@]}" >"$work/pinned"
edits+=("-replace=kube-granular.dev/api=$root/api" "-replace=kube-granular.dev/granular=$root/staging/src/kube-granular.dev/granular")

# direct FILE prints the direct requirements of a go.mod, except the pinned modules.
direct() {
	awk 'FNR == NR { pin[$1]; next }
		/^require \($/ { block = 1; next }
		/^\)$/ { block = 0 }
		/\/\/ indirect$/ { next }
		block && NF == 2 && !($1 in pin) { print $1, $2 }' "$work/pinned" "$1" | sort
}

for module in . test/bench test/cedar test/history; do
	cp "$module/go.mod" "$work/go.mod"
	cp go.sum "$work/go.sum"
	replaces=("${edits[@]}")
	[ "$module" = . ] || replaces+=("-replace=kube-granular.dev=$root")
	go mod edit "${replaces[@]}" "$work/go.mod"
	direct "$module/go.mod" >"$work/before"
	GOWORK=off go -C "$module" mod tidy -modfile="$work/go.mod" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
	direct "$work/go.mod" >"$work/after"
	diff -u --label "$module/go.mod" --label "what is imported" "$work/before" "$work/after" >&2 || { echo "$module/go.mod does not name what is imported" >&2; exit 1; }
done
