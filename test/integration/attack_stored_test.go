// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/pkg/exclusion"
	"kube-granular.dev/test/integration/harness"
)

const (
	storedGroup  = "stored.example.com"
	storedSecret = "granular:stored.example.com/secret"
)

// boxes are the versions of a kind that is stored as v1. Its version v1beta1 lacks each field that
// needs the permission secret. It has a default for spec.mode, and v1 has none.
var boxes = map[string]string{
	"v1": `{type: object, properties: {
  extra: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-permission-verb: stored.example.com/secret},
  status: {type: object, x-kubernetes-permission-verb: status, properties: {size: {type: integer}, word: {type: string},
    secret: {type: string, x-kubernetes-permission-verb: stored.example.com/secret}}},
  spec: {type: object, x-kubernetes-permission-verb: specification, properties: {
    a: {type: integer}, size: {type: integer, x-kubernetes-permission-verb: replicas},
    mode: {type: string, x-kubernetes-permission-verb: stored.example.com/secret},
    secret: {type: string, nullable: true, x-kubernetes-permission-verb: stored.example.com/secret},
    port: {x-kubernetes-int-or-string: true, x-kubernetes-permission-verb: stored.example.com/secret},
    level: {type: string, default: low, x-kubernetes-permission-verb: stored.example.com/secret},
    words: {type: object, additionalProperties: {type: object, properties: {a: {type: integer},
      secret: {type: string, x-kubernetes-permission-verb: stored.example.com/secret}}}},
    parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
      properties: {name: {type: string}, a: {type: integer}, secret: {type: string, x-kubernetes-permission-verb: stored.example.com/secret}}}},
    template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-permission-verb: stored.example.com/secret, properties: {
      spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}`,
	"v1beta1": `{type: object, properties: {
  status: {type: object, x-kubernetes-permission-verb: status, properties: {size: {type: integer}, word: {type: string}}},
  spec: {type: object, x-kubernetes-permission-verb: specification, properties: {
    a: {type: integer}, size: {type: integer, x-kubernetes-permission-verb: replicas}, DEFAULT
    words: {type: object, additionalProperties: {type: object, properties: {a: {type: integer}}}},
    parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
      properties: {name: {type: string}, a: {type: integer}}}}}}}}`,
}

const modeDefault = `mode: {type: string, default: plain, x-kubernetes-permission-verb: stored.example.com/secret},`

// installBoxes installs a kind of stored.example.com. If move is set, it is called by a conversion
// webhook. It returns a function that creates an object and returns its path in v1.
func installBoxes(t *testing.T, s *harness.Server, plural string, versions map[string]string, move func(object map[string]any, to string)) func(t *testing.T, fields string) string {
	t.Helper()
	s.Install(t, boxDefinition(t, plural, "v1", versions, move))
	return func(t *testing.T, fields string) string {
		t.Helper()
		kind := strings.ToUpper(plural[:1]) + plural[1:]
		path := s.CreateIn(t, "/apis/"+storedGroup+"/v1/namespaces/default/"+plural,
			fmt.Sprintf(`{apiVersion: %s/v1, kind: %s, metadata: {name: b}, %s}`, storedGroup, kind, fields))
		if status := harness.FromYAML(t, "{"+fields+"}")["status"]; status != nil {
			s.MustSend(t, http.MethodPatch, path+"/status", harness.ContentTypes["merge"], map[string]any{"status": status})
		}
		return path
	}
}

// boxDefinition returns a definition with the given schemas, stored in the version storage.
func boxDefinition(t *testing.T, plural, storage string, versions map[string]string, move func(object map[string]any, to string)) []byte {
	t.Helper()
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	list := []any{}
	for _, name := range []string{"v1", "v1beta1"} {
		if text, ok := versions[name]; ok {
			list = append(list, map[string]any{
				"name": name, "served": true, "storage": name == storage,
				"subresources": map[string]any{"status": map[string]any{},
					"scale": map[string]any{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
				"schema": map[string]any{"openAPIV3Schema": harness.FromYAML(t, text)},
			})
		}
	}
	spec := map[string]any{
		"group": storedGroup, "scope": "Namespaced", "versions": list,
		"names": map[string]any{"plural": plural, "singular": plural, "kind": kind, "listKind": kind + "List"},
	}
	if move != nil {
		server := harness.ServeWebhook(t, harness.ConversionWebhook(move))
		spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []string{"v1"},
			"clientConfig":             map[string]any{"url": server.URL, "caBundle": harness.CABundle(server)},
		}}
	}
	definition, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + storedGroup}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	return definition
}

