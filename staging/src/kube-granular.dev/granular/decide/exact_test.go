// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"strings"
	"testing"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// TestExact checks that a verb for one key covers changes of this key and of no other one, that the
// verb of a domain is none for a key, and the reverse.
func TestExact(t *testing.T) {
	metadata := func(labels object) object { return object{"metadata": object{"name": "a", "labels": labels}} }
	for name, test := range map[string]struct {
		key, holds string
		exact      string // what a refusal proposes for the key alone
	}{
		"the key":                           {key: "example.com/team", holds: "granular:label(example.com/team)"},
		"the domain":                        {key: "example.com/team", holds: "granular:label(example.com)"},
		"a key without a domain":            {key: "team", holds: "granular:label(/team)"},
		"a key without a domain, as before": {key: "team", holds: "granular:label(team)"},
		"another key of the domain":         {key: "example.com/tier", holds: "granular:label(example.com/team)", exact: "granular:label(example.com/tier)"},
		"a key that begins with the key":    {key: "example.com/team2", holds: "granular:label(example.com/team)", exact: "granular:label(example.com/team2)"},
		"a domain with the name of the key": {key: "team/a", holds: "granular:label(/team)", exact: "granular:label(team/a)"},
		"a key with the name of the domain": {key: "team", holds: "granular:label(team/a)", exact: "granular:label(/team)"},
		"an annotation's verb":              {key: "example.com/team", holds: "granular:annotation(example.com/team)", exact: "granular:label(example.com/team)"},
		"a key with two slashes":            {key: "example.com/a/b", holds: "granular:label(example.com/a)", exact: "granular:label(example.com/a/b)"},
		"a key that begins with a slash":    {key: "/team", holds: "granular:label(/team)", exact: "granular:label(//team)"},
		"the key in another case":           {key: "example.com/Team", holds: "granular:label(example.com/team)", exact: "granular:label(example.com/Team)"},
		"the pattern of a protected domain": {key: "example.com/team", holds: "granular:label(example.com/%2A)", exact: "granular:label(example.com/team)"},
	} {
		t.Run(name, func(t *testing.T) {
			set := changesOf(t, "apps", "v1", "Deployment", change.All, metadata(object{}), metadata(object{test.key: "x"}))
			refusal, err := New(&holder{t: t, holds: []string{test.holds}}, 0).Decide(context.Background(), set, true)
			if err != nil {
				t.Fatal(err)
			}
			if (refusal == nil) != (test.exact == "") || refusal != nil && refusal.Exact != test.exact {
				t.Errorf("got %+v", refusal)
			}
		})
	}
}

// TestExactOfExcluded checks that a verb for one key does not cover an excluded field, for which the
// verb of the domain is needed.
func TestExactOfExcluded(t *testing.T) {
	const marks = `{marks: {type: object, x-kubernetes-permission-parameter-source: mark, additionalProperties: {type: string,
		x-kubernetes-permission-verb: mark, x-kubernetes-permission-excluded: EXCLUDED, x-kubernetes-permission-parameterized-by: mark,
		x-kubernetes-permission-parameter-treatment: slash-delimited-prefix}}}`
	for excluded, covered := range map[string]bool{"true": false, "false": true} {
		set := changed(t, strings.Replace(marks, "EXCLUDED", excluded, 1), `{marks: {}}`, `{marks: {example.com/a: x}}`)
		d := New(&holder{t: t, holds: []string{"granular:mark(example.com/a)"}}, 0)
		refusal, err := d.Decide(context.Background(), set, true)
		if err != nil || (refusal == nil) != covered {
			t.Errorf("excluded %s: %+v %v, asked %q", excluded, refusal, err, d.Asked())
		}
	}
}

// TestExactOfLongKey checks that a key that is too long for a verb is not read or copied: a request can
// have a key of a megabyte, and many changes below it. The twin is the longest key that has a verb.
func TestExactOfLongKey(t *testing.T) {
	p := schema.Permission{Name: "mark", Parameter: &schema.Parameter{Treatment: permission.SlashDelimitedPrefix}}
	long := strings.Repeat("k", 1<<20)
	if allocated := testing.AllocsPerRun(10, func() { p.Exact(long) }); allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
	for length, has := range map[int]bool{permission.MaxParameterLength - 1: true, permission.MaxParameterLength: false} {
		if _, ok := p.Exact(long[:length]); ok != has {
			t.Errorf("a key of %d bytes: %t", length, ok)
		}
	}
}

// TestExactIsAskedLast checks that a caller that holds the verb of the domain is not asked for that
// of the key.
func TestExactIsAskedLast(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	a := &holder{t: t, holds: []string{"granular:label(domain0000.com)"}}
	d := New(a, 0)
	if refusal, err := d.Decide(context.Background(), set, true); refusal != nil || err != nil || len(d.Asked()) != 3 {
		t.Errorf("%v %v, asked %q", refusal, err, d.Asked())
	}
}

