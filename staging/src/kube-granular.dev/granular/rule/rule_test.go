// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOnePage checks that the rule fits on one page.
func TestOnePage(t *testing.T) {
	text, err := os.ReadFile("rule.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > 100 {
		t.Errorf("rule.go has %d lines", lines)
	}
}

// widget is a kind with labels, replicas, an excluded lock with a permission inside, taints with their
// values, and conditions.
var widget = &Field{Kind: Object, Fields: map[string]*Field{
	"labels": {Kind: Map, Permissions: []Permission{{Name: "labels"}}, Elem: &Field{Kind: Scalar,
		Permissions: []Permission{{Name: "label", Key: 1, Domain: true}}}},
	"spec": {Kind: Object, Permissions: []Permission{{Name: "specification"}}, Fields: map[string]*Field{
		"replicas": {Kind: Scalar, Permissions: []Permission{{Name: "replicas"}}},
		"lock": {Kind: Object, Permissions: []Permission{{Name: "lock", Excluded: true}}, Fields: map[string]*Field{
			"mode": {Kind: Scalar, Permissions: []Permission{{Name: "lockMode"}}}}},
		"taints": {Kind: List, Permissions: []Permission{{Name: "taints"}}, Elem: &Field{Kind: Object,
			Permissions: []Permission{{Name: "taint", FromValue: true, Inside: "key"}}}},
	}},
	"conditions": {Kind: MapList, Key: "type", Elem: &Field{Kind: Object, Permissions: []Permission{{Name: "condition", Key: 1}}}},
}}

type object = map[string]any

func labels(kv ...string) object {
	out := object{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i]] = kv[i+1]
	}
	return object{"labels": out}
}

func taints(keys ...string) object {
	var out []any
	for _, key := range keys {
		out = append(out, object{"key": key})
	}
	return object{"spec": object{"taints": out}}
}

func conditions(types ...string) object {
	var out []any
	for _, name := range types {
		out = append(out, object{"type": name})
	}
	return object{"conditions": out}
}

// TestAllowed has the examples of docs/permissions.md. The verbs allow the write together, and no part of
// them does.
func TestAllowed(t *testing.T) {
	spec := func(field string, v any) object { return object{"spec": object{"replicas": "1", field: v}} }
	for name, test := range map[string]struct {
		old, new any
		update   bool
		verbs    string
	}{
		"a label by its domain":          {labels("a", "1"), labels("a", "1", "example.com/b", "1"), false, "label(example.com)"},
		"a label by its key":             {labels("a", "1"), labels("a", "1", "example.com/b", "1"), false, "label(example.com/b)"},
		"a label without a domain":       {labels("a", "1"), labels("a", "2"), false, "label(/a)"},
		"labels of two domains":          {labels("x/a", "1"), labels("y/a", "1"), false, "label(x) label(y)"},
		"all labels":                     {labels("x/a", "1"), labels("y/a", "1"), false, "labels"},
		"a field":                        {spec("replicas", "1"), spec("replicas", "2"), false, "replicas"},
		"a field by what is around it":   {spec("replicas", "1"), spec("replicas", "2"), false, "specification"},
		"a field of a holder of update":  {spec("replicas", "1"), spec("replicas", "2"), true, ""},
		"an unknown field":               {spec("x", "1"), spec("x", "2"), false, "specification"},
		"an excluded field":              {spec("lock", object{"x": "1"}), spec("lock", object{"x": "2"}), true, "lock"},
		"a field inside an excluded one": {spec("lock", object{"mode": "1"}), spec("lock", object{"mode": "2"}), true, "lockMode"},
		"another value":                  {taints("a"), taints("b"), false, "taint(a) taint(b)"},
		"one more value":                 {taints("a"), taints("a", "b"), false, "taint(b)"},
		"another order of values":        {taints("a", "b"), taints("b", "a"), false, "taints"},
		"one of two equal values":        {taints("a", "b", "a"), taints("b", "b", "a"), false, "taint(a) taint(b)"},
		"another order of conditions":    {conditions("a", "b"), conditions("b", "a"), false, ""},
		"a condition":                    {conditions("a"), conditions("a", "b"), false, "condition(b)"},
		"a create":                       {Absent{}, labels("x/a", "1"), false, "label(x)"},
	} {
		t.Run(name, func(t *testing.T) {
			verbs := strings.Fields(test.verbs)
			for i := range verbs {
				verbs[i] = "granular:" + verbs[i]
			}
			allowed := func(held []string) bool {
				return Allowed(!test.update, Differences(widget, test.old, test.new), func(v string) bool { return slices.Contains(held, v) })
			}
			if !allowed(verbs) {
				t.Errorf("refused to a holder of %v", verbs)
			}
			for i := range verbs {
				if held := slices.Delete(slices.Clone(verbs), i, i+1); allowed(held) {
					t.Errorf("allowed to a holder of %v", held)
				}
			}
			if test.verbs != "" && allowed([]string{"granular", "granular:metadata", "granular:status"}) {
				t.Error("allowed to a holder of other verbs")
			}
		})
	}
}

// TestNothingCovers checks that no verb allows what no permission covers, and what is excluded is not
// covered by what is around it.
func TestNothingCovers(t *testing.T) {
	every := func(except string) func(string) bool { return func(v string) bool { return v != "granular:"+except } }
	if Allowed(true, Differences(widget, object{"x": "1"}, object{"x": "2"}), every("")) {
		t.Error("a field without a permission was changed")
	}
	old, new := object{"spec": object{"lock": object{"x": "1"}}}, object{"spec": object{"lock": object{"x": "2"}}}
	if Allowed(false, Differences(widget, old, new), every("lock")) {
		t.Error("an excluded field was changed without its permission")
	}
}

// TestOwn checks whose differences count if others change the object.
func TestOwn(t *testing.T) {
	stored := labels("a", "1", "b", "1")
	for name, test := range map[string]struct {
		sent, final any
		verbs       []string
		want        bool
	}{
		"a webhook's label":                {labels("a", "2", "b", "1"), labels("a", "2", "b", "2"), []string{"granular:label(a)"}, true},
		"the caller's label":               {labels("a", "2", "b", "1"), labels("a", "2", "b", "2"), []string{"granular:label(b)"}, false},
		"a change that is undone":          {labels("a", "2", "b", "1"), stored, nil, true},
		"a change that may be moved":       {labels("a", "2", "b", "1"), labels("a", "1", "b", "2"), nil, false},
		"a change that may be moved, held": {labels("a", "2", "b", "1"), labels("a", "1", "b", "2"), []string{"granular:label(a)"}, true},
	} {
		own := Own(Differences(widget, stored, test.sent), Differences(widget, stored, test.final))
		if got := Allowed(true, own, func(v string) bool { return slices.Contains(test.verbs, v) }); got != test.want {
			t.Errorf("%s: allowed: %v", name, got)
		}
	}
}