// emptyWrite sends a request that changes nothing of what the version of path shows.
func emptyWrite(t *testing.T, s *harness.Server, user, path, way string) harness.Answer {
	t.Helper()
	content := harness.ContentTypes[strings.TrimSuffix(way, " dry")]
	query := "?fieldManager=" + user
	if strings.HasSuffix(way, " dry") {
		query += "&dryRun=All"
	}
	switch strings.TrimSuffix(way, " dry") {
	case "merge":
		return s.Send(t, user, http.MethodPatch, path+query, content, `{}`)
	case "jsonpatch":
		return s.Send(t, user, http.MethodPatch, path+query, content, `[]`)
	case "json":
		return s.Send(t, user, http.MethodPut, path+query, content, s.MustSend(t, http.MethodGet, path, "", nil).Object(t))
	}
	now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
	return s.Send(t, user, http.MethodPatch, path+query, content, map[string]any{"apiVersion": now["apiVersion"], "kind": now["kind"],
		"metadata": map[string]any{"name": harness.Metadata(t, now)["name"]}})
}

// boxFields returns the parts of an object other than its metadata.
func boxFields(object map[string]any) map[string]any {
	return map[string]any{"spec": object["spec"], "status": object["status"], "extra": object["extra"]}
}

// hiddenPlaces are the fields of boxes that v1beta1 does not show. Each has the fields of an object,
// and the path in the refusal of a write that loses them.
var hiddenPlaces = map[string]struct{ fields, says string }{
	"a field":             {`spec: {size: 1, a: 1, secret: s}`, ".spec.secret of version v1"},
	"a null":              {`spec: {size: 1, a: 1, secret: null}`, ".spec.secret of version v1"},
	"a number or text":    {`spec: {size: 1, a: 1, port: 80}`, ".spec.port of version v1"},
	"a default, changed":  {`spec: {size: 1, a: 1, level: high}`, ".spec.level of version v1"},
	"a map":               {`spec: {size: 1, words: {w: {a: 1, secret: s}}}`, ".spec.words[w].secret of version v1"},
	"an element":          {`spec: {size: 1, parts: [{name: x, secret: s}, {name: z, a: 1}]}`, `.spec.parts[name="x"].secret of version v1`},
	"an embedded object":  {`spec: {size: 1, template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {secret: s}}}`, ".spec.template.apiVersion of version v1"},
	"a field at the root": {`spec: {size: 1, a: 1}, extra: {secret: s}`, ".extra.secret of version v1"},
	"the status":          {`spec: {size: 1, a: 1}, status: {word: w, secret: s}`, ".status.secret of version v1"},
}

// TestAttackStored writes objects through a version that does not show all that is stored. The
// request changes nothing that this version shows, but the server stores what is left. A caller
// needs the permission of each stored field that the write loses or sets.
//
// Attack: a field that another version does not show, lost by an empty patch, PUT, apply or dry run through that
// version, on the object, its status and its scale
// Answer: 403, the permission of the field in the stored version
// Was: got through
//
// Attack: a stored value that an empty write through another version replaces by the default of the stored version
// Answer: 403
// Was: got through
func TestAttackStored(t *testing.T) {
	s := onStage(t)
	for strategy, move := range map[string]func(map[string]any, string){"none": nil, "webhook": func(map[string]any, string) {}} {
		for _, defaulted := range []bool{false, true} {
			versions, plural := map[string]string{"v1": boxes["v1"], "v1beta1": strings.Replace(boxes["v1beta1"], "DEFAULT", "", 1)}, "boxes"+strategy
			places := hiddenPlaces
			if defaulted {
				versions["v1beta1"] = strings.Replace(boxes["v1beta1"], "DEFAULT", modeDefault, 1)
				places, plural = map[string]struct{ fields, says string }{"a default of the other": {`spec: {size: 1, a: 1}`, ".spec.mode"}}, "defaulted"+strategy
			}
			box := installBoxes(t, s, plural, versions, move)
			for place, tc := range places {
				for subresource, ways := range map[string][]string{
					"": {"merge", "jsonpatch", "json", "apply", "merge dry"}, "/status": {"merge", "jsonpatch", "json", "apply"},
					"/scale": {"merge", "jsonpatch", "json", "merge dry"},
				} {
					if defaulted && subresource != "" {
						continue // the strategy keeps the stored specification, and a scale sets no defaults
					}
					for _, way := range ways {
						if defaulted && way == "apply" {
							continue // an apply of nothing sets no defaults
						}
						t.Run(strings.Join([]string{strategy, place, subresource, way}, " "), func(t *testing.T) {
							attackStored(t, s, box(t, tc.fields), subresource, way, tc.says)
						})
					}
				}
			}
		}
	}
}

