// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"
)

// Body is the text of a patch or an apply. The method Has reports whether a key is in the patch.
type Body struct {
	text []byte
	// operations is set for a JSON patch (RFC 6902). Such a patch contains JSON pointers (RFC
	// 6901), such as "/metadata/labels/env", and each part of a pointer can be a key.
	operations bool
	// applied is set for a server-side apply. Its text is YAML or JSON, or CBOR if cbor is set.
	applied, cbor bool
	// holds is the set of strings, numbers and other literals in the patch. It is nil until the
	// first call of Has.
	holds map[string]struct{}
}

// NewBody returns the Body with the given text. operations must be true for a JSON patch (RFC
// 6902), and false for a merge patch.
func NewBody(text []byte, operations bool) *Body { return &Body{text: text, operations: operations} }

// NewAppliedBody returns the Body of an apply with the given text, in CBOR or else in YAML or JSON.
func NewAppliedBody(text []byte, cbor bool) *Body {
	return &Body{text: text, applied: true, cbor: cbor}
}

// Applied reports whether the text is the configuration of a server-side apply.
func (p *Body) Applied() bool { return p.applied }

// Has reports whether a text, such as the key of a map or an element of a list, is anywhere in the
// patch, even as a value. It can return false for a text that the patch spells in an unusual way,
// but never returns true for a text that is not in the patch.
func (p *Body) Has(key string) bool {
	if p.holds == nil {
		p.holds = map[string]struct{}{}
		p.read()
	}
	_, found := p.holds[key]
	return found
}

func (p *Body) read() {
	text := p.text
	if p.applied {
		text = p.asJSON()
	}
	for body := text; len(body) > 0; {
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

// asJSON returns the text of an apply as JSON, or nothing if it can't be decoded: then the server
// refuses it.
func (p *Body) asJSON() []byte {
	if !p.cbor {
		text, err := yaml.YAMLToJSON(p.text)
		if err != nil || string(text) == "null" {
			return nil
		}
		return text
	}
	var decoded any
	if direct.Unmarshal(p.text, &decoded) != nil {
		return nil
	}
	text, _ := json.Marshal(decoded)
	return text
}

// next returns the string, number or literal at the start of body, and the rest of body. If body
// starts with another character, such as a brace or a space, next returns "" and the rest after
// that character.
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
