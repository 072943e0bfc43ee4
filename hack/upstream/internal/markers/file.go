// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package markers

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// File is the content of one file of markers: the YAML file that declares permissions of types and
// fields.
type File struct {
	// Subject, Reason and the trailers become the header of a patch when the file is
	// exported.
	Subject   string   `json:"subject"`
	Reason    string   `json:"reason"`
	Carry     string   `json:"carry"`
	Upstream  string   `json:"upstream"`
	Forwarded string   `json:"forwarded"`
	Seam      string   `json:"seam"`
	DropWhen  string   `json:"dropWhen"`
	TestedBy  []string `json:"testedBy"`
	// Packages maps the import paths of packages to types, by name.
	Packages map[string]map[string]Type `json:"packages"`
}

// Type has the markers of a type and of its fields.
type Type struct {
	Markers
	Fields map[string]Field `json:"fields,omitempty"`
	// Exempt maps fields at the root of a kind that need no permission to the reason for this.
	Exempt map[string]string `json:"exempt,omitempty"`
}

// Field has the markers of a field. In Type.Fields, its key is the Go name of the field or, for an
// embedded field, the name of its type.
type Field struct {
	Markers
	// Retype replaces the name of the field's type by an alias of that type.
	Retype *Retype `json:"retype,omitempty"`
}

// Retype replaces one name of a type by another name of the same type.
type Retype struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Markers are the markers of one type or field.
type Markers struct {
	Scope               string `json:"scope,omitempty"`
	Element             string `json:"element,omitempty"`
	ParameterSource     string `json:"parameterSource,omitempty"`
	Verb                string `json:"verb,omitempty"`
	Excluded            bool   `json:"excluded,omitempty"`
	ParameterizedBy     string `json:"parameterizedBy,omitempty"`
	ParameterTreatment  string `json:"parameterTreatment,omitempty"`
	ParameterExpression string `json:"parameterExpression,omitempty"`
}

// Count returns the number of types that have markers, on the type or on its fields, and the
// number of all marked types and fields.
func (f *File) Count() (types, places int) {
	for _, all := range f.Packages {
		for _, t := range all {
			here := len(t.Fields) + min(len(t.Comments()), 1)
			types, places = types+min(here, 1), places+here
		}
	}
	return types, places
}

// prefix is the beginning of every marker.
const prefix = "// +permission-"

// Comments returns the lines of the markers, in the order in which they are written.
func (m Markers) Comments() []string {
	var lines []string
	quoted := func(name, value string) {
		if value != "" {
			lines = append(lines, prefix+name+`:"`+value+`"`)
		}
	}
	quoted("scope", m.Scope)
	quoted("element", m.Element)
	quoted("parameter-source", m.ParameterSource)
	quoted("verb", m.Verb)
	if m.Excluded {
		lines = append(lines, prefix+"excluded")
	}
	quoted("parameterized-by", m.ParameterizedBy)
	if m.ParameterTreatment != "" {
		lines = append(lines, prefix+"parameter-treatment:"+m.ParameterTreatment)
	}
	quoted("parameter-expression", m.ParameterExpression)
	return lines
}

var (
	// name matches a Go identifier of an API.
	name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// value matches the text that openapi-gen reads between quotes. word matches the text that
	// openapi-gen reads without quotes.
	value = regexp.MustCompile(`^[ !#-~]+$`)
	word  = regexp.MustCompile(`^[!#-~]+$`)
	// importPath matches a package below staging/src of Kubernetes, or in Kubernetes itself.
	importPath = regexp.MustCompile(`^k8s\.io(?:/[a-z0-9][a-z0-9.-]*)+$`)
)

// Parse reads a file of markers. It fails if the file has an unknown key, or an entry that
// cannot be written into any source.
func Parse(data []byte) (*File, error) {
	var f File
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return nil, err
	}
	var wrong []error
	if len(f.Packages) == 0 {
		wrong = append(wrong, errors.New("names no package"))
	}
	for _, pkg := range sorted(f.Packages) {
		if !importPath.MatchString(pkg) {
			wrong = append(wrong, fmt.Errorf("%q is not the import path of a package of Kubernetes", pkg))
		}
		for _, typ := range sorted(f.Packages[pkg]) {
			for _, err := range f.Packages[pkg][typ].check(typ) {
				wrong = append(wrong, fmt.Errorf("%s: %w", pkg, err))
			}
		}
	}
	return &f, errors.Join(wrong...)
}

func (t Type) check(typ string) []error {
	var wrong []error
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if !name.MatchString(typ) {
		report("%q is not the name of a type", typ)
	}
	if len(t.Comments()) == 0 && len(t.Fields) == 0 && len(t.Exempt) == 0 {
		report("%s: has no marker and names no field", typ)
	}
	for _, why := range t.Markers.check() {
		report("%s: %s", typ, why)
	}
	for _, field := range sorted(t.Fields) {
		f := t.Fields[field]
		if !name.MatchString(field) {
			report("%s: %q is not the name of a field", typ, field)
		}
		if len(f.Comments()) == 0 && f.Retype == nil {
			report("%s.%s: has no marker", typ, field)
		}
		for _, why := range f.Markers.check() {
			report("%s.%s: %s", typ, field, why)
		}
		if r := f.Retype; r != nil && (r.From == "" || r.To == "" || r.From == r.To) {
			report("%s.%s: retype needs two different names of a type, from and to", typ, field)
		}
	}
	for _, field := range sorted(t.Exempt) {
		if strings.TrimSpace(t.Exempt[field]) == "" {
			report("%s.%s: is exempt, but the reason is missing", typ, field)
		}
	}
	return wrong
}

func (m Markers) check() []string {
	var wrong []string
	for key, v := range map[string]string{
		"scope": m.Scope, "element": m.Element, "parameterSource": m.ParameterSource, "verb": m.Verb,
		"parameterizedBy": m.ParameterizedBy, "parameterExpression": m.ParameterExpression,
	} {
		if v != "" && !value.MatchString(v) {
			wrong = append(wrong, fmt.Sprintf("%s cannot be written between quotes", key))
		}
	}
	if m.ParameterTreatment != "" && !word.MatchString(m.ParameterTreatment) {
		wrong = append(wrong, "parameterTreatment is not one word")
	}
	if m.Excluded && m.Verb == "" {
		wrong = append(wrong, "excluded needs a verb beside it")
	}
	slices.Sort(wrong)
	return wrong
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
