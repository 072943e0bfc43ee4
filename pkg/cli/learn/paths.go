// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"slices"
	"strings"
)

// Paths counts requests without a resource, such as /healthz and /version, and names some of them.
// Most of them are allowed to everybody, so no rule is made for them.
type Paths struct {
	Requests int
	// Examples are the first few paths, without their queries.
	Examples []string
}

const (
	maxExamples = 3
	// maxPath is the maximum length of an example in bytes.
	maxPath = 60
)

func (p *Paths) add(uri string) {
	p.Requests++
	path, _, _ := strings.Cut(uri, "?")
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "") + "..."
	}
	if len(p.Examples) < maxExamples && !slices.Contains(p.Examples, path) {
		p.Examples = append(p.Examples, path)
	}
}

// String returns the number of requests and the examples.
func (p *Paths) String() string {
	return requestCount(p.Requests) + " without a resource, such as " + strings.Join(p.Examples, ", ")
}

// path counts a request without a resource, if it was authorized.
func (l *Learner) path(e *event) {
	if _, delegated := e.delegated(); delegated || !e.authorized() || e.Received.Before(l.options.Since) {
		return
	}
	l.Paths.add(e.RequestURI)
	if s := l.subject(e.Caller()); s != nil {
		s.Paths.add(e.RequestURI)
	}
}