// attackStored sends an empty write through v1beta1 as several callers: one without permissions,
// one with the permission of the stored field, and one that holds the ordinary verbs. An empty
// write through v1, the stored version, changes nothing.
func attackStored(t *testing.T, s *harness.Server, stored, subresource, way, says string) {
	t.Helper()
	beside := strings.Replace(stored, "/v1/", "/v1beta1/", 1) + subresource
	read := func() map[string]any { return boxFields(s.MustSend(t, http.MethodGet, stored, "", nil).Object(t)) }
	before := read()
	s.Callers.AddCaller("holder-of-nothing", "granular", "get", "granular:replicas")
	if a := emptyWrite(t, s, "holder-of-nothing", stored+subresource, way); a.Code != http.StatusOK || !reflect.DeepEqual(before, read()) {
		t.Errorf("through v1: %s, stored is %v", a, read())
	}
	s.Twins(t, stored, "cannot change "+says, []string{storedSecret, "granular", "get", "granular:replicas"}, func(user string) harness.Answer {
		return emptyWrite(t, s, user, beside, way)
	})
	if changed := !reflect.DeepEqual(before, read()); changed == strings.HasSuffix(way, " dry") {
		t.Errorf("a caller with the permission stored %v, before it was %v", read(), before)
	}
	s.Callers.AddCaller("editor-of-boxes", "update", "patch", "get")
	if a := emptyWrite(t, s, "editor-of-boxes", beside, way); a.Code != http.StatusOK {
		t.Errorf("with the ordinary verbs: %s", a)
	}
}

// TestAttackStoredScale scales objects through a version that does not show a stored field, which has
// the permission of the replicas, or is the field that the stored version scales.
//
// Attack: a field that another version does not show, with the permission of the replicas, lost by a scale through
// that version
// Answer: 403, the permission of the field in the stored version
// Was: got through
//
// Attack: the replicas of the stored version, lost by a scale through a version that scales another field
// Answer: 403
// Was: got through
func TestAttackStoredScale(t *testing.T) {
	s := onStage(t)
	spec := func(kind, fields string) string {
		return `{type: object, properties: {spec: {type: object, ` + kind + `x-kubernetes-permission-verb: specification, properties: {` + fields + `}}}}`
	}
	const size, image = `size: {type: integer}`, `image: {type: string}`
	for plural, tc := range map[string]struct{ v1, v1beta1, path, hidden, says string }{
		"together":  {spec("", size+","+image), spec("", size), ".spec.size", `image: i`, ".spec.image of version v1"},
		"atomics":   {spec("x-kubernetes-map-type: atomic, ", size+","+image), spec("", size), ".spec.size", `image: i`, ".spec.image of version v1"},
		"elsewhere": {spec("", size+", count: {type: integer}"), spec("", size), ".spec.count", `count: 9`, ".spec.count of version v1"},
	} {
		definition := harness.FromYAML(t, string(boxDefinition(t, plural, "v1", map[string]string{"v1": tc.v1, "v1beta1": tc.v1beta1}, nil)))
		stored := harness.ValueAt(definition, "spec", "versions").([]any)[0].(map[string]any)
		harness.ValueAt(stored, "subresources", "scale").(map[string]any)["specReplicasPath"] = tc.path
		manifest, err := json.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		s.Install(t, manifest)
		box := func(fields string) string {
			return s.CreateIn(t, "/apis/"+storedGroup+"/v1/namespaces/default/"+plural, fmt.Sprintf(`{apiVersion: %s/v1, kind: %s, metadata: {name: b}, spec: {%s}}`,
				storedGroup, strings.ToUpper(plural[:1])+plural[1:], fields))
		}
		for _, way := range []string{"merge", "json", "merge dry"} {
			t.Run(plural+" "+way, func(t *testing.T) {
				path := box("size: 1, " + tc.hidden)
				replicas := 4
				scale := func(user, path string) harness.Answer {
					replicas++
					return scaleTo(t, s, user, strings.Replace(path, "/v1/", "/v1beta1/", 1)+"/scale", way, replicas)
				}
				s.Twins(t, path, "cannot change "+tc.says, []string{"granular:specification", "granular", "get", "granular:replicas"}, func(user string) harness.Answer {
					return scale(user, path)
				})
				if plural == "elsewhere" {
					return // v1beta1 scales a field that v1 does not scale
				}
				s.Twins(t, box("size: 1"), "cannot change .spec.replicas", []string{"granular:replicas", "granular", "get"}, func(user string) harness.Answer {
					return scale(user, box("size: 1"))
				})
			})
		}
	}
}

