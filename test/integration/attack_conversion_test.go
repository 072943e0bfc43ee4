// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

const lock = "granular:conversion.example.com/lock"

// safeVersion returns one version of a custom kind with a field that needs an excluded
// permission (one that `update` does not include). The field is named lock in v1 and bolt in
// v2; both versions must declare it.
func safeVersion(name, lock string, storage bool) map[string]any {
	excluded := map[string]any{"type": "integer", "x-kubernetes-permission-verb": "conversion.example.com/lock",
		"x-kubernetes-permission-excluded": true}
	integer, text := map[string]any{"type": "integer"}, map[string]any{"type": "string"}
	return map[string]any{
		"name": name, "served": true, "storage": storage,
		"subresources": map[string]any{"status": map[string]any{},
			"scale": map[string]any{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
			"spec": map[string]any{"type": "object", "x-kubernetes-permission-verb": "specification", "properties": map[string]any{
				lock: excluded, "size": integer, "note": text,
				"words": map[string]any{"type": "object", "additionalProperties": integer},
			}},
			"status": map[string]any{"type": "object", "x-kubernetes-permission-verb": "status",
				"properties": map[string]any{"size": integer, "word": integer}},
		}}},
	}
}

// installSafes installs a kind made of two safeVersions, stored as v1, with a conversion
// webhook that calls move. It returns a function that creates an object and returns its path.
func installSafes(t *testing.T, s *harness.Server, plural string, move func(object map[string]any, to string)) func(*testing.T) string {
	t.Helper()
	server := harness.ServeWebhook(t, harness.ConversionWebhook(move))
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	definition, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".conversion.example.com"},
		"spec": map[string]any{
			"group": "conversion.example.com", "scope": "Namespaced",
			"names":    map[string]any{"plural": plural, "singular": plural, "kind": kind, "listKind": kind + "List"},
			"versions": []any{safeVersion("v1", "lock", true), safeVersion("v2", "bolt", false)},
			"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []string{"v1"},
				"clientConfig":             map[string]any{"url": server.URL, "caBundle": harness.CABundle(server)},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Install(t, definition)
	return func(t *testing.T) string {
		t.Helper()
		return s.CreateIn(t, "/apis/conversion.example.com/v1/namespaces/default/"+plural,
			fmt.Sprintf(`{apiVersion: conversion.example.com/v1, kind: %s, metadata: {name: c}, spec: {lock: 1, size: 1, note: "2"}}`, kind))
	}
}

// exchange moves a value between its path in v1 and its path in v2. In metadata, numbers are
// stored as text.
func exchange(object map[string]any, to string, v1, v2 []string) {
	from, into := v1, v2
	if to == "v1" {
		from, into = v2, v1
	}
	value := harness.ValueAt(object, from...)
	harness.SetAt(object, nil, from...)
	if text, ok := value.(string); ok && from[0] == "metadata" {
		value, _ = strconv.ParseInt(text, 10, 64)
	} else if value != nil && into[0] == "metadata" {
		value = fmt.Sprint(value)
	}
	harness.SetAt(object, value, into...)
}

// between returns a conversion that moves a value between a path of v1 and a path of v2.
func between(v1, v2 []string) func(map[string]any, string) {
	return func(object map[string]any, to string) { exchange(object, to, v1, v2) }
}

// swapped is a conversion that exchanges the values of the lock and of spec.size.
func swapped(object map[string]any, to string) {
	is, other := "lock", "bolt"
	if to == "v1" {
		is, other = other, is
	}
	size, locked := harness.ValueAt(object, "spec", "size"), harness.ValueAt(object, "spec", is)
	harness.SetAt(object, nil, "spec", is)
	harness.SetAt(object, size, "spec", other)
	harness.SetAt(object, locked, "spec", "size")
}

var (
	v1Lock = []string{"spec", "lock"}
	bolt   = []string{"spec", "bolt"}
	size   = []string{"spec", "size"}
	inMap  = []string{"spec", "words", "lock"}
	word   = []string{"status", "word"}
	marked = []string{"metadata", "annotations", "conversion.example.com/lock"}
	label  = []string{"metadata", "labels", "conversion.example.com/lock"}
)

