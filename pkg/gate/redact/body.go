// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Body is a patch in JSON. Its method Has reports which keys are in the patch.
type Body struct {
	text []byte
	// operations is set for a JSON patch (RFC 6902), whose JSON pointers (RFC 6901) contain
	// names.
	operations bool
	// holds is the set of strings in the patch. It is nil until Has is called first.
	holds map[string]struct{}
}

// NewBody returns the body of a patch. operations is set for a JSON patch.
func NewBody(text []byte, operations bool) *Body { return &Body{text: text, operations: operations} }

// Has reports whether a key, or an element of a list, is anywhere in the patch. It may miss a key
// with an unusual spelling, but never reports a key that is not in the patch.
func (p *Body) Has(key string) bool {
	if p.holds == nil {
		p.holds = map[string]struct{}{}
		p.read()
	}
	_, found := p.holds[key]
	return found
}

func (p *Body) read() {
	for body := p.text; len(body) > 0; {
		var text string
		if text, body = next(body); text == "" {
			continue // an empty key never counts as known
		}
		p.holds[text] = struct{}{}
		if p.operations && text[0] == '/' {
			for name := range strings.SplitSeq(text[1:], "/") {
				p.holds[strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")] = struct{}{}
			}
		}
	}
}

// next returns the first string, number or literal of JSON and the rest. If JSON begins with any
// other character, it returns "" and the JSON after that character.
func next(body []byte) (string, []byte) {
	if body[0] != '"' {
		end := bytes.IndexAny(body, "\",:[]{} \t\r\n")
		if end < 0 {
			end = len(body)
		}
		return string(body[:end]), body[max(end, 1):]
	}
	end := 1
	for end < len(body) && body[end] != '"' {
		if body[end] == '\\' {
			end++
		}
		end++
	}
	if end = min(end+1, len(body)); !bytes.ContainsRune(body[:end], '\\') {
		return string(body[1:max(end-1, 1)]), body[end:]
	}
	var text string
	if json.Unmarshal(body[:end], &text) != nil {
		return "", body[end:]
	}
	return text, body[end:]
}
