// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
)

// clash is a conflict that a rebase found.
type clash struct {
	series.Conflict
	// places is the number of conflicting places in the file.
	places int
	// merged is the content of the file with conflict markers. It is nil if the conflict has no file, such as a
	// marker that can't be written. removed is true if one side has removed the file.
	merged  []byte
	removed bool
	// after is the name of the first patch with a conflict in the same file, if that is an earlier one. The
	// earlier conflict may be the cause of this one.
	after string
}

func (c *clash) Error() string {
	text := c.Err.Error()
	if c.Path != "" {
		text = c.Conflict.Error()
	}
	if c.places > 1 {
		text += fmt.Sprintf(", and %d more places", c.places-1)
	}
	if c.after != "" {
		text += "; the conflict of " + c.after + " may be the cause"
	}
	return text
}

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

// begun reads the state of a rebase that stopped, if there is one. It fails if a rebase has stopped but the options
// neither continue nor abort it, or if they continue or abort a rebase and none has stopped.
func (c *Carry) begun(o RebaseOptions) (*inProgress, error) {
	p := &inProgress{To: o.To, SkipBuild: o.SkipBuild}
	data, err := c.Project.Read(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		if o.Continue || o.Abort {
			return nil, errors.New("no rebase has stopped: start one with --to VERSION --write")
		}
		return p, os.RemoveAll(c.Project.Path(project.Rebase + "/conflicts")) // an interrupted run may have left it
	}
	if err == nil {
		err = json.Unmarshal(data, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove the folder %s", stateFile, err, project.Rebase)
	}
	if !o.Continue && !o.Abort {
		return nil, fmt.Errorf("a rebase to %s has stopped: continue it with `%s rebase --continue`, or give it up with `%s rebase --abort`",
			p.To, command, command)
	}
	return p, nil
}

// undecided matches a line that git writes around the sides of a conflict.
var undecided = regexp.MustCompile(`(?m)^(?:<{7}|\|{7}|>{7}) .*$`)

// resolved returns how a person resolved the conflict of a patch in a file: the content, or nil if the file is to
// be removed. It returns false if there was no such conflict, or if the file still has conflict markers.
func (m *move) resolved(patch, file string) ([]byte, bool, error) {
	index, ok := m.find(patch, file)
	if !ok {
		return nil, false, nil
	}
	data, err := m.Project.Read(index.tree())
	switch {
	case errors.Is(err, fs.ErrNotExist) && !index.Removable:
		return nil, false, fmt.Errorf("%s: was deleted, but neither upstream nor the patch removes that file: "+
			"run `%s rebase --abort` and start again", index.tree(), command)
	case errors.Is(err, fs.ErrNotExist):
		return nil, true, nil
	}
	return append([]byte{}, data...), !undecided.Match(data), err
}

// keep stores the state of a rebase that stops. If an earlier run has already stored the file of a
// conflict, keep does not overwrite it.
func (m *move) keep() error {
	for _, one := range m.conflicts {
		if _, met := m.find(one.Patch, one.Path); met || one.merged == nil || one.after != "" {
			continue
		}
		spot := place{one.Patch, one.Path, one.removed}
		if err := m.Project.Write(spot.tree(), one.merged); err != nil {
			return err
		}
		m.Conflicts = append(m.Conflicts, spot)
	}
	data, err := json.MarshalIndent(m.inProgress, "", "  ")
	if err != nil {
		return err
	}
	return m.Project.Write(stateFile, append(data, '\n'))
}

// stop returns an error that lists the conflicts. With --write, it also stores those that a person must resolve, and
// says how.
func (m *move) stop() error {
	text, files, later, others := "", "", 0, false
	for _, one := range m.conflicts {
		text += one.Error() + "\n"
		switch {
		case one.after != "":
			later++
		case one.merged != nil:
			files += "  " + place{Patch: one.Patch, File: one.Path}.tree() + "\n"
		default:
			others = true
		}
	}
	text = fmt.Sprintf("%d conflicts with %s:\n%s", len(m.conflicts), m.To, text)
	if !m.write {
		return fmt.Errorf("%srun `%s rebase --to %s --write` to resolve them", text, command, m.To)
	}
	if files != "" {
		text += "edit each of these files to the content that it must have right after its patch, " +
			"and leave no line with <<<<<<<, ||||||| or >>>>>>> in it:\n" + files
	}
	if others {
		text += "change the files in patches/ that are named above: correct the types and fields of markers, " +
			"and remove patches that upstream has by now\n"
	}
	if later > 0 {
		text += fmt.Sprintf("%d conflicts may have an earlier conflict as their cause: the next run checks them again\n", later)
	}
	if err := m.keep(); err != nil {
		return err
	}
	return fmt.Errorf("%sthen run `%s rebase --continue`; `%s rebase --abort` gives up the rebase", text, command, command)
}
