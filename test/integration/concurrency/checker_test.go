// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// attempt is one request, as its client saw it.
type attempt struct {
	id      int
	user    string
	object  string
	changes []string
	status  int
	answer  string
	// before and after are the values of writers.role just before and just after the request.
	before, after int64
}

// unknown reports whether the client can't know the result, because the request timed out, in the
// server or in etcd. If its change was stored, a permission must cover it nevertheless.
func (a *attempt) unknown() bool {
	return a.status == http.StatusGatewayTimeout ||
		a.status == http.StatusInternalServerError && strings.Contains(a.answer, "etcdserver: request timed out")
}

// step is one state of an object, as a watch reported it.
type step struct {
	object string
	fields map[string]any
}

// flatten maps the paths of an object's fields to their values, without metadata that the
// server itself writes. In paths, a condition is named by its type.
func flatten(object map[string]any) map[string]any {
	out := map[string]any{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, inner := range value {
				walk(path+"/"+strings.ReplaceAll(key, "/", "|"), inner)
			}
		case []any:
			for i, inner := range value {
				name := fmt.Sprint(i)
				if element, ok := inner.(map[string]any); ok && strings.HasSuffix(path, "/conditions") {
					name = fmt.Sprint(element["type"])
				}
				walk(path+"/"+name, inner)
			}
		default:
			out[path] = value
		}
	}
	for _, part := range []string{"spec", "status"} {
		walk("/"+part, object[part])
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for key, value := range metadata {
			if !slices.Contains([]string{"managedFields", "resourceVersion", "generation"}, key) {
				walk("/metadata/"+key, value)
			}
		}
	}
	return out
}

var number = regexp.MustCompile(`^r([0-9]+)$`)

// writer returns the number of the request that wrote a value.
func writer(value any) (id int, ok bool) {
	switch value := value.(type) {
	case string:
		if m := number.FindStringSubmatch(value); m != nil {
			_, err := fmt.Sscan(m[1], &id)
			return id, err == nil
		}
	case float64:
		return int(value), true
	case int64:
		return int(value), true
	}
	return 0, false
}

// check compares the history of the objects with the answers and the grants, and returns a text
// for each contradiction.
func check(attempts []attempt, history []step) []string {
	var wrong []string
	byID := map[int]*attempt{}
	for i := range attempts {
		byID[attempts[i].id] = &attempts[i]
	}
	last, wrote := map[string]map[string]any{}, map[int]bool{}
	for _, s := range history {
		before, seen := last[s.object]
		last[s.object] = s.fields
		if !seen {
			continue
		}
		changed := map[string]any{}
		for path, value := range s.fields {
			if !reflect.DeepEqual(before[path], value) {
				changed[path] = value
			}
		}
		for path := range before {
			if _, ok := s.fields[path]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s: %s vanished, which nobody asked for", s.object, path))
			}
		}
		wrong = append(wrong, judge(s.object, changed, byID, wrote)...)
	}
	for i := range attempts {
		a := &attempts[i]
		if a.status < 300 != wrote[a.id] && !a.unknown() {
			wrong = append(wrong, fmt.Sprintf("request %d of %s was answered with %d, in the history it is %t", a.id, a.user, a.status, wrote[a.id]))
		}
		wrong = append(wrong, answered(a)...)
	}
	return wrong
}

// judge checks the changes from one state of an object to the next.
func judge(object string, changed map[string]any, byID map[int]*attempt, wrote map[int]bool) []string {
	var wrong []string
	authors := map[int]bool{}
	for path, value := range changed {
		kind := stored(path)
		if path == "/status/conditions/Own/type" || path == "/status/conditions/Own/status" {
			continue // has no request number; other fields of that request have
		}
		id, ok := writer(value)
		a := byID[id]
		if !ok || a == nil {
			wrong = append(wrong, fmt.Sprintf("%s: nobody wrote %s", object, path))
			continue
		}
		authors[id] = true
		if a.object != object || !slices.Contains(a.changes, kind) {
			wrong = append(wrong, fmt.Sprintf("%s: request %d was not to write %s", object, id, path))
		}
		if a.status >= 300 && !a.unknown() {
			wrong = append(wrong, fmt.Sprintf("%s: %s was stored, although request %d of %s was answered with %d", object, path, id, a.user, a.status))
		}
		if !mayEver(a.user, kind) {
			wrong = append(wrong, fmt.Sprintf("%s: %s was stored for %s, who holds nothing that covers it", object, path, a.user))
		}
	}
	if len(authors) > 1 {
		wrong = append(wrong, fmt.Sprintf("%s: one step holds what %d requests wrote", object, len(authors)))
	}
	for id := range authors {
		wrote[id] = true
	}
	return wrong
}

// answered checks that a request got the answer that the grants require.
func answered(a *attempt) []string {
	must, may := allowed(a.user, a.changes)
	if a.user == flipping && !must && may && a.before == a.after && a.before%4 != 1 && a.before%4 != 3 {
		must, may = a.before%4 == 2, a.before%4 == 2 // the role did not change during the request
	}
	switch {
	case a.status < 300 && !may:
		return []string{fmt.Sprintf("request %d: %s may not change %q and did", a.id, a.user, a.changes)}
	case a.status == 403 && must:
		return []string{fmt.Sprintf("request %d: %s may change %q and was refused: %s", a.id, a.user, a.changes, a.answer)}
	case a.status >= 300 && a.status != 403 && a.status != 409 && a.status != 429 && !a.unknown():
		return []string{fmt.Sprintf("request %d of %s: %d %s", a.id, a.user, a.status, a.answer)}
	}
	return nil
}