// conversionAttack writes a value at a path of an object in some version.
type conversionAttack struct {
	name string
	// move is the conversion webhook: it converts an object to the named version.
	move                 func(object map[string]any, to string)
	version, subresource string
	place                []string
	value                any
	// says is a part of the expected refusal.
	says string
}

// TestAttackConversion tries to change the excluded field of a stored object without its
// permission. It writes another field in another version, and a conversion webhook moves that
// value to the excluded field.
//
// Attack: an excluded field through a version in which a conversion webhook stores it in an annotation, a label,
// an included field, a map, the status, or the place of another field
// Answer: 403, that version's permission
// Was: got through
//
// Attack: a field that one version shows as excluded, through another where it is included
// Answer: 403
// Was: got through
func TestAttackConversion(t *testing.T) {
	s := onStage(t)
	const there = "cannot change .spec.lock of version v1"
	for i, tc := range []conversionAttack{
		{"renamed, in the version that is stored", between(v1Lock, bolt), "v1", "", v1Lock, 9,
			"cannot change .spec.lock"},
		{"renamed, in the other version", between(v1Lock, bolt), "v2", "", bolt, 9, "cannot change .spec.bolt"},
		{"kept in an annotation", between(v1Lock, marked), "v2", "", marked, "9", there},
		{"kept in a label", between(v1Lock, label), "v2", "", label, "9", there},
		{"kept in a field that is included", between(v1Lock, size), "v2", "", size, 9, there},
		{"kept in a map that is included", between(v1Lock, inMap), "v2", "", inMap, 9, there},
		{"kept in the status", between(v1Lock, word), "v2", "/status", word, 9, there},
		{"shown by another version than the stored one", between(size, bolt), "v1", "", size, 9,
			"cannot change .spec.bolt of version v2"},
		{"two fields exchanged", swapped, "v2", "", size, 9, there},
	} {
		t.Run(tc.name, func(t *testing.T) {
			safe := installSafes(t, s, fmt.Sprintf("safes%d", i), tc.move)
			for who, grants := range map[string][]string{
				"ordinary": {lock, "create", "update", "patch", "get"},
				"granular": {lock, "granular", "granular:metadata", "granular:specification", "granular:status", "get"},
			} {
				for _, way := range []string{"merge", "jsonpatch", "apply", "json", "dry", "POST", "apply a new one"} {
					t.Run(who+" "+way, func(t *testing.T) {
						attackConversion(t, s, safe, tc, way, grants)
					})
				}
			}
		})
	}
}

// attackConversion sends the attack in one way, such as PUT or apply. First a caller without
// the first grant sends it and must be refused. Then a caller with all grants must succeed.
func attackConversion(t *testing.T, s *harness.Server, safe func(*testing.T) string, tc conversionAttack, way string, grants []string) {
	t.Helper()
	stored := safe(t)
	path := strings.Replace(stored, "/v1/", "/"+tc.version+"/", 1) + tc.subresource
	collection := path[:strings.LastIndex(path, "/")]
	change := map[string]any{}
	harness.SetAt(change, tc.value, tc.place...)
	if tc.subresource != "" && (way == "POST" || way == "apply a new one") {
		t.Skip("a subresource creates nothing")
	}
	s.Twins(t, stored, tc.says, grants, func(user string) harness.Answer {
		now := s.MustSend(t, http.MethodGet, strings.TrimSuffix(path, tc.subresource), "", nil).Object(t)
		identity := corpus.Object{"apiVersion": now["apiVersion"], "kind": now["kind"],
			"metadata": map[string]any{"name": harness.Metadata(t, now)["name"]}}
		fresh := corpus.Overlay(identity, corpus.Object{"metadata": map[string]any{"name": "new-" + user}})
		switch way {
		case "apply":
			return s.Send(t, user, http.MethodPatch, path+"?force=true&fieldManager=a", harness.ContentTypes["apply"], corpus.Overlay(identity, change))
		case "jsonpatch":
			return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["jsonpatch"], replacing(now, tc.place, tc.value))
		case "json":
			return s.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], corpus.Overlay(now, change))
		case "dry":
			return s.Send(t, user, http.MethodPatch, path+"?dryRun=All", harness.ContentTypes["merge"], change)
		case "POST":
			return s.Send(t, user, http.MethodPost, collection, harness.ContentTypes["json"], corpus.Overlay(fresh, change))
		case "apply a new one":
			return s.Send(t, user, http.MethodPatch, collection+"/new-"+user+"?fieldManager=a", harness.ContentTypes["apply"], corpus.Overlay(fresh, change))
		}
		return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], change)
	})
}

