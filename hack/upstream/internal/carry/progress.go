// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"kube-granular.dev/hack/upstream/internal/project"
)

// inProgress is the state of a rebase that stopped, stored in upstream/.rebase. That folder
// also has a file for each conflict that a person must resolve. With --continue the rebase
// starts again from the first patch and uses the resolved files, so it needs no other state.
type inProgress struct {
	To        string `json:"to"`
	SkipBuild bool   `json:"skipBuild,omitempty"`
	// Conflicts are all conflicts that the rebase has found so far.
	Conflicts []place `json:"conflicts,omitempty"`
}

// place identifies a conflict: a patch, and the file in which the patch has the conflict.
type place struct {
	Patch string `json:"patch"`
	File  string `json:"file"`
	// Removable is true if one side removed the file, so that a person may remove it too.
	Removable bool `json:"removable,omitempty"`
}

// find looks up the conflict that a patch has in a file. It returns false if no run of this rebase
// has found such a conflict so far.
func (p *inProgress) find(patch, file string) (place, bool) {
	for _, conflict := range p.Conflicts {
		if conflict.Patch == patch && conflict.File == file {
			return conflict, true
		}
	}
	return place{}, false
}

// tree returns the tree path of the file in which a person resolves the conflict.
func (p place) tree() string {
	return path.Join(project.Rebase, "conflicts", strings.TrimPrefix(p.Patch, "patches/"), p.File)
}

const stateFile = project.Rebase + "/state.json"

// begun reads the state of a rebase that stopped, if there is one, and sets the options to those
// of that rebase. It fails if a rebase has stopped but the options neither continue nor abort it,
// or if they continue or abort a rebase and none has stopped.
func (c *Carry) begun(o *RebaseOptions) (*inProgress, error) {
	p := &inProgress{}
	data, err := c.Project.Read(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		if o.Continue || o.Abort {
			return nil, errors.New("no rebase has stopped: start one with --to VERSION --write")
		}
		// A trial or an interrupted run may have left these folders. They are not needed.
		for _, left := range []string{"/conflicts", "/missing"} {
			if err := os.RemoveAll(c.Project.Path(project.Rebase + left)); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%s: %w: remove the folder %s", stateFile, err, project.Rebase)
	}
	if !o.Continue && !o.Abort {
		return nil, fmt.Errorf("a rebase to %s has stopped: continue it with `%s rebase --continue`, or give it up with `%s rebase --abort`", p.To, command, command)
	}
	o.To, o.Write, o.SkipBuild = p.To, true, o.SkipBuild || p.SkipBuild
	return p, nil
}

// resolved returns how a person resolved the conflict of a patch in a file: the content, or nil if the file is to
// be removed. It returns false if there was no such conflict, or if the file still has conflict markers.
func (c *Carry) resolved(p *inProgress, patch, file string) ([]byte, bool, error) {
	index, ok := p.find(patch, file)
	if !ok {
		return nil, false, nil
	}
	data, err := c.Project.Read(index.tree())
	switch {
	case errors.Is(err, fs.ErrNotExist) && !index.Removable:
		return nil, false, fmt.Errorf("%s: was deleted, but neither upstream nor the patch removes that file: run `%s rebase --abort` and start again", index.tree(), command)
	case errors.Is(err, fs.ErrNotExist):
		return nil, true, nil
	}
	return append([]byte{}, data...), !undecided(data), err
}

// undecided reports whether a file has conflict markers.
func undecided(data []byte) bool {
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) || bytes.HasPrefix(line, []byte("||||||| ")) {
			return true
		}
	}
	return false
}

// keep stores the state of a rebase that stops. If an earlier run has already stored the file of a
// conflict, keep does not overwrite it.
func (c *Carry) keep(p *inProgress, all []*clash) error {
	for _, one := range all {
		if _, met := p.find(one.Patch, one.Path); met || one.merged == nil || one.after != "" {
			continue
		}
		spot := place{one.Patch, one.Path, one.removed}
		full := c.Project.Path(spot.tree())
		if err := os.MkdirAll(path.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, one.merged, 0o644); err != nil {
			return err
		}
		p.Conflicts = append(p.Conflicts, spot)
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Project.Path(project.Rebase), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.Project.Path(stateFile), append(data, '\n'), 0o644)
}

// howTo returns instructions to resolve the conflicts.
func howTo(all []*clash) string {
	var b strings.Builder
	var edit []string
	later := 0
	markers := false
	for _, one := range all {
		switch {
		case one.after != "":
			later++
		case one.merged != nil:
			edit = append(edit, "  "+place{Patch: one.Patch, File: one.Path}.tree())
		default:
			markers = true
		}
	}
	if len(edit) > 0 {
		fmt.Fprintf(&b, "edit each of these files to the content that it must have right after its patch, and leave no line with <<<<<<<, ||||||| or >>>>>>> in it:\n%s\n", strings.Join(edit, "\n"))
	}
	if markers {
		b.WriteString("change the files in patches/ that are named above: correct the types and fields of markers, and remove patches that upstream has by now\n")
	}
	if later > 0 {
		fmt.Fprintf(&b, "%d conflicts may have an earlier conflict as their cause: the next run checks them again\n", later)
	}
	fmt.Fprintf(&b, "then run `%s rebase --continue`; `%s rebase --abort` gives up the rebase", command, command)
	return b.String()
}
