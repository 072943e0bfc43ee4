// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func open(t *testing.T) *Repo {
	t.Helper()
	dir := t.TempDir()
	r, err := Open(context.Background(), filepath.Join(dir, ".repo"), dir, filepath.Join(dir, ".index"), "upstream")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// states writes two trees, whose difference is wantDiff.
func states(t *testing.T, r *Repo) (before, after string) {
	t.Helper()
	ctx := context.Background()
	before, err := r.Write(ctx, Empty, map[string][]byte{"dir/a.go": []byte("1\n2\n3\nfunc four() {\n5\n6\n7\n8"), "gone": []byte("x\n"),
		".gitattributes": []byte("*.go text eol=crlf -diff\n")})
	if err != nil {
		t.Fatal(err)
	}
	after, err = r.Edit(ctx, before, map[string]Entry{"dir/a.go": {Mode: "100644", Data: []byte("1\n2\n3\nfunc four() {\n5\n6\n7\neight\n")},
		"b.sh": {Mode: "100755", Data: []byte("#!/bin/sh\n")}, "gone": {}})
	if err != nil {
		t.Fatal(err)
	}
	return before, after
}

// TestIsolated checks that neither the git settings of the machine nor attributes in the sources have an
// influence on a diff, on what apply and am make of it, and on the files on disk.
func TestIsolated(t *testing.T) {
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
			r := open(t)
			before, after := states(t, r)
			got, err := r.Diff(ctx, before, after, "")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(wantDiff, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if applied, err := r.Apply(ctx, before, "", got); err != nil || applied != after {
				t.Errorf("apply: got %s, %v, want %s", applied, err, after)
			}
			mail := "From 0 Mon Sep 17 00:00:00 2001\nFrom: d <d@example.com>\nDate: Mon, 17 Sep 2001 00:00:00 +0000\nSubject: [PATCH] a: b\n\n---\n\n" + string(got) + "-- \nx\n"
			if applied, err := r.Am(ctx, before, "", [][]byte{[]byte(mail)}); err != nil || applied != after {
				t.Errorf("am: got %s, %v, want %s", applied, err, after)
			}
			if err := r.Checkout(ctx, Empty, after); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"dir/a.go": "-rw-r--r-- 1\n2\n3\nfunc four() {\n5\n6\n7\neight\n", "b.sh": "-rwxr-xr-x #!/bin/sh\n"}
			for file, text := range want {
				info, err := os.Stat(filepath.Join(r.work, file))
				if err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(filepath.Join(r.work, file))
				if got := info.Mode().String() + " " + string(data); err != nil || got != text {
					t.Errorf("%s: got %q, %v, want %q", file, got, err, text)
				}
			}
		})
	}
}

// TestOffset checks that a patch is refused which git alone would apply at another line.
func TestOffset(t *testing.T) {
	ctx := context.Background()
	r := open(t)
	before, after := states(t, r)
	diff, err := r.Diff(ctx, before, after, "")
	if err != nil {
		t.Fatal(err)
	}
	moved, err := r.Write(ctx, before, map[string][]byte{"dir/a.go": []byte("0\n1\n2\n3\nfunc four() {\n5\n6\n7\n8")})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.run(ctx, r.scratch, nil, "read-tree", moved); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.run(ctx, r.scratch, diff, "apply", "--cached", "--check"); err != nil {
		t.Fatalf("git itself refuses it, so the test shows nothing: %v", err)
	}
	if tree, err := r.Apply(ctx, moved, "", diff); err == nil || !strings.Contains(err.Error(), "offset 1 line") {
		t.Errorf("got %s, %v, want a refused offset", tree, err)
	}
}

func TestSnapshot(t *testing.T) {
	const file = "upstream/a/b.go"
	write := func(name, data string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(t *testing.T, root string)
		want   string // the kind of the edit and its path
	}{
		"nothing":             {change: func(*testing.T, string) {}},
		"same size":           {change: write(file, "new\n"), want: "edited " + file},
		"other size":          {change: write(file, "newer\n"), want: "edited " + file},
		"added":               {change: write("upstream/a/c.go", "c\n"), want: "added upstream/a/c.go"},
		"ignored by upstream": {change: write("upstream/a/ignored", "c\n"), want: "added upstream/a/ignored"},
		"stray":               {change: write("upstream/a/b.go~", "c\n")},
		"stray of upstream":   {change: write("upstream/a/kept.log", "c\n"), want: "edited upstream/a/kept.log"},
		"a swap file":         {change: write("upstream/a/.b.go.swp", "c\n")},
		"original":            {change: write("upstream/a/b.go.orig", "c\n")},
		"a test program":      {change: write("upstream/a/x.test", "c\n")},
		"elsewhere":           {change: write("other.go", "c\n")},
		"time alone": {change: func(t *testing.T, root string) {
			if err := os.Chtimes(filepath.Join(root, file), time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}},
		"removed": {want: "removed " + file, change: func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, file)); err != nil {
				t.Fatal(err)
			}
		}},
		"a link to the same content": {want: "edited " + file, change: func(t *testing.T, root string) {
			if err := os.Rename(filepath.Join(root, file), filepath.Join(root, file+"~")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(root, file+"~"), filepath.Join(root, file)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			r := open(t)
			tree, err := r.Write(ctx, Empty, map[string][]byte{file: []byte("old\n"), "upstream/a/kept.log": []byte("log\n"), "upstream/.gitignore": []byte("ignored\n")})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Checkout(ctx, Empty, tree); err != nil {
				t.Fatal(err)
			}
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(r.work, file), past, past); err != nil {
				t.Fatal(err)
			}
			tt.change(t, r.work)
			for range 2 {
				now, err := r.Snapshot(ctx)
				if err != nil {
					t.Fatal(err)
				}
				changes, err := r.Changes(ctx, tree, now)
				got := ""
				for _, c := range changes {
					got += c.Kind() + " " + c.Path
				}
				if err != nil || got != tt.want {
					t.Errorf("got %q, %v, want %q", got, err, tt.want)
				}
			}
		})
	}
}
