// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// compileYAML compiles the definition root of the given definitions. Extensions are written with a
// plus sign for their long prefix, as +verb or +excluded.
func compileYAML(t testing.TB, text string) (*schema.Tree, error) {
	t.Helper()
	return schema.Compile(definitionsOf(t, text), "root")
}

// definitionsOf decodes definitions.
func definitionsOf(t testing.TB, text string) map[string]*spec.Schema {
	t.Helper()
	for _, short := range []string{"verb", "excluded", "parameter-source", "parameterized-by", "parameter-treatment", "parameter-expression", "scope", "nonsense"} {
		text = strings.ReplaceAll(text, "+"+short+":", "x-kubernetes-permission-"+short+":")
	}
	text = strings.ReplaceAll(text, "+list:", "x-kubernetes-list-type:")
	text = strings.ReplaceAll(text, "+keys:", "x-kubernetes-list-map-keys:")
	definitions := map[string]*spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(text), &definitions); err != nil {
		t.Fatal(err)
	}
	return definitions
}

func TestCompile(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "root: {type: object}", "root (object)\n  metadata (object)\n"},
		{"own words before the type's", `
root: {properties: {a: {$ref: "#/definitions/A", +verb: own}, b: {allOf: [{$ref: "#/components/schemas/A"}]}}}
A: {+verb: type, +excluded: "", properties: {x: {type: string, +verb: inner}}}
`, `root (object)
  a (object) own excluded
    x (leaf) inner
  b (object) type excluded
    x (leaf) inner
  metadata (object)
`},
		{"a flag taken back", `
root: {properties: {a: {$ref: "#/definitions/A", +excluded: false}}}
A: {+verb: type, +excluded: true}
`, "root (object)\n  a (leaf) type\n  metadata (object)\n"},
		{"scope within scope", `
root: {properties: {spec: {+verb: specification, properties: {job: {$ref: "#/definitions/Job"}}}}}
Job: {+scope: jobTemplate, properties: {spec: {+verb: specification, properties: {pod: {$ref: "#/definitions/Pod"}}}}}
Pod: {+scope: podTemplate, properties: {spec: {+verb: specification, properties: {pool: {type: string, +verb: example.com/nodePool}}}}}
`, `root (object)
  metadata (object)
  spec (object) specification
    job (object) jobTemplate
      spec (object) jobTemplateSpecification
        pod (object) podTemplate
          spec (object) podTemplateSpecification
            pool (leaf) example.com/podTemplateNodePool
`},
		{"a verb beside a scope is one of the outer object", `
root: {properties: {spec: {+verb: specification, $ref: "#/definitions/Claim"}}}
Claim: {+scope: claimTemplate, properties: {spec: {+verb: specification}}}
`, `root (object)
  metadata (object)
  spec (object) specification claimTemplate
    spec (leaf) claimTemplateSpecification
`},
		{"metadata met again outside a scope", `
root: {properties: {metadata: {$ref: "#/definitions/Meta"}, items: {items: {properties: {metadata: {$ref: "#/definitions/Meta"}}}}}}
Meta: {+verb: metadata, properties: {labels: {+verb: labels}}}
`, "root (object)\n  metadata (object) metadata\n    labels (leaf) labels\n"},
		{"metadata that is no more than an object", `
root: {properties: {metadata: {type: object, properties: {name: {type: string}}}, template: {$ref: "#/definitions/T"}}}
T: {properties: {metadata: {$ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}}}
io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta: {+verb: metadata}
`, "root (object)\n  metadata (object) metadata\n"},
		{"metadata of which nobody says more", "root: {properties: {metadata: {type: object}, a: {+verb: a}}}",
			"root (object)\n  a (leaf) a\n  metadata (object)\n"},
		{"recursion is cut", `
root: {properties: {tree: {$ref: "#/definitions/Tree"}}}
Tree: {+verb: tree, properties: {leaf: {+verb: leaf}, left: {$ref: "#/definitions/Tree"}, right: {items: {$ref: "#/definitions/Tree"}}}}
`, "root (object)\n  metadata (object)\n  tree (object) tree\n    leaf (leaf) leaf\n"},
		{"a field's own words on the way round", `
root: {properties: {tree: {$ref: "#/definitions/Tree"}}}
Tree: {+verb: tree, properties: {left: {$ref: "#/definitions/Tree", +verb: branch}}}
`, "root (object)\n  metadata (object)\n  tree (object) tree\n    left (leaf) branch\n"},
		{"the innermost source of a name", `
root: {properties: {m: {+parameter-source: k, additionalProperties: {+parameter-source: k, additionalProperties: {+verb: v, +parameterized-by: k}}}}}
`, "root (object)\n  m (map)\n    * (map)\n      * (leaf) v(k .m[*])\n  metadata (object)\n"},
		{"maps of lists, and lists of what all of several schemas say", `
root: {properties: {m: {additionalProperties: {items: {type: string, +verb: v}}}, l: {items: {allOf: [{type: object}, {items: {properties: {a: {+verb: a}}}}]}}}}
`, "root (object)\n  l (list)\n    * (list)\n      * (object)\n        a (leaf) a\n  m (map)\n    * (list)\n      * (leaf) v\n  metadata (object)\n"},
		{"maps of maps, and of what may be anything", `
root: {properties: {m: {additionalProperties: {additionalProperties: {+verb: v}}}, a: {+verb: a, additionalProperties: {additionalProperties: true}}}}
`, "root (object)\n  a (leaf) a\n  m (map)\n    * (map)\n      * (leaf) v\n  metadata (object)\n"},
		{"a scope that is excluded, and one beside what is", `
root: {properties: {a: {+scope: s, +excluded: true}, b: {+verb: t, +scope: u, +excluded: true}}}
`, "root (object)\n  a (leaf) s excluded\n  b (leaf) t excluded u\n  metadata (object)\n"},
		{"no permission where none can work", `
root: {properties: {a: {+verb: a, not: {$ref: "#/definitions/none"}, anyOf: [{$ref: "#/definitions/A"}], oneOf: [{type: string}]}}}
A: {type: string}
`, "root (object)\n  a (leaf) a\n  metadata (object)\n"},
		{"a field that two schemas speak of", `
root: {properties: {a: {properties: {x: {+verb: x}}, allOf: [{properties: {b: {+verb: b}, x: {properties: {z: {+verb: z}}}}}]}}}
`, "root (object)\n  a (object)\n    b (leaf) b\n    x (object) x\n      z (leaf) z\n  metadata (object)\n"},
		{"a set of anything is a list", `
root: {properties: {l: {+list: set, items: {+verb: v}}}}
`, "root (object)\n  l (list)\n    * (leaf) v\n  metadata (object)\n"},
		{"a set of objects is a list", `
root: {properties: {l: {+list: set, items: {type: object, properties: {a: {+verb: v}}}}}}
`, "root (object)\n  l (list)\n    * (object)\n      a (leaf) v\n  metadata (object)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, err := compileYAML(t, test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, tree.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func chain(n int) string {
	text := "{type: string}"
	for i := range n {
		text = fmt.Sprintf("{+verb: p%d, properties: {a: %s}}", i, text)
	}
	return text
}

func TestCompileRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"malformed permission", "root: {properties: {a: {+verb: Labels}}}",
			".a: x-kubernetes-permission-verb: permission: the name must begin with a lower-case letter"},
		{"empty permission", "root: {properties: {a: {+verb: ''}}}",
			".a: x-kubernetes-permission-verb: must not be empty"},
		{"permission that is no string", "root: {properties: {a: {+verb: 1}}}",
			".a: x-kubernetes-permission-verb: must be a string"},
		{"malformed scope", "root: {properties: {a: {+scope: a.b}}}", ".a: x-kubernetes-permission-scope: "},
		{"excluded by itself", "root: {properties: {a: {+excluded: true}}}",
			".a: x-kubernetes-permission-excluded: has no effect without x-kubernetes-permission-verb"},
		{"excluded in doubt", "root: {properties: {a: {+verb: a, +excluded: perhaps}}}",
			".a: x-kubernetes-permission-excluded: must be true or false"},
		{"excluded here and not there", "root: {properties: {a: {+verb: a, +excluded: true}, b: {+verb: a}}}",
			`permission "a" is excluded in one place and not in another`},
		{"no source", "root: {properties: {a: {+verb: a, +parameterized-by: k}}}",
			`.a: x-kubernetes-permission-parameterized-by: no map or list above has x-kubernetes-permission-parameter-source: k`},
		{"a source beside, not above",
			"root: {properties: {m: {+parameter-source: k, additionalProperties: {+verb: x}}, a: {+verb: a, +parameterized-by: k}}}",
			"no map or list above has"},
		{"a source on a list without a key", "root: {properties: {l: {+parameter-source: k, items: {+verb: x}}}}",
			".l: x-kubernetes-permission-parameter-source: the list is atomic or has several keys"},
		{"a source on a list with two keys",
			"root: {properties: {l: {+parameter-source: k, +list: map, +keys: [a, b], items: {+verb: x}}}}",
			"the list is atomic or has several keys"},
		{"a list-map without keys", "root: {properties: {l: {+list: map, items: {+verb: x}}}}",
			".l: a list of type map needs x-kubernetes-list-map-keys"},
		{"a list type that is no string", "root: {properties: {l: {+list: 5, items: {+verb: x}}}}",
			".l: x-kubernetes-list-type: must be a string"},
		{"a source on a key that is no string",
			"root: {properties: {l: {+list: map, +keys: [k], items: {properties: {k: {+parameter-source: 5}, v: {+verb: x}}}}}}",
			".l: x-kubernetes-permission-parameter-source: key \"k\": must be a string"},
		{"a source on a set's elements that is no string",
			"root: {properties: {l: {+list: set, items: {type: string, +verb: x, +parameter-source: 5}}}}",
			".l: x-kubernetes-permission-parameter-source: must be a string"},
		{"a list-map of what is missing",
			`root: {properties: {l: {+list: map, +keys: [k], items: {$ref: "#/definitions/A"}}}}`,
			".l: definition A is missing"},
		{"a list-map of what refers to what is missing", `
root: {properties: {l: {+list: map, +keys: [k], items: {allOf: [{$ref: "#/definitions/A"}]}}}}
A: {+verb: x, allOf: [{$ref: "#/definitions/B"}]}`, ".l: definition B is missing"},
		{"a list-map whose keys are no strings",
			"root: {properties: {l: {+list: map, +keys: [1], items: {+verb: x}}}}",
			".l: x-kubernetes-list-map-keys: must be strings"},
		{"a set of what is missing", `root: {properties: {l: {+list: set, items: {$ref: "#/definitions/A"}}}}`,
			".l: definition A is missing"},
		{"a set of what refers to what is missing", `
root: {properties: {l: {+list: set, items: {+verb: x, $ref: "#/definitions/A"}}}}
A: {$ref: "#/definitions/B"}`, ".l: definition B is missing"},
		{"a map of what refers to what is missing", `
root: {properties: {m: {$ref: "#/definitions/A", additionalProperties: {+verb: x}}}}
A: {$ref: "#/definitions/B"}`, ".m: definition B is missing"},
		{"a key that is missing",
			`root: {properties: {l: {+list: map, +keys: [k], items: {properties: {k: {$ref: "#/definitions/A"}, v: {+verb: x}}}}}}`,
			".l: definition A is missing"},
		{"unknown treatment",
			"root: {properties: {m: {+parameter-source: k, additionalProperties: {+verb: x, +parameterized-by: k, +parameter-treatment: upper}}}}",
			".m[*]: x-kubernetes-permission-parameter-treatment: unknown parameter treatment"},
		{"a source without a permission",
			"root: {properties: {m: {+parameter-source: k, additionalProperties: {+parameterized-by: k}}}}",
			".m[*]: x-kubernetes-permission-parameterized-by: has no effect without x-kubernetes-permission-verb"},
		{"too long below its scope",
			"root: {properties: {a: {+scope: " + strings.Repeat("s", 40) + ", properties: {b: {+verb: " + strings.Repeat("v", 40) + "}}}}}",
			".a.b: x-kubernetes-permission-verb: with the prefix of its scope: permission: the name is longer than 63 bytes"},
		{"treatment of nothing",
			"root: {properties: {a: {+verb: x, +parameter-treatment: slash-delimited-prefix}}}",
			"x-kubernetes-permission-parameter-treatment: has no effect without"},
		{"expression of nothing", "root: {properties: {a: {+verb: x, +parameter-expression: self}}}",
			".a: x-kubernetes-permission-parameter-expression: has no effect without"},
		{"expression that nobody compiles",
			"root: {properties: {m: {+parameter-source: k, additionalProperties: {+verb: x, +parameterized-by: k, +parameter-expression: self}}}}",
			".m[*]: x-kubernetes-permission-parameter-expression: is not supported here"},
		{"expression and treatment",
			"root: {properties: {m: {+parameter-source: k, additionalProperties: {+verb: x, +parameterized-by: k, +parameter-expression: self, +parameter-treatment: slash-delimited-prefix}}}}",
			".m[*]: x-kubernetes-permission-parameter-expression: can't stand together with"},
		{"more than one problem", "root: {properties: {a: {+verb: A}, b: {+verb: b, properties: {c: {+verb: C}}}}}",
			".a: x-kubernetes-permission-verb: permission: the name must begin with a lower-case letter (and 1 more)"},
		{"an extension from the future", "root: {properties: {a: {+verb: x, +nonsense: y}}}",
			".a: x-kubernetes-permission-nonsense: unknown extension"},
		{"below anyOf", "root: {properties: {a: {anyOf: [{+verb: x}]}}}",
			"x-kubernetes-permission-verb can't stand below anyOf"},
		{"below oneOf", "root: {properties: {a: {oneOf: [{+verb: x}]}}}",
			"x-kubernetes-permission-verb can't stand below anyOf"},
		{"below not", "root: {properties: {a: {not: {+verb: x}}}}",
			"x-kubernetes-permission-verb can't stand below anyOf"},
		{"below a pattern", "root: {properties: {a: {patternProperties: {b: {+verb: x}}}}}",
			"x-kubernetes-permission-verb can't stand below anyOf, oneOf, not or a pattern"},
		{"below one item of several", "root: {properties: {a: {items: [{+verb: x}]}}}",
			"x-kubernetes-permission-verb can't stand below anyOf"},
		{"below additional items", "root: {properties: {a: {additionalItems: {+verb: x}}}}",
			"x-kubernetes-permission-verb can't stand below anyOf"},
		{"referred to from not", `
root: {properties: {a: {not: {$ref: "#/definitions/A"}}}}
A: {+verb: x}`, "a permission of A can't stand below anyOf"},
		{"below anyOf of what is referred to", `
root: {properties: {a: {$ref: "#/definitions/A"}}}
A: {+verb: a, anyOf: [{+verb: x}]}`, ".a: definition A: x-kubernetes-permission-verb can't stand below anyOf"},
		{"dangling reference", `root: {properties: {a: {$ref: "#/definitions/A"}}}`, ".a: definition A is missing"},
		{"excluded in a circle", `
root: {properties: {a: {$ref: "#/definitions/A"}}}
A: {properties: {x: {+verb: x, +excluded: true}, a: {$ref: "#/definitions/A"}}}`, ".a.a: definition A refers to itself and contains an excluded permission"},
		{"excluded in a wider circle", `
root: {properties: {a: {$ref: "#/definitions/A"}}}
A: {properties: {b: {$ref: "#/definitions/B"}, c: {+verb: c}}}
B: {properties: {x: {+verb: x, +excluded: true}, a: {$ref: "#/definitions/A"}}}`, ".a.b.a: definition A refers to itself and contains an excluded permission"},
		{"two shapes", "root: {properties: {a: {properties: {x: {+verb: x}}, additionalProperties: {+verb: z}}}}",
			"more than one of properties, additionalProperties and items"},
		{"too deep", "root: " + chain(schema.MaxPermissionsOnPath+1), "more than 12 permissions on one path"},
		{"too broad", `
root: {properties: {a: {$ref: "#/definitions/A"}, b: {$ref: "#/definitions/A"}, c: {$ref: "#/definitions/A"}, d: {$ref: "#/definitions/A"}}}
` + wide(), "more than 10000 places with permissions"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, err := compileYAML(t, test.text)
			if err == nil {
				t.Fatalf("compiled:\n%s", tree)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := compileYAML(t, "root: "+chain(schema.MaxPermissionsOnPath)); err != nil {
		t.Errorf("the longest chain: %v", err)
	}
}

// TestCompileRefusesMalformedValues gives each extension values of wrong types. All other
// extensions of the schema are valid.
func TestCompileRefusesMalformedValues(t *testing.T) {
	good := map[string]any{
		schema.ExtVerb: "v", schema.ExtScope: "s", schema.ExtExcluded: true, schema.ExtSource: "j",
		schema.ExtParameterized: "k", schema.ExtTreatment: "slash-delimited-prefix",
	}
	compile := func(extensions map[string]any) error {
		value := spec.Schema{}
		value.Extensions = extensions
		value.AdditionalProperties = &spec.SchemaOrBool{Schema: &spec.Schema{}}
		value.AdditionalProperties.Schema.AddExtension(schema.ExtVerb, "below")
		within := spec.Schema{}
		within.AddExtension(schema.ExtSource, "k")
		within.AdditionalProperties = &spec.SchemaOrBool{Schema: &value}
		root := (&spec.Schema{}).SetProperty("m", within)
		_, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
		return err
	}
	if err := compile(good); err != nil {
		t.Fatal(err)
	}
	for _, key := range append(slices.Sorted(maps.Keys(good)), schema.ExtExpression) {
		for _, value := range []any{nil, 1, 1.5, "", true, "perhaps", []any{"v"}, map[string]any{"v": "v"}, []string{"v"}} {
			if key == schema.ExtExcluded && (value == "" || value == true) || key != schema.ExtExcluded && value == "perhaps" && key != schema.ExtTreatment && key != schema.ExtParameterized {
				continue
			}
			extensions := maps.Clone(good)
			extensions[key] = value
			if err := compile(extensions); err == nil || !strings.Contains(err.Error(), ".m[*]: "+key+": ") {
				t.Errorf("%s of %#v: %v", key, value, err)
			}
		}
	}
}

// wide returns definitions that each refer to the next one ten times.
func wide() string {
	var b strings.Builder
	for c := 'A'; c < 'F'; c++ {
		fmt.Fprintf(&b, "%c: {properties: {", c)
		for i := range 10 {
			fmt.Fprintf(&b, "f%d: {$ref: '#/definitions/%c'}, ", i, c+1)
		}
		b.WriteString("}}\n")
	}
	return b.String() + "F: {+verb: x}\n"
}
