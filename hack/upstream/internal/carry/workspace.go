// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"golang.org/x/mod/modfile"

	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// workspaces adds both go.work files to the plan: the file of the project and the file of the
// generators. The project's go.work lists the project's own modules and the upstream modules. It
// has the godebug lines of upstream's go.work, and a go line that is at least upstream's, so that
// every build uses the same settings as upstream.
func (p *plan) workspaces(src *source.Source, modules []string) error {
	upstream, err := src.Upstream("go.work")
	if err != nil {
		return fmt.Errorf("go.work of %s: %w", source.Kubernetes, err)
	}
	theirs, err := modfile.ParseWork("go.work of "+source.Kubernetes, upstream, nil)
	if err != nil {
		return err
	}
	goLine := src.Go
	if theirs.Go != nil && version.Compare("go"+theirs.Go.Version, "go"+goLine) > 0 {
		goLine = theirs.Go.Version
	}
	uses := slices.Clone(modules)
	uses = append(uses, "./"+strings.TrimSuffix(project.Kubernetes, "/"))
	for _, m := range src.Staging {
		uses = append(uses, "./"+project.Kubernetes+"staging/src/"+m)
	}
	ours := goLine
	if version.Compare("go"+src.Pins.Go, "go"+ours) > 0 {
		ours = src.Pins.Go
	}
	p.own(project.Work, render(ours, theirs.Godebug, uses))
	p.own(project.GeneratorsWork, render(goLine, nil, []string{"./gengo", "./kube-openapi"}))
	return nil
}

func (p *plan) own(file string, data []byte) {
	p.want[file], p.data[file] = source.Hash(data), series.Content{Data: data}
}

func render(goLine string, godebug []*modfile.Godebug, uses []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "// Written by hack/upstream. Do not edit.\n\ngo %s\n", goLine)
	for _, g := range godebug {
		fmt.Fprintf(&b, "\ngodebug %s=%s\n", g.Key, g.Value)
	}
	b.WriteString("\nuse (\n")
	for _, u := range uses {
		fmt.Fprintf(&b, "\t%s\n", u)
	}
	b.WriteString(")\n")
	return []byte(b.String())
}

// seedSums adds upstream's sums to the go.work.sum files of both workspaces. It changes an
// existing file only if renew is true. The go command itself adds and removes lines of these
// files, so a change of them is not an edit.
func (c *Carry) seedSums(src *source.Source, renew bool) error {
	for file, from := range map[string]string{project.WorkSum: "go.work.sum", project.GeneratorsWorkSum: "go.sum"} {
		have, err := c.Project.Read(file)
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return err
		}
		if !missing && !renew {
			continue
		}
		theirs, err := src.Upstream(from)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		lines := map[string]bool{}
		for line := range strings.Lines(string(have) + string(theirs)) {
			lines[strings.TrimRight(line, "\n")] = true
		}
		delete(lines, "")
		all := make([]string, 0, len(lines))
		for line := range lines {
			all = append(all, line)
		}
		sort.Strings(all)
		if err := os.WriteFile(c.Project.Path(file), []byte(strings.Join(append(all, ""), "\n")), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sumsMissing reports whether the sum file of a workspace is missing.
func (c *Carry) sumsMissing() bool {
	for _, file := range []string{project.WorkSum, project.GeneratorsWorkSum} {
		if _, err := os.Stat(c.Project.Path(file)); errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// unknown returns the edits without stray files. A stray file is an added file that the tool
// ignores, such as a file of an editor. wanted returns the sum that a file of the tree must have.
// A file that the tree must have is never a stray file.
func unknown(edits []tree.Edit, wanted func(file string) string) []tree.Edit {
	var kept []tree.Edit
	for _, e := range edits {
		if e.Was == tree.Gone && tree.Stray(e.Tree) && wanted(e.Tree) == tree.Gone {
			continue
		}
		kept = append(kept, e)
	}
	return kept
}
