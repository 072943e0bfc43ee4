// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package carry implements the commands on the patches: apply, refresh, review, verify, export and rebase.
//
// The tree is the patched Kubernetes source in upstream/. Its wanted content is the pristine content (that of
// the upstream modules), changed by the patch series, with the files that code generators write. All of
// these are trees of a git repository. A command compares the wanted tree with the files on disk or with
// another revision, and then changes the files on disk or the patches. Invariant: a command that fails loses
// no edit of the tree, and does not change the patches. Only rebase merges.
package carry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/git"
	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// command is the command that messages name to call this tool.
const command = "hack/upstream/run"

// Carry runs the commands of the tool on one project.
type Carry struct {
	Project project.Project
	// Log receives progress, Out receives results.
	Log, Out io.Writer

	// source is the upstream version to which Apply applies the patches, even if go.sum has no sums for this
	// version, and repo is the folder of the repository. If they are empty, they are those of the project.
	source *source.Source
	repo   string
}

func (c *Carry) say(format string, args ...any) { fmt.Fprintf(c.Log, format+"\n", args...) }

// step prints that a long piece of work begins, and returns a function that prints how long it took.
func (c *Carry) step(what string) func() {
	begun := time.Now()
	c.say("%s ...", what)
	return func() { c.say("%s: done in %.1f s", what, time.Since(begun).Seconds()) }
}

// session is one run of a command, which has the lock of the tree.
type session struct {
	*Carry
	repo *git.Repo
	last *record
	lock *os.File
	// applied are the trees that patches result in, by the tree before and the patch.
	applied map[string]string
}

// record describes how the tree on disk was made. It is stored in upstream/manifest.json.
type record struct {
	// Inputs is a hash of everything that the tree depends on. It is empty while a run is in progress, and after
	// a run that failed.
	Inputs string `json:"inputs"`
	// Without are the folders of the series that were left out.
	Without []string `json:"without,omitempty"`
	// Pristine is the tree of upstream's files, and Tree that of the files as the tool last wrote them. Writing
	// is the tree that a run in progress writes.
	Pristine string `json:"pristine"`
	Tree     string `json:"tree"`
	Writing  string `json:"writing,omitempty"`
	// Generators are the last runs of the generators, by name. Running is the name of the one that is running.
	Generators map[string]output `json:"generators"`
	Running    string            `json:"running,omitempty"`
}

// output is a run of a generator: a hash of everything that its output depends on, and the files that differ
// from upstream's.
type output struct {
	Inputs string               `json:"inputs"`
	Files  map[string]git.Entry `json:"files"`
}

// begin waits for other runs of the tool to end, and opens the repository of the tree.
func (c *Carry) begin(ctx context.Context) (s *session, err error) {
	s = &session{Carry: c, applied: map[string]string{}, last: &record{}}
	if err := os.MkdirAll(c.Project.Path(project.Upstream), 0o755); err != nil {
		return nil, err
	}
	if s.lock, err = lock(c.Project.Path(project.Upstream+".lock"), func() { c.say("waiting for another run of this tool") }); err != nil {
		return nil, err
	}
	dir := cmp.Or(c.repo, c.Project.Path(project.Repo))
	roots := []string{project.Work, strings.TrimSuffix(project.Kubernetes, "/"), strings.TrimSuffix(project.Generators, "/")}
	if s.repo, err = git.Open(ctx, dir, c.Project.Root, c.Project.Path(project.Upstream+".index"), roots...); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	data, err := c.Project.Read(project.Manifest)
	if err == nil {
		err = json.Unmarshal(data, s.last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("%s: %w: remove that file and start again", project.Manifest, err), s.lock.Close())
	}
	if s.last.Tree == "" { // none, or that of an older version of this tool
		s.last = &record{Tree: git.Empty}
	}
	if s.last.Generators == nil {
		s.last.Generators = map[string]output{}
	}
	return s, nil
}

// lock locks a file against a second run of the tool, and calls wait if it has to wait.
func lock(path string, wait func()) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		wait()
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	return f, err
}

