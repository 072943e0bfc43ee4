// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestEntriesSeeEveryPlace checks that an entry holds in every place that a definition can have, though the
// definition excludes nothing and its ordinary writes are therefore not verified. It is
// TestExcludesSeesEveryPlace for entries, which also exclude fields of metadata.
func TestEntriesSeeEveryPlace(t *testing.T) {
	const text = `{"type":"string"}`
	object := func(field, schema string) string {
		return `{"type":"object","properties":{"` + field + `":` + schema + `}}`
	}
	const set = `{"type":"array","x-kubernetes-list-type":"set","items":` + text + `}`
	keyed := func(items string) string {
		return `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":` + text + `,"f":` + items + `}}}`
	}
	maps := func(values string) string { return `{"type":"object","additionalProperties":` + values + `}` }
	for name, tc := range map[string]struct {
		// schema is that of the field top, path is that of an entry below it, and old and new are its values.
		schema, path, old, new string
	}{
		"the field itself":         {text, "", `"a"`, `"b"`},
		"properties":               {object("f", text), ".f", `{"f":"a"}`, `{"f":"b"}`},
		"deep properties":          {object("f", object("g", object("h", text))), ".f.g.h", `{"f":{"g":{"h":"a"}}}`, `{"f":{"g":{"h":"b"}}}`},
		"a number or text":         {object("f", `{"x-kubernetes-int-or-string":true}`), ".f", `{"f":"a"}`, `{"f":1}`},
		"may be null":              {object("f", `{"type":"object","nullable":true,"properties":{"g":`+text+`}}`), ".f.g", `{"f":null}`, `{"f":{"g":"a"}}`},
		"a list":                   {object("f", `{"type":"array","items":`+text+`}`), ".f", `{"f":["a"]}`, `{"f":["b"]}`},
		"inside an atomic list":    {object("f", `{"type":"array","items":`+object("g", text)+`}`), ".f[*].g", `{"f":[{"g":"a"}]}`, `{"f":[{"g":"b"}]}`},
		"a set":                    {object("f", set), ".f", `{"f":["a"]}`, `{"f":["b"]}`},
		"elements of a set":        {object("f", set), ".f[*]", `{"f":["a"]}`, `{"f":["a","b"]}`},
		"elements with a key":      {keyed(text), "[*]", `[{"k":"x"}]`, `[{"k":"x"},{"k":"y"}]`},
		"inside such elements":     {keyed(text), "[*].f", `[{"k":"x","f":"a"}]`, `[{"k":"x","f":"b"}]`},
		"values of a map":          {maps(text), "[*]", `{"x":"a"}`, `{"x":"b"}`},
		"inside values of a map":   {maps(object("f", text)), "[*].f", `{"x":{"f":"a"}}`, `{"x":{"f":"b"}}`},
		"lists of maps of lists":   {keyed(maps(keyed(text))), "[*].f[*][*].f", `[{"k":"x","f":{"y":[{"k":"z","f":"a"}]}}]`, `[{"k":"x","f":{"y":[{"k":"z","f":"b"}]}}]`},
		"unknown fields":           {`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, ".f.g", `{"f":{"g":1}}`, `{"f":{"g":2}}`},
		"unknown and known fields": {`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"f":` + text + `}}`, ".f", `{"f":"a"}`, `{"f":"b"}`},
		"a whole object":           {`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`, ".spec.f", `{"spec":{"f":1}}`, `{"spec":{"f":2}}`},
		"no type":                  {`{}`, "", `{"f":1}`, `{"f":2}`},
		"another definition":       {`{"$ref":"#/definitions/other"}`, ".f.g", `{"f":{"g":"a"}}`, `{"f":{"g":"b"}}`},
		"all of":                   {`{"allOf":[{"$ref":"#/definitions/other"}],"default":{}}`, ".f.g", `{"f":{"g":"a"}}`, `{"f":{"g":"b"}}`},
		"all of, and properties":   {`{"allOf":[` + object("f", text) + `],"type":"object","properties":{"g":` + text + `}}`, ".f", `{"f":"a"}`, `{"f":"b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"other": object("f", object("g", text)), "thing": fmt.Sprintf(silentWith, tc.schema)}
			write := func(grants *grants, source string, entry string) (granular.Write, error) {
				of := customThing(t, silent)
				of.Schema = granular.NewSchema(models(t, all))
				of.Schema.Excludes = customThing(t, silent).Schema.Excludes
				g := New(grants, WithFieldPermissions(withEntries(entriesOf(t, source, true, entry))))
				return holdsPlace(t, g, of, fmt.Sprintf(`{"top":%s}`, tc.old), fmt.Sprintf(`{"top":%s}`, tc.new))
			}
			checkPlace(t, write, ".top"+tc.path)
		})
	}
	for name, tc := range map[string]struct{ path, changed string }{
		"finalizers": {".metadata.finalizers", `{"metadata":{"finalizers":["a.io/x"]}}`},
		"owners":     {".metadata.ownerReferences", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}]}}`},
		"metadata":   {".metadata", `{"metadata":{"finalizers":["a.io/x"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			checkPlace(t, func(grants *grants, source, entry string) (granular.Write, error) {
				g := New(grants, WithFieldPermissions(withEntries(entriesOf(t, source, true, entry))))
				return holdsPlace(t, g, customThing(t, silentOwned), `{"metadata":{}}`, tc.changed)
			}, tc.path)
		})
	}
}

// silentWith is a definition that excludes nothing, with the schema of one field.
const silentWith = `{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Thing"}],
	"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},"top":%s}}`

// silentOwned is a definition that excludes nothing, with the metadata that the server adds to each.
const silentOwned = `{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Thing"}],
	"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object","properties":{
		"finalizers":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
		"ownerReferences":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["uid"],"items":{"type":"object",
			"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"name":{"type":"string"},"uid":{"type":"string"}}}}}}}}`

// holdsPlace updates an object, and returns the Write, nil if nothing is verified, and the error of the request.
func holdsPlace(t *testing.T, g *Gate, of granular.Target, old, changed string) (granular.Write, error) {
	t.Helper()
	ctx := requestContext("update")
	return g.Begin(ctx, of), attempt(t, g, ctx, of, old, changed, changed)
}

// checkPlace checks that an entry at a path stops a caller with the ordinary verb, and its twins: a holder of the verb
// of the entry, an entry of another resource, and an entry that is no exclusion.
func checkPlace(t *testing.T, write func(grants *grants, source, entry string) (granular.Write, error), path string) {
	t.Helper()
	closed := path + " acme.io/x excluded"
	verified, err := write(&grants{}, thingEntries, closed)
	if verified == nil {
		t.Error("nothing is verified")
	}
	wantError(t, err, "(excluded by FieldPermission "+thingEntries+")")
	_, err = write(&grants{allow: []string{"granular:acme.io/x"}}, thingEntries, closed)
	wantError(t, err, "")
	for source, entry := range map[string]string{"others.example.com": closed, thingEntries: path + " acme.io/x"} {
		if verified, err := write(&grants{}, source, entry); verified != nil || err != nil {
			t.Errorf("%s of %s: %T, %v", entry, source, verified, err)
		}
	}
}
