// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"fmt"
	"regexp"
	"strings"
)

// entry is a line of a file named series.
type entry struct {
	// where is the file and line of the entry, for error messages.
	where string
	name  string
	// folder is true if the entry is a folder, and not a file. optional is true if the line also
	// has the word optional: a run of the tool may leave out the folder.
	folder, optional bool
}

var (
	// partName matches the file name of a mail patch or of a file of markers. patchName matches only
	// the file name of a mail patch.
	partName  = regexp.MustCompile(`^[0-9]{4}-[a-z0-9]+(?:[-.][a-z0-9]+)*\.(?:patch|yaml)$`)
	patchName = regexp.MustCompile(`^[0-9]{4}-[a-z0-9]+(?:[-.][a-z0-9]+)*\.patch$`)
	// folderName matches the name of a folder.
	folderName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// readList reads the file named series in the folder dir. The file lists either patches in numeric
// order, or folders. Each of these folders contains a file named series too.
func readList(read Reader, dir string) ([]entry, error) {
	data, err := read(dir + "/series")
	if err != nil {
		return nil, err
	}
	var entries []entry
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e := entry{where: fmt.Sprintf("%s/series:%d", dir, i+1), name: words[0]}
		e.folder = folderName.MatchString(e.name)
		e.optional = len(words) == 2 && e.folder && words[1] == "optional"
		if !e.folder && !partName.MatchString(e.name) || len(words) > 1 && !e.optional {
			return nil, fmt.Errorf("%s: %q is not of the form NNNN-name.patch, FOLDER or FOLDER optional", e.where, strings.Join(words, " "))
		}
		if err := follows(entries, e); err != nil {
			return nil, fmt.Errorf("%s: %w", e.where, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// follows fails if an entry may not follow the entries before it.
func follows(before []entry, e entry) error {
	for _, b := range before {
		switch {
		case b.folder != e.folder:
			return fmt.Errorf("lists both patches and folders")
		case b.name == e.name:
			return fmt.Errorf("lists %s twice", e.name)
		}
	}
	if n := len(before); n > 0 && !e.folder && before[n-1].name[:4] >= e.name[:4] {
		return fmt.Errorf("%s stands after %s, but its number is not higher", e.name, before[n-1].name)
	}
	return nil
}
