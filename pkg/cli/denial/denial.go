// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Denial is a refused request.
type Denial struct {
	// Resource has the form deployments.apps.
	Resource string `json:"resource"`
	// Subresource is the subresource of the request. It is empty if the refusal of a field was
	// read from a text, because such a text does not contain the subresource.
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	User        string `json:"user"`
	// Field is the path of the field that the caller may not change. It is empty if the request
	// was refused as a whole, for lack of an ordinary verb such as update.
	Field string `json:"field,omitempty"`
	// Verbs are the verbs that the refusal names, the narrowest one first. Each of them would allow
	// the change of Field.
	Verbs []string `json:"verbs,omitempty"`
	// Ordinary is the ordinary verb that the caller lacks, such as update, if the request was
	// refused as a whole. It is empty for a refusal of a field.
	Ordinary string `json:"ordinary,omitempty"`
	// Why is the server's reason for refusing Field, if the reason is not just that the caller
	// needs one of Verbs.
	Why string `json:"why,omitempty"`
}

// ErrNotADenial means that a text contains no refusal in a known form.
var ErrNotADenial = errors.New(`the text is not a known refusal; a refusal has the form: deployments.apps "web" is forbidden: User "jane" cannot change .spec.replicas in namespace "shop": needs the verb "granular:replicas"`)

var (
	forbiddenPattern = regexp.MustCompile(`([a-z0-9.-]+)(?: ("(?:[^"\\]|\\.)*"))? is forbidden: User ("(?:[^"\\]|\\.)*") cannot (.*)`)
	fieldPattern     = regexp.MustCompile(`^change (.+?)(?: in version \S+)?(?: in namespace ("[^"]*"))?: (.*)$`)
	ordinaryPattern  = regexp.MustCompile(`^(create|update|patch) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace ("[^"]*"))?`)
	verbPattern      = regexp.MustCompile(`"(granular:(?:[^"\\]|\\.)*)"`)
)

// Parse parses the first refusal in a text, such as the output of kubectl.
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
