// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/permission"
)

// accepts evaluates the keywords that the schemas of names and verbs use.
func accepts(t *testing.T, schema object, text string) bool {
	t.Helper()
	for keyword, value := range schema {
		ok := true
		switch keyword {
		case "pattern":
			ok = regexp.MustCompile(value.(string)).MatchString(text)
		case "not":
			ok = !accepts(t, value.(object), text)
		case "const":
			ok = value == text
		case "allOf":
			for _, one := range value.([]any) {
				ok = ok && accepts(t, one.(object), text)
			}
		case "anyOf":
			ok = false
			for _, one := range value.([]any) {
				ok = ok || accepts(t, one.(object), text)
			}
		case "enum":
			ok = slices.Contains(value.([]string), text)
		case "type", "description", "defaultSnippets", "enumDescriptions":
		default:
			t.Fatalf("the test does not know the keyword %s", keyword)
		}
		if !ok {
			return false
		}
	}
	return true
}

// texts are names and parts of names at the bounds of what is valid, and random ones made of their characters.
func texts() []string {
	domain := strings.Repeat("a.", 126) + "a"
	out := []string{"", "a", "A", "a1", "1a", "aB", "a-b", "a.b", "a/b", "a.b/c", "a.b/C", "a.b/", "/a", "a.b/c/d",
		"-a.b/c", "a-.b/c", "a.-b/c",
		"a..b/c", ".a.b/c", "a.b./c", "a.B/c", "granular", "a.b/granular", "granular:a", "none", strings.Repeat("a", 63), strings.Repeat("a", 64),
		domain + "/a", domain + "a/a", "a.b/" + strings.Repeat("a", 63), "a.b/" + strings.Repeat("a", 64), "é", "a b", "a\n", "a,b", "a.b/c,d"}
	random := rand.New(rand.NewPCG(1, 2))
	const characters = "aAb1-./,:()% "
	for range 4000 {
		var b strings.Builder
		for range random.IntN(9) {
			b.WriteByte(characters[random.IntN(len(characters))])
		}
		out = append(out, b.String())
	}
	return out
}

// TestNamesAreThoseOfTheLibrary holds that the schema of names accepts what the library accepts.
func TestNamesAreThoseOfTheLibrary(t *testing.T) {
	schema := object{"allOf": namePatterns()}
	valid := 0
	for _, text := range texts() {
		want := permission.Validate(text) == nil
		if want {
			valid++
		}
		if got := accepts(t, schema, text); got != want {
			t.Errorf("%q: the schema says %t, the library %t", text, got, want)
		}
	}
	if valid < 100 {
		t.Errorf("only %d names are valid", valid)
	}
}

// TestVerbsAreThoseOfTheLibrary holds that the schema of verbs accepts permission verbs that the library accepts,
// and all verbs that nobody would take for one.
func TestVerbsAreThoseOfTheLibrary(t *testing.T) {
	verb, err := verbSchema()
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string, want bool) {
		t.Helper()
		if got := accepts(t, verb, text); got != want {
			t.Errorf("%q: the schema says %t, want %t", text, got, want)
		}
	}
	for _, text := range texts() {
		parameter := strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
		for _, v := range []string{"granular:" + text, "granular:label(" + parameter + ")", "granular:" + text + "(a)"} {
			_, err := permission.Parse(v)
			check(v, err == nil)
		}
	}
	for c := range 256 {
		v := "granular:label(" + string(rune(c)) + ")"
		_, err := permission.Parse(v)
		check(v, err == nil)
		v = permission.Verb{Permission: "label", Parameter: string([]byte{byte(c)}), Parameterized: true}.String()
		check(v, true)
	}
	for _, parameter := range []string{
		strings.Repeat("a", permission.MaxParameterLength), strings.Repeat("a", permission.MaxParameterLength+1),
		strings.Repeat("%28", 85) + "a", strings.Repeat("%28", 86), "%2", "%", "%41", "%2f", "%2F"} {
		v := "granular:label(" + parameter + ")"
		_, err := permission.Parse(v)
		check(v, err == nil)
	}
	for text, want := range map[string]bool{
		"granular": true, "get": true, "*": true, "update": true, "granularity": true, "granular1": true, "": true, "readmetadata": true,
		"Granular": false, "granular.labels": false, "granular(labels)": false, " granular:labels": false, "granular:labels ": false,
		"GRANULAR:labels": false, "granular/labels": false, "granular:": false, "granular labels": false, "granular-labels": false,
	} {
		check(text, want)
	}
}