func (s *session) end() { _ = s.lock.Close() }

// save stores the record, atomically.
func (s *session) save() error {
	data, err := json.Marshal(s.last)
	name := s.Project.Path(project.Manifest)
	return errors.Join(err, os.WriteFile(name+".new", append(data, '\n'), 0o644), os.Rename(name+".new", name))
}

// edits returns the files on disk, as a tree, and the edits: the files that differ from what the tool last
// wrote. Paths limit them.
func (s *session) edits(ctx context.Context, paths ...string) (now string, edits []git.Change, err error) {
	if now, err = s.repo.Snapshot(ctx); err == nil {
		edits, err = s.repo.Changes(ctx, s.last.Tree, now, paths...)
	}
	return now, edits, err
}

// describe returns a list of edits for messages, at most twenty of them.
func describe(edits []git.Change) (text string) {
	for _, e := range edits[:min(len(edits), 20)] {
		text += "\n  " + e.Kind() + " " + e.Path
	}
	if len(edits) > 20 {
		text += "\n  ... and others"
	}
	return text
}

func dirty(edits []git.Change) error {
	return fmt.Errorf("%d files of the tree are edited, and no patch has the edits:%s\n"+
		"run `%s refresh` to write them into the patches, or `%s apply --discard` to lose them",
		len(edits), describe(edits), command, command)
}

// revision is the state of the project at one git revision, or in the working tree.
type revision struct {
	gomod, gosum []byte
	pins         source.Pins
	series       []*series.Series
	// patches are those of both series, the one after the other.
	patches []*series.Patch
	// modules are the folders of the project's own modules in the working tree.
	modules []string
	// src is the upstream version of the pins, and pristine its tree.
	src      *source.Source
	pristine string
	// trees are the tree before the first patch, and the tree after each patch.
	trees []string
}

// part returns the patches of the series with an index, and the trees before, between and after them.
func (r *revision) part(i int) (patches []*series.Patch, trees []string) {
	first := 0
	for _, one := range r.series[:i] {
		first += len(one.Patches)
	}
	patches = r.series[i].Patches
	return patches, r.trees[first : first+len(patches)+1]
}

// load reads one revision of the project. read reads the files of that revision. without are the names of
// folders of the series to leave out.
func (c *Carry) load(read series.Reader, without ...string) (r *revision, err error) {
	r = &revision{}
	if r.gomod, err = read("go.mod"); err != nil {
		return nil, err
	}
	if r.gosum, err = read("go.sum"); err != nil {
		return nil, fmt.Errorf("%w: the sums in it are needed to verify the upstream modules", err)
	}
	if r.pins, err = source.ReadPins(r.gomod, r.gosum); err != nil {
		return nil, err
	}
	if r.modules, err = c.Project.Modules(); err != nil {
		return nil, err
	}
	if r.series, err = series.Load(read, without...); err != nil {
		return nil, err
	}
	for _, one := range r.series {
		r.patches = append(r.patches, one.Patches...)
	}
	return r, nil
}

// digest returns a hash of everything that the tree depends on.
func (r *revision) digest() string {
	const format = "4 false" // of what apply makes
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n", format, r.pins.Identity(), strings.Join(r.modules, " "))
	for _, g := range generate.Table {
		fmt.Fprintf(h, "%s %d\n", g.Name, g.Version)
	}
	for _, p := range r.patches {
		fmt.Fprintf(h, "%s %d\n%s\n", p.Name, len(p.Raw), p.Raw)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// upstream opens the upstream version of a revision, once.
func (s *session) upstream(ctx context.Context, r *revision) error {
	if r.src != nil {
		return nil
	}
	if r.src = s.source; r.src == nil {
		gocmd, err := golang.Locate()
		if err != nil {
			return err
		}
		if r.src, err = source.Open(ctx, gocmd, r.pins); err != nil {
			return err
		}
	}
	var err error
	r.pristine, err = r.src.Tree(ctx, s.repo, s.say)
	return err
}
