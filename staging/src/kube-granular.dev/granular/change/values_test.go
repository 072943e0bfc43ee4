// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// ofValues has permissions whose parameters are made from values, and one that is made from a key.
const ofValues = `{
  image: {type: string, x-kubernetes-permission-verb: "image,imageFrom", x-kubernetes-permission-parameterized-by: self,
    x-kubernetes-permission-parameter-treatment: image-repository-prefix},
  mode: {type: string, x-kubernetes-permission-verb: mode, x-kubernetes-permission-parameterized-by: self},
  box: {properties: {mode: {type: string, x-kubernetes-permission-verb: mode, x-kubernetes-permission-parameterized-by: self}}},
  taints: {x-kubernetes-permission-verb: taints, items: {type: object, properties: {key: {type: string}, level: {type: integer}},
    x-kubernetes-permission-verb: taint, x-kubernetes-permission-parameterized-by: self.key}},
  tags: {x-kubernetes-permission-verb: tags, x-kubernetes-permission-parameter-source: tag, additionalProperties: {type: string,
    x-kubernetes-permission-verb: tag, x-kubernetes-permission-parameterized-by: tag,
    x-kubernetes-permission-parameter-treatment: slash-delimited-prefix}}}`

// shownValues returns each change with its last permission and the values of it, or a question mark if
// these are not known.
func shownValues(s Set) (out []string) {
	for i := range s {
		c := &s[i]
		line := "- "
		if p := c.Node.Last(); p != nil {
			line = p.Name + " "
		}
		if values, known := c.Values(c.Node.Last()); known {
			line += "(" + strings.Join(values, ",") + ") "
		} else if c.HasValues() {
			line += "(?) "
		}
		out = append(out, line+c.String())
	}
	return out
}

// TestVerbsOfValues checks that a permission made from a value needs a verb for the old and for the new
// value, that one value without a verb is an error, and which verbs are of use for the change.
func TestVerbsOfValues(t *testing.T) {
	w := walkerFor(t, ofValues)
	long := strings.Repeat("k", 300)
	for name, test := range map[string]struct {
		old, new, permission string
		verb, verbs          string
		err                  error
		useful, useless      []string
	}{
		"two images": {`{image: "r.example/a/b:1"}`, `{image: "r.example/c:1"}`, "imageFrom", "imageFrom(r.example/a/b)",
			"imageFrom(r.example/a/b) imageFrom(r.example/c)", nil,
			[]string{"imageFrom(r.example)", "imageFrom(r.example/a)", "imageFrom(r.example/c)"},
			[]string{"imageFrom(r.example/d)", "image", "imageFrom(r.example/c:1)"}},
		"the general permission of two images": {`{image: "r.example/a/b:1"}`, `{image: "r.example/c:1"}`, "image", "image", "image", nil,
			[]string{"image"}, []string{"imageFrom(r.example)"}},
		"to an image without a registry": {`{image: r.example/a}`, `{image: nginx}`, "imageFrom", "imageFrom(r.example/a)", "",
			schema.ErrNoParameter, []string{"imageFrom(r.example/a)"}, []string{"imageFrom(nginx)"}},
		"from an image without a registry": {`{image: nginx}`, `{image: r.example/a}`, "imageFrom", "", "",
			schema.ErrNoParameter, []string{"imageFrom(r.example/a)"}, []string{"imageFrom(nginx)"}},
		"no scalar": {`{mode: a}`, `{mode: [a]}`, "mode", "", "", schema.ErrNoParameter, nil, []string{"mode(a)", "mode"}},
		"null":      {`{mode: null}`, `{}`, "mode", "", "", schema.ErrNoParameter, nil, []string{"mode()"}},
		"a key": {`{tags: {a.com/b: x}}`, `{tags: {a.com/b: z}}`, "tag", "tag(a.com)", "tag(a.com)", nil,
			[]string{"tag(a.com)", "tag(a.com/b)"}, []string{"tag(a.com/c)", "tag(b.com)", "tags"}},
		"a key that is too long": {`{tags: {` + long + `: x}}`, `{tags: {` + long + `: z}}`, "tag", "", "",
			permission.ErrTooLong, nil, []string{"tag(a)"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := compareOrFail(t, w, All, plainOf(t, test.old), plainOf(t, test.new))
			if len(set) != 1 {
				t.Fatalf("%v", shownValues(set))
			}
			c := &set[0]
			chain := c.Node.Chain()
			p := chain[slices.IndexFunc(chain, func(p *schema.Permission) bool { return p.Name == test.permission })]
			verb, err := c.Verb(t.Context(), nil, p)
			if (err == nil) != (test.verb != "") || err != nil && !errors.Is(err, test.err) || err == nil && verb.String() != "granular:"+test.verb {
				t.Errorf("the verb is %s, %v", verb, err)
			}
			var all []string
			verbs, err := c.Verbs(t.Context(), nil, p)
			for _, v := range verbs {
				all = append(all, strings.TrimPrefix(v.String(), "granular:"))
			}
			if !errors.Is(err, test.err) || err == nil && strings.Join(all, " ") != test.verbs {
				t.Errorf("the verbs are %q, %v", all, err)
			}
			for _, verb := range test.useful {
				if !c.Uses(t.Context(), nil, p, "granular:"+verb) {
					t.Errorf("%s is of no use", verb)
				}
			}
			for _, verb := range test.useless {
				if c.Uses(t.Context(), nil, p, "granular:"+verb) {
					t.Errorf("%s is of use", verb)
				}
			}
		})
	}
	charged := w.Charge("mode") // such a change has no objects, and so no values
	if values, known := charged.Values(charged.Node.Last()); known || charged.HasValues() {
		t.Errorf("a change without objects has the values %q", values)
	}
}

