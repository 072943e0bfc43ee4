// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gitrepo

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
)

// Revision returns a function that reads files at a revision of the project's own repository:
// go.mod, go.sum and the files in patches. For every other path, the function returns
// fs.ErrNotExist. Revision fails if the revision does not exist.
func Revision(ctx context.Context, root, rev string) (func(tree string) ([]byte, error), error) {
	commit, err := project(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%s is not a revision of the repository at %s", rev, root)
	}
	at := strings.TrimSpace(string(commit))
	listed, err := project(ctx, root, "ls-tree", "-r", "-z", "--name-only", at, "--", "go.mod", "go.sum", "patches")
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	for name := range strings.SplitSeq(string(listed), "\x00") {
		exists[name] = true
	}
	return func(tree string) ([]byte, error) {
		if !exists[tree] {
			return nil, fmt.Errorf("%s at %s: %w", tree, rev, fs.ErrNotExist)
		}
		return project(ctx, root, "cat-file", "blob", at+":./"+tree)
	}, nil
}

func project(ctx context.Context, root string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s in %s: %w", args[0], root, err)
	}
	return out, nil
}
