// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kube-granular.dev/hack/docs/tree"
)

// source is a script or a Go test with the attacks that its comments describe. intro is the first
// paragraph of the comments of a script.
type source struct {
	name, file, intro string
	attacks           []attack
}

// attackTestName matches the names of tests that must describe an attack.
var attackTestName = regexp.MustCompile(`^TestAttack[A-Z]`)

// collectSources returns the scripts and the tests that describe attacks. Its error lists all
// mistakes in the descriptions.
func collectSources(root string, t *tree.Tree) (scripts, tests []source, err error) {
	var wrong []error
	for _, file := range t.Scripts {
		h, err := readScript(root, file)
		if err == nil && len(h.attacks) == 0 && strings.HasPrefix(h.name, "attack_") {
			err = errors.New(`the comment "# Attack: …" is missing`)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
		}
		if len(h.attacks) > 0 {
			scripts = append(scripts, h)
		}
	}
	for _, test := range t.Tests {
		h := source{name: test.Name, file: test.File}
		h.attacks, err = parse(test.Doc)
		if err == nil && len(h.attacks) == 0 && attackTestName.MatchString(test.Name) {
			err = errors.New(`the doc comment has no paragraph "Attack: …"`)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %s: %w", test.File, test.Line, test.Name, err))
		}
		if len(h.attacks) > 0 {
			tests = append(tests, h)
		}
	}
	for _, c := range t.Comments {
		if found, err := parse(c.Lines); len(found) > 0 && err == nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: the attack %q is not in the doc comment of a test", c.File, c.Line, found[0].attempt))
		}
	}
	slices.SortStableFunc(tests, func(a, b source) int {
		return cmp.Or(cmp.Compare(path.Dir(a.file), path.Dir(b.file)), cmp.Compare(a.name, b.name))
	})
	wrong = append(wrong, checkNames(t, scripts, tests)...)
	return scripts, tests, errors.Join(wrong...)
}

// checkNames returns an error for each attack that is described twice, and for each name in "Held
// by" that is no test or script.
func checkNames(t *tree.Tree, holders ...[]source) []error {
	var wrong []error
	seen := map[string]string{}
	for _, h := range slices.Concat(holders...) {
		for _, a := range h.attacks {
			if other, ok := seen[a.attempt]; ok {
				wrong = append(wrong, fmt.Errorf("%s: the attack %q is also in %s; remove one of the two", h.file, a.attempt, other))
			}
			seen[a.attempt] = h.file
			for _, name := range a.heldBy {
				if _, err := resolve(t, name); err != nil {
					wrong = append(wrong, fmt.Errorf("%s: attack %q: %w", h.file, a.attempt, err))
				}
			}
		}
	}
	return wrong
}

// resolve returns the file of the test or script with a name.
func resolve(t *tree.Tree, name string) (string, error) {
	if strings.Contains(name, "Test") {
		test, err := t.Find(name)
		return test.File, err
	}
	return t.Script(name)
}

// readScript reads a script and parses its comments. It ignores the comments in the files that the
// script contains.
func readScript(root, file string) (source, error) {
	h := source{name: strings.TrimSuffix(path.Base(file), ".txtar"), file: file}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return h, err
	}
	var group []string
	end := func() error {
		found, err := parse(group)
		if h.intro == "" {
			h.intro = firstParagraph(group)
		}
		h.attacks, group = append(h.attacks, found...), nil
		return err
	}
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --") {
			break
		}
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			group = append(group, comment)
			continue
		}
		if err := end(); err != nil {
			return h, fmt.Errorf("above line %d: %w", i+1, err)
		}
	}
	return h, end()
}

// firstParagraph returns the first paragraph of a comment, up to a line that begins an attack. It
// returns "" if the comment begins with an attack.
func firstParagraph(comment []string) string {
	var words []string
	for _, line := range comment {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Attack:") {
			break
		}
		words = append(words, line)
	}
	return strings.Join(words, " ")
}