// TestAttackStoredForged writes through a version whose conversion webhook loses a field. The caller
// also sends a part that the server replaces by the stored one, and from which the webhook would make
// the value of that field. A dry run must not tell the caller whether it guessed the value.
//
// Attack: a field that a conversion webhook loses, erased by a write that sends its value in a part which the
// server replaces, such as the specification in a write of the status
// Answer: 403, the permission of the field in the stored version
// Was: got through
func TestAttackStoredForged(t *testing.T) {
	s := onStage(t)
	const properties = `{type: object, properties: {
  status: {type: object, x-kubernetes-permission-verb: status, properties: {word: {type: string}, hint: {type: string}}},
  spec: {type: object, x-kubernetes-permission-verb: specification, properties: {a: {type: integer, x-kubernetes-permission-verb: replicas}, FIELD}}}}`
	versions := map[string]string{
		"v1":      strings.Replace(properties, "FIELD", "secret: {type: string, x-kubernetes-permission-verb: stored.example.com/secret}", 1),
		"v1beta1": strings.Replace(properties, "FIELD", "hint: {type: string}", 1),
	}
	box := installBoxes(t, s, "forged", versions, func(object map[string]any, version string) {
		spec, _ := object["spec"].(map[string]any)
		if version != "v1" {
			delete(spec, "secret")
			return
		}
		for _, part := range []string{"spec", "status"} {
			if hint := harness.ValueAt(object, part, "hint"); hint != nil {
				spec["secret"] = hint
			}
		}
		delete(spec, "hint")
	})
	for name, tc := range map[string]struct{ subresource, body string }{
		"the specification in a status":  {"/status", `{"spec":{"hint":"s"},"status":{"word":"w"}}`},
		"a status in the specification":  {"", `{"spec":{"a":2},"status":{"hint":"s"}}`},
		"a wrong guess":                  {"/status", `{"spec":{"hint":"t"},"status":{"word":"w"}}`},
		"a wrong guess in the status":    {"", `{"spec":{"a":2},"status":{"hint":"t"}}`},
		"only what the server replaces":  {"/status", `{"spec":{"hint":"s"}}`},
		"only a status that is replaced": {"", `{"status":{"hint":"s"}}`},
	} {
		for _, query := range []string{"", "?dryRun=All"} {
			t.Run(name+" "+query, func(t *testing.T) {
				stored := box(t, `spec: {a: 1, secret: s}`)
				beside := strings.Replace(stored, "/v1/", "/v1beta1/", 1) + tc.subresource
				s.Twins(t, stored, "cannot change .spec.secret of version v1", []string{storedSecret, "granular", "get", "granular:status", "granular:replicas"}, func(user string) harness.Answer {
					return s.Send(t, user, http.MethodPatch, beside+query, harness.ContentTypes["merge"], tc.body)
				})
			})
		}
	}
}

// scaleTo sends a scale to a number of replicas.
func scaleTo(t *testing.T, s *harness.Server, user, path, way string, replicas int) harness.Answer {
	t.Helper()
	content, query := harness.ContentTypes[strings.TrimSuffix(way, " dry")], "?fieldManager="+user
	if strings.HasSuffix(way, " dry") {
		query += "&dryRun=All"
	}
	if way == "json" {
		now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
		now["spec"] = map[string]any{"replicas": replicas}
		return s.Send(t, user, http.MethodPut, path+query, content, now)
	}
	return s.Send(t, user, http.MethodPatch, path+query, content, map[string]any{"spec": map[string]any{"replicas": replicas}})
}

