// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func containers(text string) string { return "spec: {template: {spec: {containers: [" + text + "]}}}" }

func TestLocate(t *testing.T) {
	const widget = "example.com/v1/Widget"
	long := strings.Repeat("k", 300)
	for _, test := range []struct{ kind, old, new, want string }{
		{deployment, "spec: {strategy: {type: A}}", "spec: {strategy: {type: B}}", ".spec.strategy.type"},
		{deployment, "spec: {minReadySeconds: 1, replicas: 1}", "spec: {minReadySeconds: 2, replicas: 2}",
			".spec.minReadySeconds"},
		{deployment, "metadata: {name: a}", "metadata: {name: a, labels: {foo.com/bar: v}}",
			".metadata.labels[foo.com/bar]"},
		{deployment, "metadata: {name: a}", "metadata: {name: a, labels: {'a b]': v}}", `.metadata.labels["a b]"]`},
		{deployment, "metadata: {name: a}", "metadata: {name: a, labels: {\"\\u202e\\n\": v}}",
			`.metadata.labels["\u202e\n"]`},
		{deployment, "metadata: {name: a}", "metadata: {name: a, labels: {" + long + ": v}}",
			".metadata.labels[\"" + long[:128] + "\"...]"},
		{deployment, "metadata: {finalizers: [a]}", "metadata: {finalizers: [a, b]}", `.metadata.finalizers["b"]`},
		{deployment, "status: {conditions: [{type: SuperSafe, reason: a}]}",
			"status: {conditions: [{type: SuperSafe, reason: b}]}", `.status.conditions[type="SuperSafe"].reason`},
		{deployment, "spec: {template: {spec: {containers: [{name: c, image: a}]}}}",
			"spec: {template: {spec: {containers: [{name: c, image: b}]}}}",
			`.spec.template.spec.containers[name="c"].image`},
		{deployment,
			"spec: {template: {spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 1}]}]}}}",
			"spec: {template: {spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 2}]}]}}}",
			`.spec.template.spec.containers[name="c"].ports[containerPort="80",protocol="TCP"].hostPort`},
		{"/v1/ConfigMap", "data: {a: secret1}", "data: {a: secret2}", ".data[a]"},
		{"/v1/ConfigMap", "data: {a: b}", "{data: {a: b}, immutable: true}", ".immutable"},
		{widget, "spec: {colour: red}", "spec: [1]", ".spec"},
		{widget, "spec: {steps: [{run: a}, {run: b}]}", "spec: {steps: [{run: a}, {run: c}]}", ".spec.steps[1].run"},
		{widget, "spec: {settings: {s: {deep: 1}}}", "spec: {settings: {s: {deep: 2}}}", ".spec.settings[s].deep"},
		{widget, "spec: {settings: {s: {a: 1}}}", "spec: {settings: {s: {b: 1}}}", ".spec.settings[s].a"},
		{widget, "spec: {settings: {s: {a: 1, c: 1}}}", "spec: {settings: {s: {a: 1}}}", ".spec.settings[s].c"},
		{widget, "spec: {settings: {s: {}}}", "spec: {settings: {s: null}}", ".spec.settings[s]"},
		{widget, "spec: {settings: {s: {p: {a: {x: 1}}, q: 1}}}", "spec: {settings: {s: {p: {a: {x: 1}}, q: 2}}}",
			".spec.settings[s].q"},
		{widget, "spec: {settings: {s: {p: [1], q: 1}}}", "spec: {settings: {s: {p: [1], q: 2}}}",
			".spec.settings[s].q"},
		{widget, "spec: {settings: {s: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1}}}",
			"spec: {settings: {s: {a: 2, b: 2, c: 2, d: 2, e: 2, f: 2, g: 2, h: 2}}}", ".spec.settings[s].a"},
		{widget, "spec: {settings: {s: {p: {}}}}", "spec: {settings: {s: {p: {x: null}}}}", ".spec.settings[s].p"},
		{widget, "spec: {settings: {s: {p: {x: null}}}}", "spec: {settings: {s: {p: {}}}}", ".spec.settings[s].p"},
		{widget, "spec: {settings: {s: {p: {x: 1}}}}", "spec: {settings: {s: {p: 5}}}", ".spec.settings[s].p"},
		{widget, "spec: {settings: {s: {p: 5}}}", "spec: {settings: {s: {p: {x: 1}}}}", ".spec.settings[s].p"},
		{widget, "spec: {settings: {s: {o: 1, p: {x: 1}}}}", "spec: {settings: {s: {o: 1}}}", ".spec.settings[s].p.x"},
		{widget, "spec: {settings: {s: {o: 1}}}", "spec: {settings: {s: {o: 1, p: {x: 1}}}}", ".spec.settings[s].p.x"},
		{widget, "spec: {settings: {s: {o: 1}}}", "spec: {settings: {s: {o: 1, p: {}}}}", ".spec.settings[s].p"},
		{widget, "spec: {settings: {s: {o: 1, p: {}}}}", "spec: {settings: {s: {o: 1}}}", ".spec.settings[s].p"},
		{widget, "spec: {settings: {s: {o: 1}}}", "spec: {settings: {s: {o: 1, p: 5}}}", ".spec.settings[s].p"},
		{widget, "spec: {settings: {s: {o: 1, p: 5}}}", "spec: {settings: {s: {o: 1}}}", ".spec.settings[s].p"},
		{deployment, "spec: {template: {spec: {nodeName: a}}}",
			"spec: {template: {spec: {nodeName: a, containers: [{name: a}]}}}",
			`.spec.template.spec.containers[name="a"]`},
		{deployment, "spec: {template: {spec: {nodeName: a, containers: [{name: a}]}}}",
			"spec: {template: {spec: {nodeName: b, containers: [{name: a}]}}}", ".spec.template.spec.nodeName"},
		{widget, "spec: {steps: [{run: [a]}]}", "spec: {steps: [{run: [b]}]}", ".spec.steps[0].run[0]"},
		{deployment, "metadata: {labels: {a: x, b: x}}", "metadata: {labels: {a: x}}", ".metadata.labels[b]"},
		{deployment, "metadata: {labels: {a: x, b: x}}", "metadata: {labels: {a: x, b: z}}", ".metadata.labels[b]"},
		{deployment, "status: {conditions: [{type: A, reason: a}, {type: B, reason: a}]}",
			"status: {conditions: [{type: A, reason: a}, {type: B, reason: b}]}",
			`.status.conditions[type="B"].reason`},
		{deployment, "status: {conditions: [{type: A}, {type: B}]}", "status: {conditions: [{type: B}]}",
			`.status.conditions[type="A"]`},
		{deployment, containers("{name: a}, {name: b}"), containers("{name: b}, {name: a}"),
			".spec.template.spec.containers"},
		{deployment, containers("{name: a}, {name: b, image: x}"), containers("{name: a}, {name: b, image: z}"),
			`.spec.template.spec.containers[name="b"].image`},
		{deployment, containers("{name: a}"), containers("{name: a}, {name: b}"),
			`.spec.template.spec.containers[name="b"]`},
		{deployment, containers("{name: a, ports: [{containerPort: 80}]}"),
			containers("{name: a, ports: [{containerPort: 80}, {containerPort: 81}]}"),
			`.spec.template.spec.containers[name="a"].ports[containerPort="81",protocol="TCP"]`},
		{deployment, containers("{name: a, args: [x]}"), containers("{name: a, args: [x, z]}"),
			`.spec.template.spec.containers[name="a"].args`},
		{deployment, containers("{name: a, args: [x, y]}"), containers("{name: a, args: [x, z]}"),
			`.spec.template.spec.containers[name="a"].args[1]`},
		{deployment, "spec: {strategy: {}}", "spec: {strategy: {rollingUpdate: {}}}", ".spec.strategy.rollingUpdate"},
		{deployment, "spec: {replicas: 1}", "spec: {replicas: 1, selector: {}}", ".spec.selector"},
		{deployment, "spec: {selector: {matchExpressions: [{key: a}]}}", "spec: {selector: {matchExpressions: []}}",
			".spec.selector.matchExpressions"},
		{deployment, "spec: {selector: {matchExpressions: [{key: a, values: [x]}]}}",
			"spec: {selector: {matchExpressions: [{key: a, values: [z]}]}}",
			".spec.selector.matchExpressions[0].values[0]"},
		{"/v1/Pod", "spec: {volumes: [{name: a}, {name: b}]}", "spec: {volumes: [{name: b}, {name: a}]}",
			".spec.volumes"},
		{"/v1/Pod", "spec: {volumes: [{name: a, emptyDir: {}}]}", "spec: {volumes: [{name: a}]}",
			`.spec.volumes[name="a"].emptyDir`},
		// A key is cut between two characters, not inside one.
		{deployment, "metadata: {name: a}", "metadata: {name: a, labels: {" + long[:127] + "€€: v}}",
			".metadata.labels[\"" + long[:127] + "\"...]"},
	} {
		t.Run(test.want, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			old, new := plainOf(t, test.old), plainOf(t, test.new)
			set := compareOrFail(t, w, All, old, new)
			if got := w.Locate(set[0], old, new); got != test.want {
				t.Errorf("got %s", got)
			}
			if goTypes[test.kind] == nil {
				return
			}
			typedOld, typedNew := typedOf(t, test.kind, test.old), typedOf(t, test.kind, test.new)
			set = compareOrFail(t, w, All, typedOld, typedNew)
			if got := w.Locate(set[0], typedOld, typedNew); got != test.want {
				t.Errorf("Go type: got %s", got)
			}
		})
	}
}

