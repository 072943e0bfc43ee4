// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
)

func TestEdits(t *testing.T) {
	const file = project.Kubernetes + "a/b.go"
	old := source.Hash([]byte("old\n"))
	write := func(data string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		change  func(t *testing.T, path string)
		want    []Edit
		touched bool
	}{
		"nothing":    {change: func(*testing.T, string) {}},
		"same size":  {change: write("new\n"), want: []Edit{{file, old, source.Hash([]byte("new\n"))}}},
		"other size": {change: write("newer\n"), want: []Edit{{file, old, source.Hash([]byte("newer\n"))}}},
		"time alone": {touched: true, change: func(t *testing.T, path string) {
			if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}},
		"removed": {want: []Edit{{file, old, Gone}}, change: func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
		"a link to the same content": {want: []Edit{{file, old, "not a regular file"}}, change: func(t *testing.T, path string) {
			if err := os.Rename(path, path+"~"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path+"~", path); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(path + "~") })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := project.Project{Root: t.TempDir()}
			m, err := LoadManifest(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Write(p, file, []byte("old\n"), false, Gone); err != nil {
				t.Fatal(err)
			}
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes(p.Path(file), past, past); err != nil {
				t.Fatal(err)
			}
			if err := m.Record(p, file, old, Gone); err != nil {
				t.Fatal(err)
			}
			if err := m.Save(); err != nil {
				t.Fatal(err)
			}
			tt.change(t, p.Path(file))
			if m, err = LoadManifest(p); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time, the manifest has the new times of touched files
				found, err := Scan(p)
				if err != nil {
					t.Fatal(err)
				}
				delete(found, file+"~")
				edits, touched, err := m.Edits(p, found)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.want, edits); d != "" || touched != tt.touched {
					t.Errorf("touched %v, edits (-want +got):\n%s", touched, d)
				}
				tt.touched = false
			}
		})
	}
}

func TestRemove(t *testing.T) {
	p := project.Project{Root: t.TempDir()}
	m, err := LoadManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	const a, b = project.Kubernetes + "x/y/a.go", project.Kubernetes + "x/b.go"
	for _, file := range []string{a, b} {
		if err := m.Write(p, file, []byte("old\n"), false, Gone); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Remove(p, a, "pristine"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(p.Path(a))); !os.IsNotExist(err) {
		t.Errorf("the folder left empty: %v, want it gone", err)
	}
	if _, err := os.Stat(p.Path(b)); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(Entry{Sum: Gone, Pristine: "pristine"}, m.Files[a]); d != "" {
		t.Errorf("a removed file of upstream (-want +got):\n%s", d)
	}
	if err := m.Remove(p, b, Gone); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Files[b]; ok {
		t.Error("a removed file of a patch is still in the manifest")
	}
	if _, err := os.Stat(p.Path(project.Upstream)); err != nil {
		t.Errorf("the folder of the tree itself: %v", err)
	}
}

func TestStray(t *testing.T) {
	for file, want := range map[string]bool{
		"upstream/kubernetes/a.go": false, "upstream/kubernetes/a.go~": true, "upstream/kubernetes/.a.go.swp": true,
		"upstream/kubernetes/a.go.orig": true, "upstream/kubernetes/x.test": true, "upstream/kubernetes/test/a.yaml": false,
	} {
		if got := Stray(file); got != want {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
}

// TestLock checks that a second run waits until the first run releases the lock.
func TestLock(t *testing.T) {
	p := project.Project{Root: t.TempDir()}
	unlock, err := Lock(p, func() { t.Error("the first run waits") })
	if err != nil {
		t.Fatal(err)
	}
	waits, through := make(chan struct{}), make(chan error)
	go func() {
		second, err := Lock(p, func() { close(waits) })
		if err == nil {
			second()
		}
		through <- err
	}()
	<-waits
	select {
	case <-through:
		t.Error("the second run did not wait")
	default:
	}
	unlock()
	if err := <-through; err != nil {
		t.Error(err)
	}
}