// TestStoredAndShown checks writes through another version that lose nothing: the object has no
// hidden field, or the hidden field has the default that the stored version sets. They need only
// the permissions of the changed fields.
func TestStoredAndShown(t *testing.T) {
	s := onStage(t)
	for strategy, move := range map[string]func(map[string]any, string){"none": nil, "webhook": func(map[string]any, string) {}} {
		versions := map[string]string{"v1": boxes["v1"], "v1beta1": strings.Replace(boxes["v1beta1"], "DEFAULT", "", 1)}
		box := installBoxes(t, s, "shown"+strategy, versions, move)
		for name, fields := range map[string]string{
			"all is shown": `spec: {a: 1, size: 2, parts: [{name: x, a: 1}]}`, "the default of the stored version": `spec: {a: 1, size: 2, level: low}`,
		} {
			stored := box(t, fields)
			beside := strings.Replace(stored, "/v1/", "/v1beta1/", 1)
			for _, way := range []string{"merge", "jsonpatch", "json", "apply"} {
				for _, subresource := range []string{"", "/status", "/scale"} {
					if subresource == "/scale" && way == "apply" {
						continue
					}
					s.Callers.AddCaller("writer-of-nothing", "granular", "get")
					if a := emptyWrite(t, s, "writer-of-nothing", beside+subresource, way); a.Code != http.StatusOK {
						t.Errorf("%s, %s, %s%s: %s", strategy, name, way, subresource, a)
					}
				}
			}
			s.Twins(t, beside, "cannot change .spec.a", []string{"granular:specification", "granular", "get"}, func(user string) harness.Answer {
				return s.Send(t, user, http.MethodPatch, beside, harness.ContentTypes["merge"], `{"spec":{"a":7}}`)
			})
			s.Twins(t, beside, "cannot change .spec.replicas", []string{"granular:replicas", "granular", "get"}, func(user string) harness.Answer {
				return s.Send(t, user, http.MethodPatch, beside+"/scale", harness.ContentTypes["merge"], `{"spec":{"replicas":7}}`)
			})
			if now := s.MustSend(t, http.MethodGet, stored, "", nil).Object(t); fmt.Sprint(harness.ValueAt(now, "spec", "a"), harness.ValueAt(now, "spec", "size")) != "7 7" {
				t.Errorf("%s, %s: stored is %v", strategy, name, now)
			}
		}
	}
}

