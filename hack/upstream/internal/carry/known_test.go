// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"testing"

	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/project"
)

// TestKnownAfterKill checks that what a killed run leaves of a file that it was writing is no edit, and that
// everything else is one.
func TestKnownAfterKill(t *testing.T) {
	const file = project.Kubernetes + "a.go"
	ctx := context.Background()
	for name, tt := range map[string]struct {
		disk  string // none if empty
		other bool   // the run was about to write another file
		taken bool
	}{
		"whole":              {disk: "new content\n", taken: true},
		"a part":             {disk: "new con", taken: true},
		"removed":            {taken: true},
		"edited":             {disk: "new mine\n"},
		"longer":             {disk: "new content\nand mine\n"},
		"a part, not due":    {disk: "old con", other: true},
		"removed, not due":   {other: true},
		"upstream's content": {disk: "pristine\n", taken: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			repo, err := git.Open(ctx, dir+"/.repo", dir, dir+"/.index", "upstream")
			if err != nil {
				t.Fatal(err)
			}
			tree := func(contents map[string][]byte) string {
				t.Helper()
				id, err := repo.Write(ctx, git.Empty, contents)
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			old, pristine := tree(map[string][]byte{file: []byte("old content\n")}), tree(map[string][]byte{file: []byte("pristine\n")})
			writing, now := tree(map[string][]byte{file: []byte("new content\n")}), git.Empty
			if tt.other {
				writing = tree(map[string][]byte{file: []byte("old content\n"), file + "x": []byte("x")})
			}
			if tt.disk != "" {
				now = tree(map[string][]byte{file: []byte(tt.disk)})
			}
			s := &session{repo: repo, last: &record{Tree: old, Writing: writing}}
			edits, err := repo.Changes(ctx, old, now)
			if err != nil || len(edits) != 1 {
				t.Fatalf("edits: %v, %v", edits, err)
			}
			// The patches have changed since then, and want a third content.
			known, err := s.known(ctx, &plan{revision: &revision{pristine: pristine}, want: tree(map[string][]byte{file: []byte("third\n")})}, edits)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := settle(edits, known, s.last, ApplyOptions{}); (err == nil) != tt.taken {
				t.Errorf("got %v, want it taken over: %v", err, tt.taken)
			}
		})
	}
}
