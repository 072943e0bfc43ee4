// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// Two servers never agree in these texts.
var texts = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{uid, "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?(Z|[+-]\d\d:?\d\d)( UTC)?)?( m=[+0-9.]+)?`), "TIME"},
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), "TOKEN"},
	{regexp.MustCompile(`\b10\.0\.0\.\d+\b`), "ADDRESS"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "LISTENER"},
	{regexp.MustCompile(`^\d+[smhd](\d+[smhd])?$|^<invalid>$`), "AGE"},
	{regexp.MustCompile(`resourceVersion\\*":\\*"\d+`), "VERSION"},
	{regexp.MustCompile(`kube-api-access-\w{5}`), "VOLUME"},
	{regexp.MustCompile(`(continue|resourceVersion)=[^&" ]+`), "$1=VERSION"},
	{regexp.MustCompile(`(precondition|record) \(\d+\)`), "$1 (VERSION)"},
	// A message may contain the whole object, with managed fields in the order of their seconds.
	{regexp.MustCompile(`(?s)managedFields\\*":.*`), "FIELDS"},
	// A scheme is named by the file that makes it, which depends on the folder of the sources.
	{regexp.MustCompile(`"pkg/[\w/]+\.go:\d+"`), "SCHEME"},
	{regexp.MustCompile(`\b(3[0-2]\d{3})\b`), "PORT"},
}

// chosen are fields whose value a server chooses by itself.
var chosen = map[string]string{
	"resourceVersion": "VERSION", "continue": "PAGE", "token": "TOKEN", "renewTime": "TIME", "acquireTime": "TIME", "holderIdentity": "HOLDER",
	"certificate": "CERTIFICATE", "sourceIPs": "ADDRESS",
}

// isOurs reports whether an element of a list is there because a gate is on: the API group of the project, and the roles
// that a server makes for it.
func isOurs(element any, field string) bool {
	object, _ := element.(map[string]any)
	switch field {
	case "groups":
		return object["name"] == "authority.kube-granular.dev"
	case "items", "rows":
		return strings.Contains(name(element), "kube-granular") || strings.Contains(name(element), "granular:")
	}
	return false
}

// isRepair reports whether an element of a list is an event that a server itself wrote. It writes one if it looks through the
// addresses and ports while a service is being made.
func isRepair(element any, field string) bool {
	if field == "rows" {
		row, _ := element.(map[string]any)
		element = row["object"]
	} else if field != "items" {
		return false
	}
	object, _ := element.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	fields, _ := metadata["managedFields"].([]any)
	if len(fields) != 1 {
		return false
	}
	entry, _ := fields[0].(map[string]any)
	return entry["manager"] == "kube-apiserver" && entry["apiVersion"] == "events.k8s.io/v1"
}

// normalise returns a value without what two servers never agree in.
func normalise(value any, field string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		path, _ := v["path"].(string) // of an operation of a JSON patch
		for key, element := range v {
			if key == "value" && strings.HasSuffix(path, "/resourceVersion") {
				element = "VERSION"
			}
			if message, ok := element.(string); ok && key == "message" {
				element = sorted(message, v["reason"])
			}
			out[normaliseText(key)] = normalise(element, key) // a key of managed fields may have a UID
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, element := range v {
			if isOurs(element, field) || isRepair(element, field) {
				continue
			}
			out = append(out, normalise(element, field))
		}
		// Managers are sorted by the second of their last change. The resources that definitions add to a group are in no order, and
		// neither are the faults of a custom resource.
		isObject := func(element any) bool { _, ok := element.(map[string]any); return ok }
		if field == "managedFields" || field == "causes" || field == "resources" && slices.ContainsFunc(out, isObject) {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
		// A list is sorted by names, and names that are addresses sort in another way on another server.
		if slices.ContainsFunc(out, func(item any) bool { return strings.Contains(name(item), "ADDRESS") }) {
			slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
		return out
	case string:
		if other, ok := chosen[field]; ok && v != "" {
			return other
		}
		return normaliseText(v)
	case json.Number:
		switch field {
		case "nodePort", "healthCheckNodePort":
			return "PORT"
		case "targetPort": // that of the service of the server is its own
			if len(v) == len("44013") {
				return "PORT"
			}
		case "remainingItemCount": // of roles and API services there are more while a gate is on, see isOurs
			return "COUNT"
		}
	}
	return value
}

// sorted returns a message whose list of faults is in order. A server looks at the properties of a custom resource, at the fields
// of an applied one, and at the sizes that a LimitRange has, in no order.
func sorted(message string, reason any) string {
	start, separator := ": [", ", "
	switch {
	case strings.HasPrefix(message, "failed to create typed patch object"):
		start, separator = "errors:\n", "\n"
	case reason != "Invalid" && reason != "Forbidden":
		return message
	}
	about, list, ok := strings.Cut(message, start)
	if !ok {
		return message
	}
	faults := strings.Split(strings.TrimSuffix(list, "]"), separator)
	slices.Sort(faults)
	return about + start + strings.Join(faults, separator)
}

func text(value any) string {
	out, _ := json.Marshal(value) // JSON values can be marshalled
	return string(out)
}

func normaliseText(text string) string {
	for _, t := range texts {
		text = t.pattern.ReplaceAllString(text, t.name)
	}
	return text
}

// uncompared are headers with a time, a length or an identifier of the one server.
var uncompared = map[string]bool{"Date": true, "Content-Length": true, "Etag": true, "X-Kubernetes-Pf-Flowschema-Uid": true,
	"X-Kubernetes-Pf-Prioritylevel-Uid": true, "Last-Modified": true}

// answer is what a server said.
type answer struct {
	code   int
	header http.Header
	body   []byte
	// asked are the questions of the server to its webhook about the request.
	asked []authorizationv1.SubjectAccessReviewSpec
}

// value returns the body as JSON values, and whether it is an object.
func (a answer) value() (any, bool) {
	f := format(a.header.Get("Content-Type"))
	if f == "" {
		return nil, false
	}
	value, err := decode(f, a.body)
	return value, err == nil
}

// differs returns how an answer differs from the leader's, and "" if it does not.
func (a answer) differs(other answer) string {
	headers := func(h http.Header) map[string]any {
		out := map[string]any{}
		for key, values := range h {
			var value any = "present"
			if !uncompared[key] {
				texts := make([]string, len(values))
				for i, v := range values {
					texts[i] = normaliseText(v)
				}
				if key == "Warning" && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(text, " value: ") }) {
					slices.Sort(texts) // faults of a custom resource that were there before, see sorted
				}
				value = texts
			}
			if key != "Content-Length" {
				out[key] = value
			}
		}
		return out
	}
	body := func(a answer) any {
		if value, ok := a.value(); ok {
			return normalise(value, "")
		}
		return normaliseText(string(a.body))
	}
	all := func(a answer) map[string]any {
		return map[string]any{"code": a.code, "header": headers(a.header), "body": body(a)}
	}
	return cmp.Diff(all(a), all(other))
}