// TestRemoves checks which changes remove the value that Locate names.
func TestRemoves(t *testing.T) {
	const widget = "example.com/v1/Widget"
	for _, test := range []struct {
		kind, old, new string
		want           bool
	}{
		{deployment, "spec: {replicas: 1}", "spec: {}", true},
		{deployment, "spec: {replicas: 1}", "spec: {replicas: 2}", false},
		{deployment, "spec: {}", "spec: {replicas: 2}", false},
		{deployment, "spec: {replicas: 1}", "spec: {replicas: 0}", false},
		{deployment, "spec: {paused: true}", "spec: {paused: false}", false},
		{deployment, "spec: {paused: true}", "spec: {}", true},
		{deployment, "spec: {strategy: {type: A}}", "spec: {}", true},
		{deployment, "metadata: {labels: {a: x, b: x}}", "metadata: {labels: {a: x}}", true},
		{deployment, "metadata: {labels: {a: x}}", "metadata: {labels: {a: x, b: x}}", false},
		{deployment, "metadata: {finalizers: [a, b]}", "metadata: {finalizers: [a]}", true},
		{deployment, containers("{name: a}, {name: b}"), containers("{name: a}"), true},
		{deployment, containers("{name: a, image: b}"), containers("{name: a}"), true},
		{deployment, containers("{name: a, args: [x, y]}"), containers("{name: a, args: [x]}"), false},
		{deployment, containers("{name: a, args: [x, y]}"), containers("{name: a}"), true},
		{widget, "spec: {settings: {s: {a: 1}}}", "spec: {settings: {s: {b: 1}}}", true},
		{widget, "spec: {settings: {s: {b: 1}}}", "spec: {settings: {s: {a: 1}}}", false},
		{widget, "spec: {settings: {s: {p: {x: 1}}}}", "spec: {settings: {s: {p: 5}}}", false},
		{widget, "spec: {settings: {s: {p: {x: 1}}}}", "spec: {settings: {s: {p: null}}}", true},
		{widget, "spec: {settings: {s: {p: {x: 1}}}}", "{}", true},
	} {
		w := walkerOf(t, test.kind)
		old, new := plainOf(t, test.old), plainOf(t, test.new)
		set := compareOrFail(t, w, All, old, new)
		if got := w.Removes(set[0], old, new); got != test.want {
			t.Errorf("%s to %s, at %s: %t", test.old, test.new, w.Locate(set[0], old, new), got)
		}
		if goTypes[test.kind] == nil || test.new == "spec: {paused: false}" {
			continue // in a Go type, false is no value
		}
		typedOld, typedNew := typedOf(t, test.kind, test.old), typedOf(t, test.kind, test.new)
		set = compareOrFail(t, w, All, typedOld, typedNew)
		if got := w.Removes(set[0], typedOld, typedNew); got != test.want {
			t.Errorf("Go type: %s to %s, at %s: %t", test.old, test.new, w.Locate(set[0], typedOld, typedNew), got)
		}
	}
}

