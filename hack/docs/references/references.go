// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
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

var (
	testName   = regexp.MustCompile(`\b(?:[a-z]\w*\.)?(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	scriptName = regexp.MustCompile(`\battack_\w+`)
	patchName  = regexp.MustCompile(`\b(?:core|markers|crd|authority|speed|controllers)/\d{4}(?:-[a-z-]+)?`)
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	// repositoryPath matches a text that is a path below one of the repository's top-level folders.
	repositoryPath = regexp.MustCompile(`^(?:api|cmd|docs|hack|patches|pkg|speed|staging|test)/[\w./{},*-]+$`)
	linkTarget     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
)

// Check returns an error that lists all broken references below the root.
func Check(root string) error {
	t, err := tree.Read(root)
	if err != nil {
		return err
	}
	c := checker{root: root, tree: t, anchors: map[string]map[string]bool{}}
	for _, name := range t.Documents {
		if slices.Contains(templates, name) {
			continue
		}
		if err := c.document(name); err != nil {
			return err
		}
	}
	return errors.Join(c.wrong...)
}

// templates are documents that are not checked, because other documents are generated from them.
// The generated documents are checked.
var templates = []string{"hack/permissions/reference/permissions.md"}

// exceptions maps names that do not exist in this repository to the document that may contain them,
// as an example or as a name of another repository.
var exceptions = map[string]string{
	"crd/0005-name":         "patches/README.md",
	"hack/update-vendor.sh": "patches/README.md",
}

type checker struct {
	root string
	tree *tree.Tree
	// anchors caches the anchors of each linked document.
	anchors map[string]map[string]bool
	wrong   []error
}

func (c *checker) document(name string) error {
	data, err := os.ReadFile(c.file(name))
	if err != nil {
		return err
	}
	history := strings.HasPrefix(name, "docs/adr/") || name == "CHANGELOG.md"
	fenced := false
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		found := []error{}
		if !fenced {
			found = append(found, c.links(name, line)...)
		}
		if !history {
			found = append(found, c.names(name, line)...)
		}
		for _, err := range found {
			c.wrong = append(c.wrong, fmt.Errorf("%s:%d: %w", name, i+1, err))
		}
	}
	return nil
}

// names returns an error for each name of a test, script, file or patch in a line that does not
// exist.
func (c *checker) names(document, line string) []error {
	var wrong []error
	for _, name := range testName.FindAllString(line, -1) {
		if !c.tree.Has(name) {
			wrong = append(wrong, fmt.Errorf("there is no test %s", name))
		}
	}
	for _, name := range scriptName.FindAllString(line, -1) {
		if _, err := c.tree.Script(name); err != nil && !c.exists(name, "test/integration") {
			wrong = append(wrong, err)
		}
	}
	for _, name := range patchName.FindAllString(line, -1) {
		// The patch may also be a YAML file with permission markers instead of a *.patch file.
		patches, _ := filepath.Glob(c.file("patches/" + name + "*.patch"))
		markers, _ := filepath.Glob(c.file("patches/" + name + "*.yaml"))
		if len(patches)+len(markers) == 0 && exceptions[name] != document {
			wrong = append(wrong, fmt.Errorf("there is no patch %s", name))
		}
	}
	for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
		// The quoted text may be a command: a file followed by arguments.
		name, _, _ := strings.Cut(m[1], " ")
		name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/...")
		if !repositoryPath.MatchString(name) {
			continue
		}
		for _, name := range expandBraces(name) {
			if found, _ := filepath.Glob(c.file(name)); len(found) == 0 && exceptions[name] != document {
				wrong = append(wrong, fmt.Errorf("there is no %s", name))
			}
		}
	}
	return wrong
}

// exists reports whether a folder has a Go file whose name begins with name. Then a name such as
// attack_x in a document is that of a Go test file and not that of a script.
func (c *checker) exists(name, folder string) bool {
	found, _ := filepath.Glob(c.file(path.Join(folder, name+"*.go")))
	return len(found) > 0
}

// expandBraces expands the lists in braces in a name, as a shell does: a{b,c} is ab and ac.
func expandBraces(name string) []string {
	before, rest, ok := strings.Cut(name, "{")
	list, after, ok2 := strings.Cut(rest, "}")
	if !ok || !ok2 {
		return []string{name}
	}
	var out []string
	for one := range strings.SplitSeq(list, ",") {
		out = append(out, expandBraces(before+one+after)...)
	}
	return out
}

// file returns the file system path of a path in the repository.
func (c *checker) file(name string) string { return filepath.Join(c.root, filepath.FromSlash(name)) }
