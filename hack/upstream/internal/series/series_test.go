// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/hack/upstream/internal/git"
)

var good = Header{
	Subject: "server: serve",
	Body:    "It did not.\n\nNow it does.",
	Trailers: []Trailer{
		{"Carry", "permanent"}, {"Upstream", "none"}, {"Forwarded", "no"}, {"Seam", "server"}, {"Drop-When", "never"},
		{"Tested-By", "TestServe"}, {"Tested-By", "a long list,\n of tests"},
	},
	fixed: true,
}

const diff = `diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -1,3 +1,3 @@
 one
-two
+2
 three
`

func TestRenderParse(t *testing.T) {
	for name, h := range map[string]Header{
		"full":     good,
		"no body":  {Subject: "a: b", Trailers: good.Trailers, fixed: true},
		"skeleton": Skeleton("server: serve"),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("patches/0001-x.patch", Render(h, []byte(diff)))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(h, p.Header, cmp.AllowUnexported(Header{})); d != "" {
				t.Errorf("header (-want +got):\n%s", d)
			}
			if len(p.Files) != 1 || p.Files[0].Path != "a.go" {
				t.Errorf("files: %v", p.Files)
			}
		})
	}
}

func TestHeaderCheck(t *testing.T) {
	with := func(change func(*Header)) Header {
		h := good
		h.Trailers = append([]Trailer{}, good.Trailers...)
		change(&h)
		return h
	}
	for _, tt := range []struct {
		name string
		h    Header
		want []string // a part of each complaint
	}{
		{"good", good, nil},
		{"made by other hands", with(func(h *Header) { h.fixed = false }), []string{"does not begin with the lines"}},
		{"upper case", with(func(h *Header) { h.Subject = "server: Serve" }), []string{"is not of the form"}},
		{"no package", with(func(h *Header) { h.Subject = "serve" }), []string{"is not of the form"}},
		{"full stop", with(func(h *Header) { h.Subject = "server: serve." }), []string{"is not of the form"}},
		{"not ASCII", with(func(h *Header) { h.Subject = "server: sërve" }), []string{"is not of the form"}},
		{"too long", with(func(h *Header) { h.Subject = "server: " + strings.Repeat("x", 65) }), []string{"has 73 characters"}},
		{"no body", with(func(h *Header) { h.Body = "" }), []string{"has no body"}},
		{"body that ends the message", with(func(h *Header) { h.Body = "a\n--- b\ndiff --git" }), []string{`"--- b" would end`, `"diff --git" would end`}},
		{"no seam", with(func(h *Header) { h.Trailers = append(h.Trailers[:3], h.Trailers[4:]...) }), []string{"no trailer Seam:"}},
		{"two seams", with(func(h *Header) { h.Trailers = append(h.Trailers, Trailer{"Seam", "x"}) }), []string{"has 2 trailers Seam:"}},
		{"unknown carry", with(func(h *Header) { h.Trailers[0].Value = "on" }), []string{`Carry: is "on"`}},
		{"skeleton", with(func(h *Header) { h.Trailers[3].Value = unfilled }), []string{"Seam: is not filled in"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.h.Check()
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %d complaints", got, len(tt.want))
			}
			for i := range got {
				if !strings.Contains(got[i], tt.want[i]) {
					t.Errorf("got %q, want %q", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestApply(t *testing.T) {
	type content = map[string]string // by path
	text := func(s string) content { return content{"a.go": s} }
	absent := content{}
	file := func(head, body string) string { return "diff --git a/a.go b/a.go\n" + head + body }
	const change, add, remove = "--- a/a.go\n+++ b/a.go\n", "new file mode 100755\n--- /dev/null\n+++ b/a.go\n", "deleted file mode 100644\n--- a/a.go\n+++ /dev/null\n"
	for _, tt := range []struct {
		name, diff string
		before     content
		want       content
		mode       string // 100644 if empty
		err        string // a part of the expected error
	}{
		{name: "change", diff: diff, before: text("one\ntwo\nthree\n"), want: text("one\n2\nthree\n")},
		{name: "add", diff: file(add, "@@ -0,0 +1 @@\n+one\n"), before: absent, want: text("one\n"), mode: "100755"},
		{name: "remove", diff: file(remove, "@@ -1 +0,0 @@\n-one\n"), before: text("one\n"), want: absent},
		{name: "no newline", diff: file(change, "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n"), before: text("one\ntwo"), want: text("one\n2")},
		{name: "moved down by a line", diff: diff, before: text("zero\none\ntwo\nthree\n"), err: "line 1: conflict"},
		{name: "context changed", diff: diff, before: text("one\ntwo\nTHREE\n"), err: "line 3: conflict"},
		{name: "context differs in white space", diff: diff, before: text("one\ntwo\nthree \n"), err: "line 3: conflict"},
		{name: "too short", diff: diff, before: text("one\ntwo\n"), err: "unexpected EOF"},
		{name: "applied already", diff: diff, before: text("one\n2\nthree\n"), err: "line 2: conflict"},
		{name: "add what exists", diff: file(add, "@@ -0,0 +1 @@\n+one\n"), before: text(""), err: "adds a file that exists"},
		{name: "change what does not exist", diff: diff, before: absent, err: "changes a file that does not exist"},
		{name: "remove a part", diff: file(remove, "@@ -1 +0,0 @@\n-one\n"), before: text("one\ntwo\n"), err: "conflict"},
		{name: "moved down in the middle", diff: file(change, "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n"), before: text("zero\none\ntwo\nthree\nfour\n"), err: ":23: hunk does not apply to a.go, line 2: conflict"},
		{name: "second hunk", diff: file(change, "@@ -1,2 +1,2 @@\n-one\n+1\n two\n@@ -5,2 +5,2 @@\n five\n-six\n+6\n"), before: text("one\ntwo\n3\n4\nfive\nSIX\n"), err: ":27: hunk does not apply to a.go, line 6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse("patches/0001-x.patch", Render(good, []byte(tt.diff)))
			if err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{}
			for path, data := range tt.before {
				files[path] = []byte(data)
			}
			ctx := context.Background()
			dir := t.TempDir()
			repo, err := git.Open(ctx, dir+"/.repo", dir, dir+"/.index", ".")
			if err != nil {
				t.Fatal(err)
			}
			before, err := repo.Write(ctx, git.Empty, files)
			if err != nil {
				t.Fatal(err)
			}
			conflict := p.Conflict(files)
			after, err := repo.Apply(ctx, before, "", p.Raw)
			if tt.err != "" {
				if err == nil {
					t.Errorf("git applies it, want a conflict with %q", tt.err)
				}
				if conflict == nil || conflict.Patch != p.Name || conflict.Path != "a.go" || !strings.Contains(conflict.Error(), tt.err) {
					t.Fatalf("got %v, want a conflict with %q", conflict, tt.err)
				}
				return
			}
			if conflict != nil || err != nil {
				t.Fatal(conflict, err)
			}
			got, err := repo.Read(ctx, after, []string{"a.go"})
			if err != nil {
				t.Fatal(err)
			}
			have := content{}
			for path, data := range got {
				have[path] = string(data)
			}
			if d := cmp.Diff(tt.want, have); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			entries, err := repo.List(ctx, after)
			if want := stdcmp.Or(tt.mode, "100644"); err != nil || len(have) > 0 && entries["a.go"].Mode != want {
				t.Errorf("got mode %s, %v, want %s", entries["a.go"].Mode, err, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ diff, want string }{
		"rename":     {"diff --git a/a.go b/b.go\nsimilarity index 100%\nrename from a.go\nrename to b.go\n", "is renamed or copied"},
		"binary":     {"diff --git a/a.go b/a.go\nindex 1..2 100644\nBinary files a/a.go and b/a.go differ\n", "is a binary change"},
		"mode":       {"diff --git a/a.go b/a.go\nold mode 100644\nnew mode 100755\n", "changes its mode"},
		"outside":    {strings.ReplaceAll(diff, "a.go", "../a.go"), "is not a path inside the source tree"},
		"twice":      {diff + diff, "is changed twice"},
		"no context": {strings.Replace(diff, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", "@@ -1,0 +2 @@\n+2\n", 1), "has no context"},
		"nothing":    {"", "changes no file"},
		"cut short":  {strings.TrimSuffix(diff, " three\n"), "patches/0001-x.patch"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("patches/0001-x.patch", Render(good, []byte(tt.diff))); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	patch := string(Render(good, []byte(diff)))
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"two series":        {map[string]string{"patches/series": "# first\n0001-a.patch # why\n\n", "patches/0001-a.patch": patch, "patches/generators/series": "0001-b.patch\n", "patches/generators/0001-b.patch": patch}, ""},
		"no generators":     {map[string]string{"patches/series": ""}, ""},
		"no series":         {map[string]string{}, "patches/series"},
		"missing patch":     {map[string]string{"patches/series": "0001-a.patch\n"}, "patches/series: lists 0001-a.patch"},
		"missing generator": {map[string]string{"patches/series": "", "patches/generators/series": "0001-b.patch\n"}, "patches/generators/series: lists 0001-b.patch"},
		"same number":       {map[string]string{"patches/series": "0001-a.patch\n0001-b.patch\n", "patches/0001-a.patch": patch}, "patches/series:2: 0001-b.patch stands after 0001-a.patch, but its number is not higher"},
		"folders":           {map[string]string{"patches/series": "core\nspeed optional # as you like\nnone optional\n", "patches/core/series": "0001-a.patch\n", "patches/core/0001-a.patch": patch, "patches/speed/series": "0001-a.patch\n", "patches/speed/0001-a.patch": patch}, ""},
		"missing folder":    {map[string]string{"patches/series": "core\n"}, "patches/core/series"},
		"missing in folder": {map[string]string{"patches/series": "core\n", "patches/core/series": "0001-a.patch\n"}, "patches/core/series: lists 0001-a.patch"},
		"order in a folder": {map[string]string{"patches/series": "core\n", "patches/core/series": "0002-a.patch\n0001-a.patch\n"}, "patches/core/series:2: 0001-a.patch stands after 0002-a.patch, but its number is not higher"},
		"optional patch":    {map[string]string{"patches/series": "0001-a.patch optional\n"}, "is not of the form NNNN-name.patch"},
		"both":              {map[string]string{"patches/series": "core\n0001-a.patch\n"}, "patches/series:2: lists both"},
		"a path to one":     {map[string]string{"patches/series": "../core\n"}, "is not of the form NNNN-name.patch"},
		"a path":            {map[string]string{"patches/series": "../0001-a.patch\n"}, "is not of the form NNNN-name.patch"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(func(tree string) ([]byte, error) {
				if data, ok := tt.files[tree]; ok {
					return []byte(data), nil
				}
				return nil, &fs.PathError{Op: "open", Path: tree, Err: fs.ErrNotExist}
			})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzParse checks that Parse, applied to the output of Render, returns the same patch as before.
func FuzzParse(f *testing.F) {
	f.Add(Render(good, []byte(diff)))
	f.Add(Render(Skeleton("a: b"), []byte(strings.ReplaceAll(diff, "a.go", "b/c.go"))))
	f.Add(bytes.Replace(Render(good, []byte(diff)), []byte("---\n\n"), []byte("---\n a.go | 2 +-\n\n"), 1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Parse("patches/0001-x.patch", raw)
		if err != nil || len(p.Header.Check()) > 0 {
			return
		}
		again, err := Parse(p.Name, Render(p.Header, raw[diffStart(raw):]))
		if err != nil {
			t.Fatalf("%v in\n%s", err, Render(p.Header, raw[diffStart(raw):]))
		}
		if d := cmp.Diff(p.Header, again.Header, cmp.AllowUnexported(Header{})); d != "" {
			t.Fatalf("(-first +again):\n%s", d)
		}
		if len(p.Files) != len(again.Files) {
			t.Fatalf("%d files, then %d", len(p.Files), len(again.Files))
		}
	})
}
