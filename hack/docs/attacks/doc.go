// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attacks makes docs/generated/attacks.md of what the tests say of themselves.
//
// An attempt to get around the server stands with the code that makes it, in the comment
// of a script or in the doc comment of a Go test:
//
//	# Attack: removing one's own finalizer as the last one, together with another field
//	# Answer: 403, it stays
//
// Four fields are known, each may go on in the next line:
//
//   - Attack: what is tried.
//   - Answer: what comes of it.
//   - Was: what came of it once, if that was not the same: "got through".
//   - Held by: other tests and scripts that hold the answer as well, with commas between.
//
// An empty line of the comment, or the end of it, ends the block. Every script
// attack_*.txtar and every Go test TestAttackX has at least one.
package attacks