// replacing returns a JSON patch that sets the value at a path, and creates missing parent
// objects.
func replacing(now map[string]any, place []string, value any) []any {
	for i := range place[:len(place)-1] {
		if harness.ValueAt(now, place[:i+1]...) == nil {
			below := map[string]any{}
			harness.SetAt(below, value, place[i+1:]...)
			value, place = below, place[:i+1]
			break
		}
	}
	pointer := ""
	for _, name := range place {
		pointer += "/" + strings.ReplaceAll(name, "/", "~1")
	}
	return []any{map[string]any{"op": "add", "path": pointer, "value": value}}
}

// TestConversionIsNotTheCallers checks that the caller answers only for its own change, also in
// the version that it did not write. If only a mutating webhook sets the excluded field, the
// request is allowed. If the caller changes that field as well, the request is refused.
func TestConversionIsNotTheCallers(t *testing.T) {
	s := onStage(t)
	st := harness.NewMutatingWebhook(t, s, "locksmith-")
	safe := installSafes(t, s, "stamped", between(v1Lock, marked))
	stored := safe(t)
	path := strings.Replace(stored, "/v1/", "/v2/", 1)
	for user, grants := range map[string][]string{
		"locksmith-ordinary": {"patch"},
		"locksmith-granular": {"granular", "granular:metadata", "granular:specification", "get"},
	} {
		s.Callers.AddCaller(user, grants...)
		for i, value := range []string{"5", "6"} {
			st.SetPatch(user, corpus.Object{"metadata": map[string]any{"annotations": map[string]any{"conversion.example.com/lock": value}}})
			a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], fmt.Sprintf(`{"spec":{"size":%d%d}}`, len(user), i))
			if a.Code != http.StatusOK {
				t.Fatalf("%s: %s", user, a)
			}
			if now := s.MustSend(t, http.MethodGet, stored, "", nil).Object(t); fmt.Sprint(harness.ValueAt(now, v1Lock...)) != value {
				t.Errorf("the webhook wrote %s, there is %v", value, now)
			}
		}
		st.SetPatch(user, corpus.Object{"metadata": map[string]any{"annotations": map[string]any{"conversion.example.com/lock": "7"}}})
		a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"annotations":{"conversion.example.com/lock":"8"}}}`)
		if a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "cannot change .spec.lock of version v1") {
			t.Errorf("%s with the webhook: %s", user, a)
		}
	}
}

// TestConversionFails checks that nothing is stored if the conversion fails while the server
// judges the request. A granular caller without get sees nothing of the webhook's answer.
//
// Attack: a conversion that fails while a write is judged
// Answer: 500, nothing stored or quoted
func TestConversionFails(t *testing.T) {
	s := onStage(t)
	safe := installSafes(t, s, "failing", func(object map[string]any, to string) {
		if harness.ValueAt(object, "spec", "note") == "fail" {
			harness.SetAt(object, "hunter2", "kind") // the server refuses the changed kind and quotes it
		}
		exchange(object, to, v1Lock, marked)
	})
	stored := safe(t)
	path := strings.Replace(stored, "/v1/", "/v2/", 1)
	for user, grants := range map[string][]string{
		"failing-ordinary": {"patch"},
		"failing-blind":    {"granular", "granular:metadata", "granular:specification"},
	} {
		s.Callers.AddCaller(user, grants...)
		before := s.MustSend(t, http.MethodGet, stored, "", nil)
		a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":{"note":"fail"}}`)
		if a.Code != http.StatusInternalServerError || strings.Contains(string(a.Body), "hunter2") != (user == "failing-ordinary") {
			t.Errorf("%s: %s", user, a)
		}
		if after := s.MustSend(t, http.MethodGet, stored, "", nil); string(before.Body) != string(after.Body) {
			t.Errorf("%s stored %s", user, after)
		}
	}
}