// valued has fields of all Go types that a parameter can be made from.
type valued struct {
	Plain    string  `json:"plain"`
	Omitted  string  `json:"omitted,omitempty"`
	Pointer  *int32  `json:"pointer,omitempty"`
	ByName   *holder `json:"byName,omitempty"`
	ByNumber *holder `json:"byNumber,omitempty"`
	ByRef    *holder `json:"byRef,omitempty"`
	ByBare   *holder `json:"byBare,omitempty"`
}

type holder struct {
	Name   string  `json:"name,omitempty"`
	Number int32   `json:"number,omitempty"`
	Ref    *string `json:"ref,omitempty"`
	Bare   *int32  `json:"bare"`
}

// TestValuesOfGoTypes checks that the values of a Go object are those of its JSON.
func TestValuesOfGoTypes(t *testing.T) {
	field := func(kind, verb, by string) string {
		return verb + `: {` + kind + `, x-kubernetes-permission-verb: ` + verb + `, x-kubernetes-permission-parameterized-by: ` + by + `}`
	}
	const object = `type: object, properties: {name: {type: string}, number: {type: integer}, ref: {type: string}, bare: {type: integer}}`
	w := walkerFor(t, `{`+strings.Join([]string{
		field("type: string", "plain", "self"), field("type: string", "omitted", "self"), field("type: integer", "pointer", "self"),
		field(object, "byName", "self.name"), field(object, "byNumber", "self.number"), field(object, "byRef", "self.ref"),
		field(object, "byBare", "self.bare"),
	}, ", ")+`}`)
	zero, one, text := int32(0), int32(1), "x"
	for name, test := range map[string]struct {
		old, new valued
		want     string
	}{
		"an empty text":                  {valued{}, valued{Plain: "x"}, "plain (,x) .plain"},
		"a text that is left out":        {valued{}, valued{Omitted: "x"}, "omitted (x) .omitted"},
		"zero behind a pointer":          {valued{}, valued{Pointer: &zero}, "pointer (0) .pointer"},
		"one behind a pointer":           {valued{Pointer: &one}, valued{Pointer: &zero}, "pointer (1,0) .pointer"},
		"a name that is left out":        {valued{ByName: &holder{}}, valued{ByName: &holder{Name: "x"}}, "byName (,x) .byName"},
		"an object without the name":     {valued{}, valued{ByName: &holder{Number: 1}}, "byName () .byName"},
		"a number that is left out":      {valued{ByNumber: &holder{}}, valued{ByNumber: &holder{Number: 1}}, "byNumber (,1) .byNumber"},
		"a text behind a pointer":        {valued{ByRef: &holder{}}, valued{ByRef: &holder{Ref: &text}}, "byRef (,x) .byRef"},
		"a pointer that is null in JSON": {valued{ByBare: &holder{}}, valued{ByBare: &holder{Bare: &zero}}, "byBare (,0) .byBare"},
		"the same value": {valued{ByName: &holder{Name: "x"}}, valued{ByName: &holder{Name: "x", Number: 1}},
			"byName (x) .byName"},
	} {
		decoded := func(v valued) map[string]any {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return plainOf(t, string(data))
		}
		for kind, set := range map[string]Set{
			"Go":   compareOrFail(t, w, All, &test.old, &test.new),
			"JSON": compareOrFail(t, w, All, decoded(test.old), decoded(test.new)),
		} {
			if diff := cmp.Diff([]string{test.want}, shownValues(set)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, kind, diff)
			}
		}
	}
}

