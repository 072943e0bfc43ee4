// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

var uid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// values maps what the leader chose to what a follower chose in its place.
type values struct {
	// words are UIDs, tokens, addresses and markers of pages. versions are the resource versions of objects, and lists
	// those of lists: the version of a list is often that of its newest object, but not on each server.
	words, versions, lists map[string]string
	// seconds are those in which the deletion of an object began, or in which a condition or the phase of a volume changed. Who
	// writes a condition of a definition, or a volume, back must not change it.
	seconds map[string]string
	ports   map[json.Number]json.Number
}

func newValues() *values {
	return &values{words: map[string]string{}, versions: map[string]string{}, lists: map[string]string{}, seconds: map[string]string{},
		ports: map[json.Number]json.Number{}}
}

// volume is the name that admission gives the volume with the token of a pod.
var volume = regexp.MustCompile(`^kube-api-access-\w{5}$`)

// own are the fields that a server fills in by itself.
var own = map[string]bool{
	"uid": true, "token": true, "clusterIP": true, "clusterIPs": true, "continue": true, "certificate": true, "parentUID": true,
}

// isSecond has the fields with a time that a server fills in by itself and a client writes back.
var isSecond = map[string]bool{"deletionTimestamp": true, "lastTransitionTime": true, "lastPhaseTransitionTime": true}

// learn compares two answers to the same request, and remembers what the servers chose.
func (v *values) learn(leader, follower any, field string) {
	switch l := leader.(type) {
	case map[string]any:
		if f, ok := follower.(map[string]any); ok {
			if version, _ := l["resourceVersion"].(string); field == "metadata" && l["name"] == nil && version != "" {
				v.lists[version], _ = f["resourceVersion"].(string)
				v.learn(l["continue"], f["continue"], "continue")
				return
			}
			for key, value := range l {
				if other, ok := f[key]; ok {
					v.learn(value, other, key)
				}
			}
		}
	case []any:
		f, ok := follower.([]any)
		if !ok || len(l) != len(f) {
			return
		}
		if field == "items" || field == "rows" {
			f = v.matched(l, f)
		}
		for i := range l {
			v.learn(l[i], f[i], field)
		}
	case string:
		f, ok := follower.(string)
		switch {
		case !ok || f == "" || l == "":
		case field == "resourceVersion":
			v.versions[l] = f
		case isSecond[field]:
			v.seconds[field+" "+l] = f
		case l != f && (own[field] || volume.MatchString(l) && volume.MatchString(f)):
			v.words[l] = f
		}
	case json.Number:
		if f, ok := follower.(json.Number); ok && (field == "nodePort" || field == "healthCheckNodePort") {
			v.ports[l] = f
		}
	}
}

// matched returns the follower's elements in the order of the leader's: a list is sorted by names, and some names are
// addresses.
func (v *values) matched(leader, follower []any) []any {
	byName := map[string]any{}
	for _, item := range follower {
		byName[name(item)] = item
	}
	out := make([]any, len(leader))
	for i, item := range leader {
		wanted := name(item)
		if other, ok := v.words[wanted]; ok {
			wanted = other
		}
		if out[i] = byName[wanted]; out[i] == nil {
			return follower
		}
	}
	return out
}

func name(item any) string {
	object, _ := item.(map[string]any)
	if inner, ok := object["object"].(map[string]any); ok { // a row of a table
		object = inner
	}
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// word returns a text with the follower's values.
func (v *values) word(text string) string {
	if other, ok := v.words[text]; ok {
		return other
	}
	return uid.ReplaceAllStringFunc(text, func(id string) string {
		if other, ok := v.words[id]; ok {
			return other
		}
		return id
	})
}

// translate returns a value with the follower's values, and whether that changed it.
func (v *values) translate(value any, field string) (any, bool) {
	changed := false
	switch x := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, element := range x {
			inner := key
			if path, _ := x["path"].(string); key == "value" && path != "" { // an operation of a JSON patch
				inner = path[strings.LastIndex(path, "/")+1:]
			}
			var c bool
			other := v.word(key) // a key of managed fields may have a UID
			out[other], c = v.translate(element, inner)
			changed = changed || c || other != key
		}
		return out, changed
	case []any:
		out := make([]any, len(x))
		for i, element := range x {
			var c bool
			out[i], c = v.translate(element, field)
			changed = changed || c
		}
		return out, changed
	case string:
		other := v.word(x)
		if field == "resourceVersion" {
			other = v.version(x)
		} else if second, ok := v.seconds[field+" "+x]; ok {
			other = second
		}
		return other, other != x
	case json.Number:
		if field == "nodePort" || field == "healthCheckNodePort" {
			if other, ok := v.ports[x]; ok {
				return other, other != x
			}
		}
	}
	return value, false
}

func (v *values) version(version string) string {
	if other, ok := v.versions[version]; ok {
		return other
	}
	return version
}

// body returns a body with the follower's values. A body without any stays as it is, byte by byte.
func (v *values) body(contentType string, body []byte) []byte {
	f := format(contentType)
	if contentType == "" { // upstream's server takes that for JSON
		f = mediaJSON
	}
	if f == "" || len(body) == 0 {
		return body
	}
	value, err := decode(f, body)
	if err != nil {
		return body
	}
	value, changed := v.translate(value, "")
	if !changed {
		return body
	}
	out, err := encode(f, value)
	if err != nil {
		return body
	}
	return out
}

// path returns a path and query with the follower's values.
func (v *values) path(path string, query url.Values) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = v.word(parts[i])
	}
	if len(query) == 0 {
		return strings.Join(parts, "/")
	}
	out := url.Values{}
	for key, all := range query {
		for _, value := range all {
			if key == "resourceVersion" {
				if list, ok := v.lists[value]; ok {
					value = list
				} else {
					value = v.version(value)
				}
			}
			out.Add(key, v.word(value))
		}
	}
	return strings.Join(parts, "/") + "?" + out.Encode()
}
