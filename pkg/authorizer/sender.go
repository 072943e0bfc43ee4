// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"kube-granular.dev/granular/change"
)

// sender is the caller of a granular request, as one who may not get the object.
func (w *write) sender(in inVersion) *change.Sender {
	if w.patch == nil {
		return in.kind.walker.Sender(nil, in.observed)
	}
	return in.kind.walker.Sender(w.patch.has, nil)
}

// knownFirst puts what a caller who may not get the object does not know behind all else.
// It is judged last, so which change is refused, and for want of what, depends on it only
// where nothing else is refused; and then the refusal names nothing of it.
func (w *write) knownFirst(ctx context.Context, changes change.Set) change.Set {
	if !w.marked || len(changes) < 2 {
		return changes
	}
	sender := w.sender(w.written())
	knows := func(c change.Change) bool {
		_, all := sender.Knows(&c)
		return all || w.scale.meant(c)
	}
	first := slices.IndexFunc(changes, func(c change.Change) bool { return !knows(c) })
	if first < 0 || first == len(changes)-1 || w.mayGet(ctx) {
		return changes
	}
	known, unknown := slices.Clone(changes[:first]), change.Set{changes[first]}
	for _, c := range changes[first+1:] {
		if knows(c) {
			known = append(known, c)
		} else {
			unknown = append(unknown, c)
		}
	}
	return append(known, unknown...)
}

// patch is a patch in JSON, of which it is asked what stands in it.
type patch struct {
	body []byte
	// operations says that names may stand in it as parts of a pointer (RFC 6901).
	operations bool
	// holds is set when it is needed.
	holds map[string]struct{}
}

// has says whether a key or an element of a list stands in the patch, wherever. It may
// miss one that is spelled in an odd way, and never finds what is not there.
func (p *patch) has(key string) bool {
	if p.holds == nil {
		p.holds = map[string]struct{}{}
		p.read()
	}
	_, found := p.holds[key]
	return found
}

func (p *patch) read() {
	for body := p.body; len(body) > 0; {
		var text string
		if text, body = next(body); text == "" {
			continue // neither is an empty key taken for known
		}
		p.holds[text] = struct{}{}
		if p.operations && text[0] == '/' {
			for name := range strings.SplitSeq(text[1:], "/") {
				p.holds[strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")] = struct{}{}
			}
		}
	}
}

// next returns the string, number or word at the beginning of JSON, empty if another sign
// is there, and what comes behind it.
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
	if end = min(end+1, len(body)); bytes.IndexByte(body[:end], '\\') < 0 {
		return string(body[1:max(end-1, 1)]), body[end:]
	}
	var text string
	if json.Unmarshal(body[:end], &text) != nil {
		return "", body[end:]
	}
	return text, body[end:]
}
