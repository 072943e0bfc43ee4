#!/usr/bin/env bash
# Copyright The kube-granular Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes a user of the cluster with a certificate, by a CertificateSigningRequest that the
# current kubeconfig's user creates and approves, and writes a kubeconfig.
set -euo pipefail
export LC_ALL=C # letters are those of ASCII

usage() { echo "usage: $0 NAME KUBECONFIG [GROUP…]" >&2; exit 2; }
[ $# -ge 2 ] || usage
name=$1 config=$2
shift 2
# The names are parts of a configuration of openssl, so a line break would add an organization.
check() {
	case $2 in '' | *[!A-Za-z0-9@._:-]*) echo "error: a $1 consists of letters, digits and the characters @._:-" >&2; exit 2 ;; esac
}
check name "$name"
case $name in system:* | lnamespace:*) echo "error: $name is a reserved name" >&2; exit 2 ;; esac
for group; do
	check group "$group"
	case $group in system:* | lnamespace:*) echo "error: $group is a reserved group" >&2; exit 2 ;; esac
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 077
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$dir/key" 2>/dev/null
{
	printf '[req]\nprompt = no\ndistinguished_name = dn\n[dn]\nCN = %s\n' "$name"
	i=0
	for group; do i=$((i + 1)); printf '%d.O = %s\n' "$i" "$group"; done
} >"$dir/conf"
openssl req -new -key "$dir/key" -config "$dir/conf" -out "$dir/csr"

request=$(kubectl create --output name --filename - <<EOF
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata:
  generateName: new-user-
spec:
  request: $(base64 -w0 <"$dir/csr")
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
EOF
)
kubectl certificate approve "${request#*/}" >/dev/null
kubectl wait --for=jsonpath='{.status.certificate}' --timeout="${TIMEOUT:-60s}" "$request" >/dev/null
kubectl get "$request" --output jsonpath='{.status.certificate}' | base64 -d >"$dir/crt"
kubectl delete "$request" >/dev/null

kubectl config view --raw --minify --flatten --output yaml >"$dir/config"
kubectl --kubeconfig "$dir/config" config set-credentials "$name" --client-certificate="$dir/crt" --client-key="$dir/key" --embed-certs >/dev/null
kubectl --kubeconfig "$dir/config" config set-context "$name" --cluster="$(kubectl config view --minify --output jsonpath='{.clusters[0].name}')" --user="$name" >/dev/null
kubectl --kubeconfig "$dir/config" config use-context "$name" >/dev/null
kubectl --kubeconfig "$dir/config" config view --raw --minify --flatten --output yaml >"$config"
echo "$config: user $name"