// TestConversionDrops checks that the server compares with what is stored. If a conversion drops an
// excluded field, a write through that version needs its permission. If a conversion keeps an
// included field of the stored version in an annotation, a granular caller needs both permissions.
//
// Attack: a conversion that drops the excluded field; an annotation for an included field
// Answer: 403, the permission of the stored version
// Was: got through
func TestConversionDrops(t *testing.T) {
	s := onStage(t)
	t.Run("a conversion that drops the field", func(t *testing.T) {
		safe := installSafes(t, s, "dropping", func(object map[string]any, to string) {
			harness.SetAt(object, nil, v1Lock...)
			harness.SetAt(object, nil, bolt...)
		})
		stored := safe(t)
		a := s.Twins(t, stored, "cannot change .spec.lock of version v1", []string{lock, "patch"}, func(user string) harness.Answer {
			return s.Send(t, user, http.MethodPatch, strings.Replace(stored, "/v1/", "/v2/", 1), harness.ContentTypes["merge"], `{"spec":{"note":"x"}}`)
		})
		if now := s.MustSend(t, http.MethodGet, stored, "", nil).Object(t); a.Code != http.StatusOK || harness.ValueAt(now, v1Lock...) != nil {
			t.Errorf("%s, and stored is %v", a, now)
		}
	})
	t.Run("an annotation for an included field", func(t *testing.T) {
		safe := installSafes(t, s, "included", func(object map[string]any, to string) {
			exchange(object, to, v1Lock, bolt)
			exchange(object, to, []string{"spec", "words", "n"}, []string{"metadata", "annotations", "own.example.com/n"})
		})
		stored := safe(t)
		path := strings.Replace(stored, "/v1/", "/v2/", 1)
		for i, grants := range [][]string{
			{"granular:annotation(own.example.com)", "granular:specification", "granular", "get"},
			{"granular:specification", "granular:annotation(own.example.com)", "granular", "get"},
		} {
			says := []string{"cannot change .metadata.annotations[own.example.com/n]", "of version v1"}[i]
			s.Twins(t, path, says, grants, func(user string) harness.Answer {
				return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], fmt.Sprintf(`{"metadata":{"annotations":{"own.example.com/n":"%d"}}}`, 2+i))
			})
		}
		if now := s.MustSend(t, http.MethodGet, stored, "", nil).Object(t); fmt.Sprint(harness.ValueAt(now, "spec", "words", "n")) != "3" {
			t.Errorf("stored is %v", now)
		}
	})
}

// TestAttackConversionScale tries to change an excluded field of one version through the scale
// of another version, in which a conversion shows this field as the replicas.
//
// Attack: an excluded field through the scale of a version, if a conversion makes the replicas from this field
// Answer: 403
// Was: got through
func TestAttackConversionScale(t *testing.T) {
	s := onStage(t)
	safe := installSafes(t, s, "scaling", between(v1Lock, size))
	for who, grants := range map[string][]string{
		"ordinary": {lock, "update", "patch", "get"},
		"granular": {lock, "granular", "granular:replicas", "granular:specification", "get"}, // v2 loses the size of v1
	} {
		for _, way := range []string{"merge", "json", "dry"} {
			t.Run(who+" "+way, func(t *testing.T) {
				stored := safe(t)
				path := strings.Replace(stored, "/v1/", "/v2/", 1) + "/scale"
				query, method, body := "", http.MethodPatch, corpus.Object{"spec": map[string]any{"replicas": 7}}
				switch way {
				case "dry":
					query, way = "?dryRun=All", "merge"
				case "json":
					method, body = http.MethodPut, corpus.Overlay(s.MustSend(t, http.MethodGet, path, "", nil).Object(t), body)
				}
				s.Twins(t, stored, "cannot change .spec.lock of version v1", grants, func(user string) harness.Answer {
					return s.Send(t, user, method, path+query, harness.ContentTypes[way], body)
				})
			})
		}
	}
	// In the stored version, v1, the size is an ordinary field. So a caller with patch may
	// scale it as always.
	stored := safe(t)
	s.Callers.AddCaller("scaler-of-v1", "patch")
	if a := s.Send(t, "scaler-of-v1", http.MethodPatch, stored+"/scale", harness.ContentTypes["merge"], `{"spec":{"replicas":7}}`); a.Code != http.StatusOK {
		t.Errorf("got %s", a)
	}
}
