// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"upstream": main})
}

// gomod is the go.mod of the scripts' project.
const gomod = `module kube-granular.dev

go 1.24

require (
	k8s.io/api v0.37.1
	k8s.io/apiextensions-apiserver v0.37.1
	k8s.io/client-go v0.37.1
	k8s.io/code-generator v0.37.1
	k8s.io/kube-aggregator v0.37.1
	k8s.io/kubernetes v1.37.1
)

replace (
	k8s.io/api v0.0.0 => k8s.io/api v0.37.1
	k8s.io/apiextensions-apiserver v0.0.0 => k8s.io/apiextensions-apiserver v0.37.1
	k8s.io/client-go v0.0.0 => k8s.io/client-go v0.37.1
	k8s.io/code-generator v0.0.0 => k8s.io/code-generator v0.37.1
	k8s.io/kube-aggregator v0.0.0 => k8s.io/kube-aggregator v0.37.1
)
`

// TestScripts runs the scripts in testdata/script. Each script runs in its own project, with an empty
// module cache and a proxy that serves tiny upstream modules.
func TestScripts(t *testing.T) {
	modules := newProxy(t)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	gitcmd, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOPROXY", "file://"+filepath.ToSlash(modules.dir))
			env.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			env.Setenv("GOMODCACHE", filepath.Join(env.WorkDir, ".modcache"))
			env.Setenv("GOFLAGS", "-modcacherw -trimpath")
			env.Setenv("GOSUMDB", "off")
			env.Setenv("GOTOOLCHAIN", "local")
			env.Setenv("GOWORK", "off")
			// Scripts that empty PATH find these commands by these variables.
			env.Setenv("GOEXE", gocmd)
			env.Setenv("GITEXE", gitcmd)
			if upstream, err := exec.LookPath("upstream"); err != nil {
				return err
			} else if err := os.MkdirAll(filepath.Join(env.WorkDir, "bin"), 0o755); err != nil {
				return err
			} else if err := os.Symlink(upstream, filepath.Join(env.WorkDir, "bin", "upstream")); err != nil {
				return err
			}
			env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(env.WorkDir, "gitconfig"))
			env.Values["snap"] = map[string]string{}
			root := filepath.Join(env.WorkDir, "p")
			env.Cd = root
			sums := modules.gosum("k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/client-go", "k8s.io/code-generator", "k8s.io/kube-aggregator", "k8s.io/kubernetes")
			for name, data := range map[string]string{
				"p/go.mod": gomod, "p/go.sum": sums, "p/patches/series": "",
				// These git settings of a developer must have no influence on patches.
				"gitconfig": "[user]\n\tname = D\n\temail = d@example.com\n[diff]\n\tmnemonicPrefix = true\n\tcontext = 9\n\talgorithm = minimal\n[core]\n\tautocrlf = true\n[commit]\n\tgpgSign = true\n",
			} {
				name = filepath.Join(env.WorkDir, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					return err
				}
				if _, err := os.Stat(name); err == nil {
					continue // the script has its own file with this name
				}
				if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"snap": snap, "touched": touched, "edit": edit,
		},
	})
}

// snap stores the time and size of every file, for touched.
func snap(ts *testscript.TestScript, _ bool, _ []string) {
	last := ts.Value("snap").(map[string]string)
	clear(last)
	for name, stat := range stats(ts) {
		last[name] = stat
	}
}

// touched fails unless exactly the files in its arguments, in order, were written or removed since
// the last snap.
func touched(ts *testscript.TestScript, neg bool, args []string) {
	last := ts.Value("snap").(map[string]string)
	var changed []string
	now := stats(ts)
	for name, stat := range now {
		if last[name] != stat {
			changed = append(changed, name)
		}
	}
	for name := range last {
		if _, ok := now[name]; !ok {
			changed = append(changed, name)
		}
	}
	sort.Strings(changed)
	if have, want := strings.Join(changed, "\n"), strings.Join(args, "\n"); (have == want) == neg {
		ts.Fatalf("touched:\n%s\nwant:\n%s", have, want)
	}
}

func stats(ts *testscript.TestScript) map[string]string {
	found := map[string]string{}
	root := ts.MkAbs(".")
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		// The tool's own records are not part of the tree.
		if rel == "upstream/manifest.json" || strings.HasPrefix(rel, "upstream/.") {
			return err
		}
		found[rel] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
		return err
	}))
	return found
}

// edit implements the script command edit FILE OLD NEW, which replaces a text in a file. In the texts,
// \n is a line end.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	lines := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	before, after := lines.Replace(args[1]), lines.Replace(args[2])
	if !strings.Contains(string(data), before) {
		ts.Fatalf("%s does not hold %q", args[0], before)
	}
	ts.Check(os.WriteFile(path, []byte(strings.Replace(string(data), before, after, 1)), 0o644))
}
