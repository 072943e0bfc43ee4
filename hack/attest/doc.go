// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command attest says where the files of a release come from, signs that, and verifies it.
//
//	SHA256SUMS ──┬──► signature ──► SHA256SUMS.sig
//	             └──► statement ──► envelope, signed ──► provenance.intoto.jsonl
//
// The statement is an in-toto statement v1 with SLSA's predicate for provenance v1, in a DSSE envelope. Both
// signatures are made with one Ed25519 key, which the releaser keeps. OpenSSL verifies the first as well.
//
// The invariant: verify accepts a folder only if each of its files is what the key's holder signed, none is
// missing, and none was added.
//
// The command makes no keys, keeps none, and uploads nothing.
package main
