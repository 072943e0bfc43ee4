// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPage sees that the policy names what the document runs, and nothing else.
func TestPage(t *testing.T) {
	const hostile = `</script><script>alert(1)</script>`
	for name, snapshot := range map[string][]byte{"served": nil, "file": []byte(`{"name": "` + hostile + `"}`)} {
		t.Run(name, func(t *testing.T) {
			document, policy, err := Page(hostile, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			text := string(document)
			if strings.Contains(text, hostile) {
				t.Error("a name of the snapshot or the title is markup")
			}
			for tag, directive := range map[string]string{"style": "style-src", `script type="module"`: "script-src"} {
				word, _, _ := strings.Cut(tag, " ")
				m := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+word+`>`).FindAllStringSubmatch(text, -1)
				if len(m) != 1 {
					t.Fatalf("%d elements %s", len(m), tag)
				}
				sum := sha256.Sum256([]byte(m[0][1]))
				if want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
					t.Errorf("the policy %s has no %s", policy, want)
				}
			}
			if connects := strings.Contains(policy, "connect-src 'self'"); connects != (snapshot == nil) {
				t.Errorf("policy %s", policy)
			}
			for _, loose := range []string{"unsafe", "http", "*"} {
				if strings.Contains(policy, loose) {
					t.Errorf("the policy has %s: %s", loose, policy)
				}
			}
			for _, gap := range []string{"{{policy}}", "{{title}}", "{{style}}", "{{data}}", "{{script}}"} {
				if strings.Contains(text, gap) {
					t.Errorf("%s is not filled", gap)
				}
			}
		})
	}
	if _, _, err := Page("x", []byte("{")); err == nil {
		t.Error("a snapshot that is not JSON is accepted")
	}
}

// TestModules sees that the joined script has every module once, after those that it imports, without a
// line that only a module of its own may have, and without what makes markup or code of text.
func TestModules(t *testing.T) {
	all, err := fs.Glob(files, "*.js")
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Sorted(slices.Values(modules))
	if !slices.Equal(all, known) {
		t.Errorf("modules are %v, files %v", known, all)
	}
	importing := regexp.MustCompile(`(?m)^import .* from "\./(.*)";$`)
	loose := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|setAttribute\("(?:style|on)`)
	declared := map[string]string{}
	for i, name := range modules {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range importing.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(modules[:i], m[1]) {
				t.Errorf("%s imports %s, which stands after it", name, m[1])
			}
		}
		rest := linkage.ReplaceAllString(string(text), "")
		if m := regexp.MustCompile(`(?m)^(import|export)\b.*`).FindString(rest); m != "" {
			t.Errorf("%s has a line that can't be joined: %s", name, m)
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:const|let|class|(?:async )?function) (\w+)`).FindAllStringSubmatch(rest, -1) {
			if other, twice := declared[m[1]]; twice {
				t.Errorf("%s and %s both declare %s", other, name, m[1])
			}
			declared[m[1]] = name
		}
		if m := loose.FindString(rest); m != "" {
			t.Errorf("%s has %s", name, m)
		}
	}
}

// TestSize holds the limit of the page's own script and style, so that somebody can still read them. What views
// have in common is written once, and the limit never grows.
func TestSize(t *testing.T) {
	const limit = 1500
	comment := regexp.MustCompile(`^\s*(?://.*|/?\*.*)?$`)
	count := 0
	for _, name := range append(slices.Clone(modules), "style.css") {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !comment.MatchString(strings.TrimSuffix(line, "\n")) {
				count++
			}
		}
	}
	if count > limit {
		t.Errorf("%d lines, and %d at most", count, limit)
	}
}
