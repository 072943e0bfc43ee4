// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attacks generates docs/generated/attacks.md from the comments of the tests.
//
// Each attack is described next to the code that tries it, in the comment of a script or in the
// doc comment of a Go test:
//
//	# Attack: removing one's own finalizer as the last one, together with another field
//	# Answer: 403, it stays
//
// There are four fields, and each may continue on the next line:
//
//   - Attack: what is tried.
//   - Answer: the response of the server.
//   - Was: the former response, if it was different: "got through".
//   - Held by: other tests and scripts that check the response, separated by commas.
//
// An empty line or the end of the comment ends the block. Every script attack_*.txtar and every Go
// test TestAttackX must have at least one such block.
package attacks
