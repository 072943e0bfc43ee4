#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Complete an exported series, so that the tree after `git am` builds: add a patch with the files that upstream's
# generators write, and a patch with this project's modules, which the patched packages import. Then check that
# the tree after `git am` is upstream/kubernetes, file by file, and build kube-apiserver in it.
#
#   hack/series-complete.sh [--list] FOLDER [LDFLAGS [BINARY]]
#
# LDFLAGS are those of the release. If BINARY is given, the built server must be the same file, byte for byte. With
# --list, the packages of kube-apiserver are loaded and not compiled, which takes seconds: each import must be found
# without a network, and those of this project in the tree.
set -o errexit -o nounset -o pipefail
export LC_ALL=C
umask 022
list=
[ "${1:-}" != --list ] || { list=1; shift; }
series=$(cd "$1" && pwd) ldflags=${2:-} binary=${3:+$(realpath "$3")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

: "${GO:=go}"
root=$PWD patched=$PWD/upstream/kubernetes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir "$tree"
export GIT_AUTHOR_DATE="2001-09-17T00:00:00Z" GIT_COMMITTER_DATE="2001-09-17T00:00:00Z"
# The settings of whoever calls this script, such as the context of a diff, would change the patches.
in_tree() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
		git -C "$tree" -c core.autocrlf=false -c core.fileMode=false -c gc.auto=0 -c user.name="kube-granular developers" -c user.email=developers@kube-granular.dev "$@"
}

# Upstream's sources, as in a clone of Kubernetes but without vendor.
folder() { GOWORK=off "$GO" list -m -f '{{.Dir}}' "$1"; }
tar -C "$(folder k8s.io/kubernetes)" --exclude=./vendor -c . | tar -C "$tree" -x
for module in "$patched"/staging/src/k8s.io/*/; do
	module=$(basename "$module")
	mkdir -p "$tree/staging/src/k8s.io/$module"
	tar -C "$(folder "k8s.io/$module")" -c . | tar -C "$tree/staging/src/k8s.io/$module" -x
done
chmod -R u+w "$tree"
in_tree init -q
# .gitattributes of Kubernetes hides generated files from diffs, and a patch must have them.
echo '* -text !diff' >"$tree/.git/info/attributes"
in_tree add --all --force
in_tree commit -q -m pristine
in_tree am --quiet "$series"/*.patch

# mail NAME WHAT commits what differs, and adds it to the series.
count=$(find "$series" -name '*.patch' | wc -l)
mail() {
	in_tree commit -q -m "$2"
	count=$((count + 1))
	in_tree format-patch -1 --stdout --no-signature --zero-commit --full-index --binary >"$series/$(printf %04d "$count")-$1.patch"
}

# What the generators write is in the patched tree. Its go.work is that of the project, above it.
in_tree --work-tree="$patched" add --all --force -- . ':!go.work' ':!go.work.sum' ':!vendor'
mail generated-files "all: write the generated files anew

The generators read the markers of permissions, and fields that the series adds."
in_tree reset -q --hard

# This project's modules, without tests, where upstream has its own.
own=$tree/staging/src/kube-granular.dev
copy() {
	mkdir -p "$own/$2"
	(cd "$root/$1" && git ls-files -z -- "${@:3}" | grep -zvE '_test\.go$|(^|/)testdata/' | tar --null -T - -c) | tar -C "$own/$2" -x
}
copy . server go.mod go.sum LICENSE VERSION pkg speed
copy api api .
copy staging/src/kube-granular.dev/granular granular .
# Upstream's go.mod replaces its own modules. Ours have no published version, so they are replaced by each other.
sed -i '/^replace ($/,/^)$/d; /^replace /d' "$own"/*/go.mod
printf '\nreplace (\n\tkube-granular.dev/api => ../api\n\tkube-granular.dev/granular => ../granular\n)\n' >>"$own/server/go.mod"
sed -i 's|^)|	./staging/src/kube-granular.dev/api\n	./staging/src/kube-granular.dev/granular\n	./staging/src/kube-granular.dev/server\n)|' "$tree/go.work"
in_tree add --all --force
mail modules "staging: add the modules of kube-granular

The patched packages import them. They are the sources of the release, without tests. After this patch, run
\"go work vendor\", because go.work names more modules than vendor/modules.txt."

# A second tree is made by git am alone.
in_tree checkout -q --detach "$(in_tree rev-list --max-parents=0 HEAD)"
in_tree am --quiet "$series"/*.patch
in_tree diff --quiet HEAD
differ=$(diff -rq "$tree" "$patched" --exclude=.git --exclude=vendor --exclude=go.work --exclude=go.work.sum | grep -v "Only in .*kube-granular.dev\|Only in $tree/staging/src: kube-granular.dev" || true)
[ -z "$differ" ] || { echo "the tree after git am is not upstream/kubernetes:" >&2; head -n 20 <<<"$differ" >&2; exit 1; }
echo "$count patches make $(in_tree ls-files | wc -l) files, the same as upstream/kubernetes" >&2

# A clone of Kubernetes has all modules that its go.work lists. The tree lacks samples that Kubernetes does not require.
grep -oE '\./staging/src/\S+' "$tree/go.work" | while read -r module; do
	[ -e "$tree/$module" ] || "$GO" work edit -dropuse="$module" "$tree/go.work"
done

if [ -n "$list" ]; then
	own=$(cd "$tree" && GOFLAGS=-mod=readonly GOPROXY=off "$GO" list -deps -f '{{with .Module}}{{.Path}} {{.Dir}}{{end}}' ./cmd/kube-apiserver | grep ^kube-granular.dev | sort -u)
	[ "$(grep -c " $tree/staging/src/kube-granular.dev/" <<<"$own")" = 3 ] || { printf 'modules that are not in the tree after git am:\n%s\n' "$own" >&2; exit 1; }
	echo "kube-apiserver has all its packages in the tree after git am" >&2
	exit
fi
(cd "$tree" && GOFLAGS="-trimpath -buildvcs=false" CGO_ENABLED=0 "$GO" build -ldflags "-s -w $ldflags" -o "$work/kube-apiserver" ./cmd/kube-apiserver)
"$work/kube-apiserver" --version >&2
[ -z "$binary" ] || cmp "$work/kube-apiserver" "$binary" || { echo "the tree after git am makes another kube-apiserver than $binary" >&2; exit 1; }