// TestExactElement checks that a refusal names the permission of all containers first, and the one of
// the changed container as the exact one.
func TestExactElement(t *testing.T) {
	containers := func(image string) object {
		return object{"metadata": object{"name": "a"}, "spec": object{"template": object{"spec": object{
			"containers": []any{object{"name": "app", "image": image}}}}}}
	}
	set := changesOf(t, "apps", "v1", "Deployment", change.All, containers("one"), containers("two"))
	refusal, err := New(&holder{t: t}, 0).Decide(context.Background(), set, true)
	if err != nil || refusal == nil {
		t.Fatal(refusal, err)
	}
	if refusal.General != "granular:specification" || refusal.Specific != "granular:podTemplateImage" ||
		refusal.Exact != "granular:podTemplateContainerImage(app)" {
		t.Errorf("got %+v", refusal)
	}
	for verb, covers := range map[string]bool{refusal.Exact: true, "granular:podTemplateContainer(app)": true,
		"granular:podTemplateContainerImage(other)": false, "granular:podTemplateInitContainerImage(app)": false} {
		refusal, err := New(&holder{t: t, holds: []string{verb}}, 0).Decide(context.Background(), set, true)
		if err != nil || (refusal == nil) != covers {
			t.Errorf("%s: %v %v", verb, refusal, err)
		}
	}
}

// TestOnlyElements checks the refusal of a change that only the permission of one element covers.
func TestOnlyElements(t *testing.T) {
	const boxes = `{boxes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
		x-kubernetes-permission-parameter-source: box-name, x-kubernetes-permission-element: box,
		items: {type: object, properties: {name: {type: string}, size: {type: integer, x-kubernetes-permission-verb: size}}}}}`
	set := changed(t, boxes, `{boxes: [{name: a}]}`, `{boxes: [{name: a, color: red}]}`)
	refusal, err := New(&holder{t: t}, 0).Decide(context.Background(), set, true)
	if err != nil || refusal == nil || refusal.Specific != "granular:box(a)" || refusal.Exact != refusal.Specific {
		t.Errorf("%+v %v", refusal, err)
	}
}

// TestElementWithoutItsKey checks that to add or remove an element takes the permission of the whole
// element, also if the element has nothing but a field that another permission covers. An outer field
// inside the element has no such rule: see ADR 0009.
func TestElementWithoutItsKey(t *testing.T) {
	const boxes = `{boxes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
		x-kubernetes-permission-parameter-source: box-name, x-kubernetes-permission-element: box,
		items: {type: object, properties: {name: {type: string, default: a}, size: {type: object, x-kubernetes-permission-verb: size,
			properties: {height: {type: integer, x-kubernetes-permission-verb: height}}}}}}}`
	for change, want := range map[[2]string]string{
		{`{boxes: []}`, `{boxes: [{size: {height: 1}}]}`}:                             "granular:box(a)",
		{`{boxes: [{size: {height: 1}}]}`, `{boxes: []}`}:                             "granular:box(a)",
		{`{boxes: [{name: a}]}`, `{boxes: [{name: a, size: {height: 1}}]}`}:           "",
		{`{boxes: [{size: {height: 1}}]}`, `{boxes: [{name: a, size: {height: 2}}]}`}: "granular:box(a)",
	} {
		set := changed(t, boxes, change[0], change[1])
		refusal, err := New(&holder{t: t, holds: []string{"granular:height", "granular:boxHeight(a)"}}, 0).Decide(context.Background(), set, true)
		if err != nil || (refusal == nil) != (want == "") || refusal != nil && refusal.Specific != want {
			t.Errorf("%s: %+v %v, want %q", change, refusal, err, want)
		}
		for _, covers := range []bool{true, false} {
			holds := map[bool]string{true: "granular:box(a)", false: "granular:box(b)"}[covers]
			refusal, err := New(&holder{t: t, holds: []string{holds}}, 0).Decide(context.Background(), set, true)
			if err != nil || (refusal == nil) != covers {
				t.Errorf("%s with %s: %v %v", change, holds, refusal, err)
			}
		}
	}
}

// TestAnswerBeyondTheKey checks that an index beyond the verb of one key is an error.
func TestAnswerBeyondTheKey(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	refusal, err := New(beyondKey{}, 0).Decide(context.Background(), set, true)
	if err == nil || refusal != nil {
		t.Errorf("%v, %v", refusal, err)
	}
}

// beyondKey allows nothing, and answers a question for a single verb with an impossible index.
type beyondKey struct{}

func (beyondKey) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	if len(verbs) == 1 {
		return 1, nil
	}
	return -1, nil
}