// TestIntersectKeepsItsArguments checks that Intersect adds and forgets values in its result, and not in
// the sets that it is given: a request is judged by them again.
func TestIntersectKeepsItsArguments(t *testing.T) {
	list := walkerFor(t, `{list: {x-kubernetes-permission-verb: list, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [key],
	  items: {x-kubernetes-permission-scope: element, properties: {key: {type: string},
	    level: {type: string, x-kubernetes-permission-verb: level, x-kubernetes-permission-parameterized-by: self}}}}}`)
	for name, test := range map[string]struct {
		w           *Walker
		sent, final string
		want        string
	}{
		"another value":    {walkerFor(t, ofValues), `{mode: a}`, `{mode: b}`, "mode (b,a) .mode"},
		"the same value":   {walkerFor(t, ofValues), `{mode: a}`, `{mode: a}`, "mode (a) .mode"},
		"values not known": {list, `{list: [{key: a}, {key: a, level: low}]}`, `{list: [{key: a, level: high}]}`, "elementLevel (?)"},
	} {
		observed := compareOrFail(t, test.w, All, plainOf(t, "{}"), plainOf(t, test.sent))
		final := compareOrFail(t, test.w, All, plainOf(t, "{}"), plainOf(t, test.final))
		before := [][]string{shownValues(observed), shownValues(final)}
		got := shownValues(Intersect(observed, final))
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, test.want) }) {
			t.Errorf("%s: got %q, want %s", name, got, test.want)
		}
		if diff := cmp.Diff(before, [][]string{shownValues(observed), shownValues(final)}); diff != "" {
			t.Errorf("%s, the arguments changed:\n%s", name, diff)
		}
	}
}

// TestUnionsAreIndependent checks that two unions with one set have each their own values, although the
// values of that set have room for more.
func TestUnionsAreIndependent(t *testing.T) {
	w := walkerFor(t, ofValues)
	with := func(mode string) Set {
		set := compareOrFail(t, w, All, plainOf(t, "{}"), plainOf(t, "{mode: "+mode+"}"))
		set[0].values = slices.Grow(set[0].values, 3)
		return set
	}
	shared := with("a")
	first, second := Union(shared, with("b")), Union(shared, with("c"))
	for want, got := range map[string]Set{"mode (a,b) .mode": first, "mode (a,c) .mode": second, "mode (a) .mode": shared} {
		if diff := cmp.Diff([]string{want}, shownValues(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
