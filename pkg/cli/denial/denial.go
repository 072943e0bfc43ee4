// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Denial is one refused request.
type Denial struct {
	// Resource is written as deployments.apps.
	Resource string `json:"resource"`
	// Subresource is known from an audit log, and from an ordinary 403.
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	User        string `json:"user"`
	// Field is the one that could not be changed, empty where the request was refused before
	// any field was looked at.
	Field string `json:"field,omitempty"`
	// Verbs are the narrowest and the most general verb that would have done.
	Verbs []string `json:"verbs,omitempty"`
	// Ordinary is the verb that an ordinary 403 is about.
	Ordinary string `json:"ordinary,omitempty"`
	// Why is what the server says instead of verbs.
	Why string `json:"why,omitempty"`
}

// ErrNotADenial means that a text is none of the refusals that are understood.
var ErrNotADenial = errors.New(`this is no refusal that can be explained; it reads like: deployments.apps "web" is forbidden: User "jane" cannot change .spec.replicas in namespace "shop": needs the verb "granular:replicas"`)

var (
	forbiddenPattern = regexp.MustCompile(`([a-z0-9.-]+)(?: ("(?:[^"\\]|\\.)*"))? is forbidden: User ("(?:[^"\\]|\\.)*") cannot (.*)`)
	fieldPattern     = regexp.MustCompile(`^change (.+?)(?: in version \S+)?(?: in namespace ("[^"]*"))?: (.*)$`)
	ordinaryPattern  = regexp.MustCompile(`^(create|update|patch) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace ("[^"]*"))?`)
	verbPattern      = regexp.MustCompile(`"(granular:(?:[^"\\]|\\.)*)"`)
)

// Parse reads the first refusal of a text.
func Parse(text string) (*Denial, error) {
	m := forbiddenPattern.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	if m == nil {
		return nil, ErrNotADenial
	}
	out := &Denial{Resource: m[1], Name: unquote(m[2]), User: unquote(m[3])}
	if f := fieldPattern.FindStringSubmatch(m[4]); f != nil {
		out.Field, out.Namespace = f[1], unquote(f[2])
		out.verbs(f[3])
		return out, nil
	}
	if o := ordinaryPattern.FindStringSubmatch(m[4]); o != nil {
		out.Ordinary, out.Namespace = o[1], unquote(o[4])
		_, out.Subresource, _ = strings.Cut(o[2], "/")
		return out, nil
	}
	return nil, ErrNotADenial
}

func (d *Denial) verbs(text string) {
	for _, m := range verbPattern.FindAllStringSubmatch(text, -1) {
		d.Verbs = append(d.Verbs, unquote(`"`+m[1]+`"`))
	}
	if len(d.Verbs) == 0 || !strings.HasPrefix(text, "needs ") {
		d.Why = text
	}
}

func unquote(text string) string {
	out, err := strconv.Unquote(text)
	if err != nil {
		return strings.Trim(text, `"`)
	}
	return out
}
