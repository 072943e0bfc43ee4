// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parity tests that a client can't tell our server from upstream's as long as nothing is configured.
//
//	clients ──► tee ──► the leader: upstream's server, without patches
//	             ├────► a follower: ours, all gates off
//	             └────► a follower: ours, all gates on, nothing configured
//
// The tee sends each request to all servers, answers with what the leader says, and compares what the others say: status,
// headers with warnings, and body. In TestParity each server also has an authorization webhook of its own, and the questions
// to these are compared, too: a server with its gates on asks one more question about a refused request, and no other. Then
// the audit logs, the names of metrics and the keys in the storages are compared. Each server has a storage of
// its own. So each has other UIDs, resource versions, tokens and allocated addresses, and the tee writes those of a
// follower into the requests for it.
//
// A read is asked once more in another format, and so is a write, as a dry run: JSON, YAML, Protocol Buffers, CBOR, tables
// and metadata alone.
//
// The invariant: a difference that is not in the short list of normalise fails the test. Only a read may be repeated, because
// parts of a server learn of a change a moment later. The events of an object's life are compared after it. Watches of other
// programs, and streams, go to the leader alone and are not compared.
package parity
