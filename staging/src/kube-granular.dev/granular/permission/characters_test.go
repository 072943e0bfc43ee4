// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"strings"
	"testing"
)

const (
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits    = "0123456789"
)

// TestCharacters tries each byte in each place where only some bytes are allowed, and holds which
// bytes these are.
func TestCharacters(t *testing.T) {
	digest := func(algorithm string, size int) func(string) bool {
		return func(c string) bool {
			return imagePrefixes("registry.example/app@"+algorithm+":"+c+strings.Repeat("0", size-1)) != nil
		}
	}
	image := func(before, after string) func(string) bool {
		return func(c string) bool { return imagePrefixes(before+c+after) != nil }
	}
	valid := func(before, after string) func(string) bool {
		return func(c string) bool { return Validate(before+c+after) == nil }
	}
	for place, test := range map[string]struct {
		accepts func(c string) bool
		want    string
	}{
		"first of a name":                 {valid("", "bc"), lowerCase},
		"in a name":                       {valid("a", "c"), lowerCase + upperCase + digits},
		"last of a name":                  {valid("ab", ""), lowerCase + upperCase + digits},
		"first of a domain":               {valid("", "b.com/name"), lowerCase + digits},
		"in a domain":                     {valid("ab", "cd.com/name"), lowerCase + digits + "-."},
		"last of a domain":                {valid("a.co", "/name"), lowerCase + digits},
		"a parameter that is not escaped": {func(c string) bool { _, err := Parse("granular:label(" + c + ")"); return err == nil }, lowerCase + upperCase + digits + "-_./:@+=,~"},
		"first digit of an escape":        {func(c string) bool { _, err := unescape("%" + c + "0"); return err == nil }, "012689ABCDEF"},
		"second digit of an escape":       {func(c string) bool { _, err := unescape("%0" + c); return err == nil }, digits + "ABCDEF"},
		"first of a registry":             {image("", "b.example/app"), lowerCase + digits},
		"in a registry":                   {image("ab", "cd.example/app"), lowerCase + digits + "-."},
		"last of a registry":              {image("a.exampl", "/app"), lowerCase + digits},
		"first of a port":                 {image("localhost:", "0/app"), digits},
		"last of a port":                  {image("localhost:5", "/app"), digits},
		"first of a path":                 {image("registry.example/", "pp"), lowerCase + digits},
		"in a path":                       {image("registry.example/a", "p"), lowerCase + digits + "._-/:"},
		"last of a path":                  {image("registry.example/ap", ""), lowerCase + digits},
		"first of a tag":                  {image("registry.example/app:", "1"), lowerCase + upperCase + digits + "_"},
		"in a tag":                        {image("registry.example/app:v", "1"), lowerCase + upperCase + digits + "_.-"},
		"in a digest":                     {digest("sha256", 64), digits + "abcdef"},
		"in a long digest":                {digest("sha512", 128), digits + "abcdef"},
	} {
		for c := range 256 {
			if got, want := test.accepts(string([]byte{byte(c)})), strings.IndexByte(test.want, byte(c)) >= 0; got != want {
				t.Errorf("%s: the byte %#x is accepted: %v, want %v", place, c, got, want)
			}
		}
	}
}

// TestLengths holds the greatest length of each part that has one.
func TestLengths(t *testing.T) {
	domain := func(n int) string { return strings.Repeat("a", n-len(".com")) + ".com" }
	for part, test := range map[string]struct {
		most    int
		accepts func(n int) bool
	}{
		"name":                  {63, func(n int) bool { return Validate(strings.Repeat("a", n)) == nil }},
		"name of a third party": {63, func(n int) bool { return Validate("example.com/"+strings.Repeat("a", n)) == nil }},
		"domain":                {253, func(n int) bool { return Validate(domain(n)+"/name") == nil }},
		"parameter":             {256, func(n int) bool { return CheckParameter(strings.Repeat("a", n)) == nil }},
		"repository": {255, func(n int) bool {
			return imagePrefixes("registry.example/"+strings.Repeat("a", n-len("registry.example/"))) != nil
		}},
		"tag": {128, func(n int) bool { return imagePrefixes("registry.example/app:"+strings.Repeat("a", n)) != nil }},
	} {
		if !test.accepts(test.most) || test.accepts(test.most+1) {
			t.Errorf("%s: the greatest length is not %d", part, test.most)
		}
	}
}

// TestReserved holds which names belong to protected attributes, so that no schema may use them.
func TestReserved(t *testing.T) {
	for name, want := range map[string]bool{
		"protectedLabel": true, "protectedAnnotation": true,
		"": false, "label": false, "annotation": false, "protectedLabels": false, "example.com/protectedLabel": false, "podTemplateProtectedLabel": false,
	} {
		if Reserved(name) != want {
			t.Errorf("%q: %v, want %v", name, !want, want)
		}
	}
}