// TestStoredNames checks that a write needs the permissions of the stored version too, if that
// version names the permission of a field differently, or if a conversion webhook moves a field. A
// mutating webhook's change in the stored version is not the caller's.
//
// Attack: a field for which another version names another permission, or that a conversion webhook moves to a
// field with another permission
// Answer: 403, the permission of the stored version
// Was: got through
func TestStoredNames(t *testing.T) {
	s := onStage(t)
	named := func(field, verb string) string {
		return `{type: object, properties: {spec: {type: object, x-kubernetes-permission-verb: specification, properties: {note: {type: string}, size: {type: integer}, ` +
			field + `: {type: integer, x-kubernetes-permission-verb: ` + verb + `}}}}}`
	}
	moved := between([]string{"spec", "capacity"}, []string{"spec", "amount"})
	for plural, tc := range map[string]struct {
		v1, v1beta1, field, says string
		move                     func(map[string]any, string)
	}{
		"renamed":      {named("amount", storedGroup+"/capacity"), named("amount", storedGroup+"/amount"), "amount", "cannot change .spec.amount of version v1", nil},
		"movedwebhook": {named("capacity", storedGroup+"/capacity"), named("amount", storedGroup+"/amount"), "amount", "cannot change .spec.capacity of version v1", moved},
	} {
		stamps := harness.NewMutatingWebhook(t, s, "stamped-"+plural)
		box := installBoxes(t, s, plural, map[string]string{"v1": tc.v1, "v1beta1": tc.v1beta1}, tc.move)
		stored := box(t, `spec: {note: x}`)
		beside := strings.Replace(stored, "/v1/", "/v1beta1/", 1)
		for _, way := range []string{"merge", "apply", "jsonpatch", "POST"} {
			t.Run(plural+" "+way, func(t *testing.T) {
				grants := []string{"granular:" + storedGroup + "/capacity", "granular:" + storedGroup + "/amount", "granular", "get", "granular:metadata"}
				n := 0
				s.Twins(t, stored, tc.says, grants, func(user string) harness.Answer {
					n++
					change := corpus.Object{"spec": map[string]any{tc.field: 10*len(way) + n}}
					now := s.MustSend(t, http.MethodGet, beside, "", nil).Object(t)
					whole := corpus.Overlay(corpus.Object{"apiVersion": now["apiVersion"], "kind": now["kind"],
						"metadata": map[string]any{"name": harness.Metadata(t, now)["name"]}}, change)
					switch way {
					case "POST":
						whole["metadata"] = map[string]any{"name": user}
						return s.Send(t, user, http.MethodPost, beside[:strings.LastIndex(beside, "/")], harness.ContentTypes["json"], whole)
					case "apply":
						return s.Send(t, user, http.MethodPatch, beside+"?force=true&fieldManager="+user, harness.ContentTypes["apply"], whole)
					case "jsonpatch":
						return s.Send(t, user, http.MethodPatch, beside, harness.ContentTypes["jsonpatch"], replacing(now, []string{"spec", tc.field}, 10*len(way)+n))
					}
					return s.Send(t, user, http.MethodPatch, beside, harness.ContentTypes["merge"], change)
				})
			})
		}
		stamps.SetPatch("stamped-"+plural, corpus.Object{"spec": map[string]any{tc.field: 5}})
		s.Callers.AddCaller("stamped-"+plural, "granular", "get", "granular:metadata")
		a := s.Send(t, "stamped-"+plural, http.MethodPatch, beside, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}}}`)
		if a.Code != http.StatusOK || fmt.Sprint(harness.ValueAt(a.Object(t), "spec", tc.field)) != "5" {
			t.Errorf("the mutating webhook's change: %s", a)
		}
	}
}

// redefineBoxes updates a definition and waits until the server uses it: until it shows or hides the
// field spec.secret of the object at path.
func redefineBoxes(t *testing.T, s *harness.Server, definition []byte, path string, shown bool) {
	t.Helper()
	object := harness.FromYAML(t, string(definition))
	name := harness.Metadata(t, object)["name"].(string)
	s.MustSend(t, http.MethodPatch, harness.Definitions+"/"+name, harness.ContentTypes["merge"], object)
	harness.Until(t, "the new definition is served", func() bool {
		a := s.Send(t, "", http.MethodGet, path, "", nil)
		return a.Code == http.StatusOK && (harness.ValueAt(a.Object(t), "spec", "secret") != nil) == shown
	})
}

// TestAttackLostField removes a field from a schema. Objects still store it, and no version shows
// it. A granular caller can't erase it; a holder of update can. Once the schema has the field
// again, the value is there.
//
// Attack: a stored field that no version shows, erased by an empty write
// Answer: 403: a holder of update must rewrite the object
// Was: got through
func TestAttackLostField(t *testing.T) {
	s := onStage(t)
	for i, way := range []string{"merge", "jsonpatch", "json", "apply", "merge dry"} {
		for _, subresource := range []string{"", "/status", "/scale"} {
			if subresource == "/scale" && way == "apply" {
				continue
			}
			t.Run(way+subresource, func(t *testing.T) {
				plural := fmt.Sprintf("lost%d%s", i, strings.TrimPrefix(subresource, "/"))
				box := installBoxes(t, s, plural, map[string]string{"v1": boxes["v1"]}, nil)
				stored, clean := box(t, `spec: {size: 1, secret: s}`), box(t, `spec: {size: 1}`)
				without := strings.Replace(boxes["v1"], "    secret: {type: string, nullable: true, x-kubernetes-permission-verb: stored.example.com/secret},\n", "", 1)
				redefineBoxes(t, s, boxDefinition(t, plural, "v1", map[string]string{"v1": without}, nil), stored, false)
				s.Callers.AddCaller("lost-field", "granular", "get", "granular:specification", "granular:metadata", storedSecret, "granular:replicas")
				a := emptyWrite(t, s, "lost-field", stored+subresource, way)
				if a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "spec.secret is stored and in no version: a holder of update must rewrite the object") {
					t.Fatalf("got %s", a)
				}
				if a := emptyWrite(t, s, "lost-field", clean+subresource, way); a.Code != http.StatusOK {
					t.Errorf("an object without the field: %s", a)
				}
				redefineBoxes(t, s, boxDefinition(t, plural, "v1", map[string]string{"v1": boxes["v1"]}, nil), stored, true)
				redefineBoxes(t, s, boxDefinition(t, plural, "v1", map[string]string{"v1": without}, nil), stored, false)
				s.Callers.AddCaller("rewriter", "update", "patch")
				if a := emptyWrite(t, s, "rewriter", stored, "merge"); a.Code != http.StatusOK {
					t.Errorf("with the ordinary verbs: %s", a)
				}
				if a := emptyWrite(t, s, "lost-field", stored+subresource, way); a.Code != http.StatusOK {
					t.Errorf("after the object was rewritten: %s", a)
				}
				s.MustSend(t, http.MethodPatch, harness.Definitions+"/"+plural+"."+storedGroup, harness.ContentTypes["merge"],
					string(boxDefinition(t, plural, "v1", map[string]string{"v1": boxes["v1"]}, nil)))
				harness.Until(t, "the field can be stored again", func() bool {
					s.MustSend(t, http.MethodPatch, clean, harness.ContentTypes["merge"], `{"spec":{"secret":"t"}}`)
					return harness.ValueAt(s.MustSend(t, http.MethodGet, clean, "", nil).Object(t), "spec", "secret") != nil
				})
				if now := s.MustSend(t, http.MethodGet, stored, "", nil).Object(t); harness.ValueAt(now, "spec", "secret") != nil {
					t.Errorf("the rewritten object still has %v", now)
				}
			})
		}
	}
}

// TestAttackStorageVersion makes another version the stored one. The objects that are stored keep
// their version until they are written, and it has a field that the new stored version lacks.
//
// Attack: a field of an object that is stored in an older version, lost because the new stored version lacks it
// Answer: 403, the permission of the field in the version of the stored object
// Was: got through
func TestAttackStorageVersion(t *testing.T) {
	s := onStage(t)
	versions := map[string]string{"v1": boxes["v1"], "v1beta1": strings.Replace(boxes["v1beta1"], "DEFAULT", "", 1)}
	for strategy, move := range map[string]func(map[string]any, string){"none": nil, "webhook": func(map[string]any, string) {}} {
		plural := "migrated" + strategy
		box := installBoxes(t, s, plural, versions, move)
		for _, version := range []string{"v1", "v1beta1"} {
			for _, way := range []string{"merge", "json", "apply"} {
				t.Run(strategy+" "+version+" "+way, func(t *testing.T) {
					stored := box(t, `spec: {a: 1, secret: s}`)
					patched := strings.Replace(stored, "/v1/", "/"+version+"/", 1)
					redefineBoxes(t, s, boxDefinition(t, plural, "v1beta1", versions, move), stored, true)
					harness.Until(t, "new objects are stored as v1beta1", func() bool {
						probe := box(t, `spec: {a: 1, secret: s}`)
						return harness.ValueAt(s.MustSend(t, http.MethodGet, probe, "", nil).Object(t), "spec", "secret") == nil
					})
					s.Twins(t, stored, ".spec.level of version v1", []string{storedSecret, "granular", "get"}, func(user string) harness.Answer {
						return emptyWrite(t, s, user, patched, way)
					})
					redefineBoxes(t, s, boxDefinition(t, plural, "v1", versions, move), stored, false)
					harness.Until(t, "new objects are stored as v1", func() bool {
						probe := box(t, `spec: {a: 1, secret: s}`)
						return harness.ValueAt(s.MustSend(t, http.MethodGet, probe, "", nil).Object(t), "spec", "secret") != nil
					})
				})
			}
		}
	}
}

// TestAttackStoredUnserved writes an object that is stored in a version which is not served any more,
// and which excludes a field that the served version lacks.
//
// Attack: an excluded field of an object that is stored in a version which is not served, erased with the ordinary
// verbs through another version
// Answer: 403, the permission of the field in the version of the stored object
// Was: got through
func TestAttackStoredUnserved(t *testing.T) {
	s := onStage(t)
	const properties = `{type: object, properties: {spec: {type: object, x-kubernetes-permission-verb: specification, properties: {a: {type: integer}, FIELD}}}}`
	v1 := strings.Replace(properties, "FIELD", "secret: {type: string, x-kubernetes-permission-verb: stored.example.com/secret, x-kubernetes-permission-excluded: true}", 1)
	box := installBoxes(t, s, "unserved", map[string]string{"v1": v1}, nil)
	hidden, plain := box(t, `spec: {a: 1, secret: s}`), box(t, `spec: {a: 1}`)
	versions := map[string]string{"v1": v1, "v1beta1": strings.Replace(properties, ", FIELD", "", 1)}
	definition := harness.FromYAML(t, string(boxDefinition(t, "unserved", "v1beta1", versions, nil)))
	harness.ValueAt(definition, "spec", "versions").([]any)[0].(map[string]any)["served"] = false
	s.MustSend(t, http.MethodPatch, harness.Definitions+"/unserved."+storedGroup, harness.ContentTypes["merge"], definition)
	beside := strings.NewReplacer("/v1/", "/v1beta1/")
	harness.Until(t, "the other version is served alone", func() bool {
		return s.Send(t, "", http.MethodGet, beside.Replace(hidden), "", nil).Code == http.StatusOK &&
			s.Send(t, "", http.MethodGet, hidden, "", nil).Code == http.StatusNotFound
	})
	s.Callers.AddCaller("editor-of-unserved", "update", "patch", "get")
	if a := emptyWrite(t, s, "editor-of-unserved", beside.Replace(plain), "merge"); a.Code != http.StatusOK {
		t.Errorf("an object without the field: %s", a)
	}
	for _, way := range []string{"merge dry", "json"} {
		s.Twins(t, beside.Replace(hidden), "cannot change .spec.secret of version v1", []string{storedSecret, "update", "patch", "get"}, func(user string) harness.Answer {
			return emptyWrite(t, s, user, beside.Replace(hidden), way)
		})
	}
}

// TestAttackStoredSchema changes the schema of a version that is not used any more, in which objects are stored, as a caller
// who may update definitions and hold no permission.
//
// Attack: a caller with update on definitions takes a version out of use in which objects are stored, and drops an excluded field from
// its schema, or gives it a default: the server erases or sets the value when it reads such an object
// Was: got through
// Answer: 403, also if the version was out of use before
// Held by: TestVersionsOverTime
func TestAttackStoredSchema(t *testing.T) {
	s := onStage(t)
	const secret = "secret: {type: string, x-kubernetes-permission-verb: stored.example.com/secret, x-kubernetes-permission-excluded: true}"
	const properties = `{type: object, properties: {spec: {type: object, x-kubernetes-permission-verb: specification, properties: {a: {type: integer}, FIELD}}}}`
	with := func(field string) string { return strings.Replace(properties, ", FIELD", field, 1) }
	guarded := with(", " + secret)
	box := installBoxes(t, s, "schemas", map[string]string{"v1": guarded}, nil)
	object := strings.Replace(box(t, `spec: {a: 1, secret: good}`), "/v1/", "/v1beta1/", 1)
	definition := func(v1 string) any {
		d := harness.FromYAML(t, string(boxDefinition(t, "schemas", "v1beta1", map[string]string{"v1": v1, "v1beta1": guarded}, nil)))
		harness.ValueAt(d, "spec", "versions").([]any)[0].(map[string]any)["served"] = false
		return d
	}
	write := func(user, query, v1 string) harness.Answer {
		path := harness.Definitions + "/schemas." + storedGroup + query
		return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], definition(v1))
	}
	const injector, author = "injector-of-schemas", "author-of-schemas"
	s.Callers.AddCaller(injector, "get", "update", "patch")
	s.Callers.AddCaller(author, "get", "update", "patch", exclusion.Verb)
	refused := func(when string) {
		for name, v1 := range map[string]string{
			"erased": with(""), "set": with(", " + strings.Replace(secret, "string,", "string, default: evil,", 1)),
		} {
			if a := write(injector, "", v1); a.Code != http.StatusForbidden || !strings.Contains(a.Message(), exclusion.Verb) {
				t.Errorf("%s, %s: %s", name, when, a)
			}
			if a := write(author, "?dryRun=All", v1); a.Code != http.StatusOK {
				t.Errorf("%s, %s, with the verb: %s", name, when, a)
			}
		}
	}
	refused("together with the end of its use")
	if a := write(injector, "", guarded); a.Code != http.StatusOK {
		t.Fatal(a)
	}
	refused("out of use")
	var got harness.Answer
	harness.Until(t, "the other version is served", func() bool {
		got = s.Send(t, "", http.MethodGet, object, "", nil)
		return got.Code == http.StatusOK
	})
	if !strings.Contains(string(got.Body), `"secret":"good"`) {
		t.Errorf("the object is %s", got)
	}
}
