// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var externalLink = regexp.MustCompile(`^[a-z]+:`)

// links returns an error for each broken link in a line of a document.
func (c *checker) links(document, line string) []error {
	var wrong []error
	for _, m := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
		if externalLink.MatchString(m[1]) {
			continue
		}
		file, heading, _ := strings.Cut(m[1], "#")
		target := document
		if file != "" {
			target = path.Join(path.Dir(document), file)
		}
		if _, err := os.Stat(c.file(target)); err != nil {
			wrong = append(wrong, fmt.Errorf("the link %s is broken: there is no %s", m[1], target))
			continue
		}
		if heading == "" || path.Ext(target) != ".md" {
			continue
		}
		anchors, err := c.headings(target)
		if err != nil {
			wrong = append(wrong, err)
		} else if !anchors[heading] {
			wrong = append(wrong, fmt.Errorf("the link %s is broken: %s has no such heading", m[1], target))
		}
	}
	return wrong
}

// headings returns the anchors of a document's headings.
func (c *checker) headings(document string) (map[string]bool, error) {
	if known := c.anchors[document]; known != nil {
		return known, nil
	}
	data, err := os.ReadFile(c.file(document))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	fenced := false
	for line := range strings.SplitSeq(string(data), "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if text := strings.TrimLeft(line, "#"); !fenced && text != line && strings.HasPrefix(text, " ") {
			out[anchor(strings.TrimSpace(text), out)] = true
		}
	}
	c.anchors[document] = out
	return out, nil
}

// anchor returns the anchor that GitHub creates for a heading. If taken contains that anchor, a
// number is appended to the anchor, as in name-1.
func anchor(heading string, taken map[string]bool) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	name := b.String()
	for n := 1; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", b.String(), n)
	}
	return name
}
