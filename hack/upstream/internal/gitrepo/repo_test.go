// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gitrepo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/hack/upstream/internal/series"
)

const wantDiff = `diff --git a/b.sh b/b.sh
new file mode 100755
--- /dev/null
+++ b/b.sh
@@ -0,0 +1 @@
+#!/bin/sh
diff --git a/dir/a.go b/dir/a.go
--- a/dir/a.go
+++ b/dir/a.go
@@ -5,4 +5,4 @@ func four() {
 5
 6
 7
-8
\ No newline at end of file
+eight
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
`

func states() (before, after series.State) {
	text := func(s string) series.Content { return series.Content{Data: []byte(s)} }
	before = series.State{
		"dir/a.go": text("1\n2\n3\nfunc four() {\n5\n6\n7\n8"),
		"b.sh":     {Absent: true},
		"gone":     text("x\n"),
	}
	after = series.State{
		"dir/a.go": text("1\n2\n3\nfunc four() {\n5\n6\n7\neight\n"),
		"b.sh":     {Data: []byte("#!/bin/sh\n"), Executable: true},
		"gone":     {Absent: true},
	}
	return before, after
}

// TestDiffIsolated checks that the git settings of the machine have no influence on a diff.
func TestDiffIsolated(t *testing.T) {
	hostile := t.TempDir()
	config := "[diff]\n\tnoprefix = true\n\tcontext = 1\n\texternal = false\n\trenames = copies\n\tindentHeuristic = false\n[core]\n\tautocrlf = true\n\tattributesFile = " + filepath.Join(hostile, "attributes") + "\n[color]\n\tui = always\n"
	for name, data := range map[string]string{".gitconfig": config, "attributes": "* -diff\n*.go diff=golang text eol=crlf\n"} {
		if err := os.WriteFile(filepath.Join(hostile, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, env := range map[string]map[string]string{
		"as it is": {},
		"hostile": {
			"HOME": hostile, "XDG_CONFIG_HOME": hostile, "GIT_CONFIG_GLOBAL": filepath.Join(hostile, ".gitconfig"),
			"GIT_DIR": hostile, "GIT_WORK_TREE": hostile, "GIT_INDEX_FILE": filepath.Join(hostile, "index"),
			"GIT_EXTERNAL_DIFF": "false", "GIT_DIFF_OPTS": "--unified=0", "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			ctx := context.Background()
			r, err := New(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			before, after := states()
			got, err := r.Diff(ctx, before, after)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(wantDiff, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestAm checks that git am and package series get the same result from a patch.
func TestAm(t *testing.T) {
	ctx := context.Background()
	r, err := New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before, after := states()
	p, err := series.Parse("patches/0001-x.patch", series.Render(series.Skeleton("server: serve"), []byte(wantDiff)))
	if err != nil {
		t.Fatal(err)
	}
	s := &series.Series{Patches: []*series.Patch{p}}
	applied, err := s.Apply(series.Pristine(func(path string) (series.Content, error) { return before[path], nil }))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(after, applied[1]); d != "" {
		t.Errorf("apply (-want +got):\n%s", d)
	}
	if _, err := r.Commit(ctx, before, "pristine\n"); err != nil {
		t.Fatal(err)
	}
	var mails [][]byte
	for _, p := range s.Patches {
		mails = append(mails, p.Raw)
	}
	if err := r.Am(ctx, mails); err != nil {
		t.Fatal(err)
	}
	got, err := r.State(ctx, "HEAD", []string{"b.sh", "dir/a.go", "gone"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(after, got); d != "" {
		t.Errorf("git am (-want +got):\n%s", d)
	}
}

// TestRevision checks Revision for a project that is in a folder below the root of its repository.
func TestRevision(t *testing.T) {
	root := t.TempDir()
	sub := filepath.Join(root, "sub")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=d", "-c", "user.email=d@example.com", "-c", "commit.gpgSign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(sub, "patches"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet")
	for _, data := range []string{"first\n", "second\n"} {
		if err := os.WriteFile(filepath.Join(sub, "patches", "series"), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "--quiet", "-m", data)
	}
	read, err := Revision(context.Background(), sub, "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := read("patches/series"); err != nil || string(data) != "first\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := read("patches/generators/series"); !os.IsNotExist(err) && err == nil {
		t.Errorf("got %v, want a file that does not exist", err)
	}
}
