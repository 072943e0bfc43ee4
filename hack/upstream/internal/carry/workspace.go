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
	"strings"

	"golang.org/x/mod/modfile"

	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
)

// workspaces returns both go.work files: the file of the project and the file of the generators. The project's
// go.work lists the project's own modules and the upstream modules. It has the godebug lines of upstream's
// go.work, and a go line that is at least upstream's, so that every build uses the same settings as upstream.
func workspaces(src *source.Source, modules []string) (map[string][]byte, error) {
	upstream, err := src.Upstream("go.work")
	if err != nil {
		return nil, err
	}
	theirs, err := modfile.ParseWork("go.work of "+source.Kubernetes, upstream, nil)
	if err != nil {
		return nil, err
	}
	lines := []string{src.GoLine}
	if theirs.Go != nil {
		lines = append(lines, theirs.Go.Version)
	}
	newest := func() string {
		return slices.MaxFunc(lines, func(a, b string) int { return version.Compare("go"+a, "go"+b) })
	}
	generators := render(newest(), nil, []string{"./gengo", "./kube-openapi"})
	if src.Pins.Go != "" {
		lines = append(lines, src.Pins.Go)
	}
	uses := append(slices.Clone(modules), "./"+strings.TrimSuffix(project.Kubernetes, "/"))
	for _, m := range src.Staging {
		uses = append(uses, "./"+project.Kubernetes+"staging/src/"+m)
	}
	return map[string][]byte{project.GeneratorsWork: generators, project.Work: render(newest(), theirs.Godebug, uses)}, nil
}

func render(goLine string, godebug []*modfile.Godebug, uses []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "// Written by hack/upstream. Do not edit.\n\ngo %s\n", goLine)
	for _, g := range godebug {
		fmt.Fprintf(&b, "\ngodebug %s=%s\n", g.Key, g.Value)
	}
	fmt.Fprintf(&b, "\nuse (\n\t%s\n)\n", strings.Join(uses, "\n\t"))
	return []byte(b.String())
}

// sumFiles are the sums of both workspaces, with the files of upstream that they begin with.
var sumFiles = map[string]string{project.WorkSum: "go.work.sum", project.GeneratorsWorkSum: "go.sum"}

// seedSums adds upstream's sums to the go.work.sum files of both workspaces. It changes an existing file only if
// renew is true. The go command itself adds and removes lines of these files, so a change of them is no edit.
func (c *Carry) seedSums(src *source.Source, renew bool) error {
	for file, origin := range sumFiles {
		have, err := c.Project.Read(file)
		if err == nil && !renew {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		theirs, err := src.Upstream(origin)
		if err != nil {
			return err
		}
		all := strings.Split(string(have)+"\n"+string(theirs), "\n")
		slices.Sort(all)
		all = append(slices.Compact(all)[1:], "") // the first line is empty
		if err := c.Project.Write(file, []byte(strings.Join(all, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// sumsMissing reports whether the sum file of a workspace is missing.
func (c *Carry) sumsMissing() bool {
	for file := range sumFiles {
		if _, err := os.Stat(c.Project.Path(file)); err != nil {
			return true
		}
	}
	return false
}