// TestLocateIsBounded checks that a message is short and printable, although a caller may choose
// the keys and the depth.
func TestLocateIsBounded(t *testing.T) {
	w := walkerOf(t, "example.com/v1/Widget")
	deep := any(int64(1))
	for range 2000 {
		deep = map[string]any{"\x1b[31m": deep}
	}
	new := map[string]any{"spec": map[string]any{"settings": map[string]any{"s": deep}}}
	old := map[string]any{"spec": map[string]any{"settings": map[string]any{}}}
	set := compareOrFail(t, w, All, old, new)
	got := w.Locate(set[0], old, new)
	if len(got) > MaxPathLength {
		t.Errorf("%d bytes", len(got))
	}
	for i := range len(got) {
		if got[i] < ' ' || got[i] > '~' {
			t.Fatalf("byte %d is %x", i, got[i])
		}
	}
	// This path is exactly as long as allowed, and the difference is one step deeper.
	shown, rest := ".spec.settings[s]", any(map[string]any{"z": int64(1)})
	for len(shown) < MaxPathLength {
		name := strings.Repeat("k", min(100, MaxPathLength-len(shown)-1))
		shown += "." + name
	}
	for _, name := range slices.Backward(strings.Split(shown, ".")[3:]) {
		rest = map[string]any{name: rest}
	}
	new = map[string]any{"spec": map[string]any{"settings": map[string]any{"s": rest}}}
	set = compareOrFail(t, w, All, old, new)
	if got := w.Locate(set[0], old, new); got != shown[:MaxPathLength-len(ellipsis)]+ellipsis {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// TestLocateTellsNilFromEmpty checks that Locate names a difference between nil and empty.
func TestLocateTellsNilFromEmpty(t *testing.T) {
	w := walkerOf(t, "example.com/v1/Widget")
	object := func(value any) map[string]any {
		return map[string]any{"spec": map[string]any{"settings": map[string]any{"s": map[string]any{"p": value, "q": "same"}}}}
	}
	for _, pair := range [][2]any{{map[string]any(nil), map[string]any{}}, {[]any(nil), []any{}}} {
		for _, pair := range [][2]any{pair, {pair[1], pair[0]}} {
			old, new := object(pair[0]), object(pair[1])
			if got := w.Locate(compareOrFail(t, w, All, old, new)[0], old, new); got != ".spec.settings[s].p" {
				t.Errorf("%#v to %#v: %s", pair[0], pair[1], got)
			}
		}
	}
}

// located is a kind with objects inside that carry a permission of their own.
type located struct {
	Box    *locatedBox      `json:"box,omitempty"`
	Atomic []locatedElement `json:"atomic,omitempty"`
	Named  []locatedElement `json:"named,omitempty"`
}

type locatedElement struct {
	Name string      `json:"name"`
	Side string      `json:"side"`
	Box  *locatedBox `json:"box,omitempty"`
}

type locatedBox struct {
	X int32 `json:"x,omitempty"`
}

// TestLocateFindsThePlace checks that Locate returns a path at or below the location of the
// change, for Go types and for JSON, even if only one of the objects has the location.
func TestLocateFindsThePlace(t *testing.T) {
	const box = `box: {x-kubernetes-permission-verb: box, properties: {x: {type: integer}}}`
	const element = `{properties: {name: {type: string}, side: {type: string}, ` + box + `}}`
	w := walkerFor(t, `{`+box+`, atomic: {type: array, items: `+element+`},
		named: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, side], items: `+element+`}}`)
	for _, test := range []struct {
		old, new string
		want     []string
	}{
		{``, `{}`, []string{""}},
		{``, `{box: {x: 1}}`, []string{".box.x"}},
		{`{}`, `{box: {x: 1}}`, []string{".box.x"}},
		{`{box: {x: 1}}`, `{}`, []string{".box.x"}},
		{`{box: {x: 1}}`, `{box: {x: 2}}`, []string{".box.x"}},
		{`{atomic: [{name: a, side: l, box: {x: 1}}]}`, `{atomic: [{name: a, side: l, box: {x: 2}}]}`,
			[]string{".atomic[*].box"}},
		{`{named: [{name: a, side: l}]}`, `{named: [{name: a, side: l}, {name: a, side: r, box: {x: 1}}]}`,
			[]string{`.named[name="a",side="r"]`, `.named[name="a",side="r"].box.x`}},
		{`{named: [{name: a, side: r, box: {x: 1}}, {name: a, side: l}]}`, `{named: [{name: a, side: l}]}`,
			[]string{`.named[name="a",side="r"]`, `.named[name="a",side="r"].box.x`}},
		{`{named: [{name: a, side: l, box: {x: 1}}, {name: b, side: l, box: {x: 1}}]}`,
			`{named: [{name: a, side: l, box: {x: 1}}, {name: b, side: l, box: {x: 2}}]}`,
			[]string{`.named[name="b",side="l"].box.x`}},
	} {
		typed := func(text string) any {
			if text == "" {
				return (*located)(nil)
			}
			out := &located{}
			if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		var old any
		if o := plainOf(t, test.old); o != nil {
			old = o
		}
		for name, pair := range map[string][2]any{"JSON": {old, plainOf(t, test.new)}, "Go type": {typed(test.old),
			typed(test.new)}} {
			var got []string
			for _, c := range compareOrFail(t, w, All, pair[0], pair[1]) {
				got = append(got, w.Locate(c, pair[0], pair[1]))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: %s to %s (-want +got):\n%s", name, test.old, test.new, diff)
			}
		}
	}
}

// TestShorten checks where a path is cut.
func TestShorten(t *testing.T) {
	for _, test := range []struct {
		path  string
		limit int
		want  string
	}{
		{".spec.replicas", 14, ".spec.replicas"},
		{".spec.replicas", 13, ".spec.repl..."},
		{`.a["\u20ac\u20ac"]`, 14, `.a["\u20ac...`},
		{`.a["\U0001f600x"]`, 14, `.a["...`},
		{`.a["\U0001f600xyz"]`, 18, `.a["\U0001f600x...`},
		{`.a["\x00\x00\""]`, 12, `.a["\x00...`},
		{`.a["\"\"\"\"\""]`, 10, `.a["\"...`},
		{`.a["\\`, 3, `...`},
		{`.a["\`, 5, `.a["\`},
		{`\`, 0, `...`},
	} {
		if got := Shorten(test.path, test.limit); got != test.want {
			t.Errorf("%s to %d bytes is %s, want %s", test.path, test.limit, got, test.want)
		}
	}
}

// FuzzShorten checks that a path with any key is cut to text that has only whole escapes.
func FuzzShorten(f *testing.F) {
	f.Add("a€\x00\"", 20)
	f.Add("\xa5kkkkkkkkkkkkkkkkkkkkkk\xe2\"\"\x00\xa5", -29)
	f.Fuzz(func(t *testing.T, key string, limit int) {
		limit = 40 + max(0, limit%500)
		shown := Path{{Field: key}}.String()
		cut := Shorten(shown, limit)
		if len(cut) > limit || len(shown) > MaxPathLength {
			t.Fatalf("%d bytes", len(cut))
		}
		if inner, quoted := strings.CutPrefix(cut, `["`); quoted {
			for i := 0; i < len(inner) && inner[i] != '"'; i++ { // up to the closing quote, if there is one
				if inner[i] != '\\' {
					continue
				}
				if _, _, tail, err := strconv.UnquoteChar(inner[i:], '"'); err != nil {
					t.Fatalf("%s: %v", cut, err)
				} else {
					i = len(inner) - len(tail) - 1
				}
			}
		}
	})
}
