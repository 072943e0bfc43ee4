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

// File is what one file of markers says.
type File struct {
	// Subject, Reason and the trailers are what the header of a patch is: the file is
	// exported as one.
	Subject   string   `json:"subject"`
	Reason    string   `json:"reason"`
	Carry     string   `json:"carry"`
	Upstream  string   `json:"upstream"`
	Forwarded string   `json:"forwarded"`
	Seam      string   `json:"seam"`
	DropWhen  string   `json:"dropWhen"`
	TestedBy  []string `json:"testedBy"`
	// Packages are the types by the import path of their package, and by name.
	Packages map[string]map[string]Type `json:"packages"`
}

// Type is what stands on a type and its fields.
type Type struct {
	Markers
	Fields map[string]Field `json:"fields,omitempty"`
	// Exempt are fields at the root of a kind that no permission covers, with the reason.
	Exempt map[string]string `json:"exempt,omitempty"`
}

// Field is what stands on a field, by its Go name; an embedded one is named by its type.
type Field struct {
	Markers
	// Retype exchanges the type of the field for another name of it.
	Retype *Retype `json:"retype,omitempty"`
}

// Retype exchanges one spelling of a type for another.
type Retype struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Markers are the markers on one place.
type Markers struct {
	Scope               string `json:"scope,omitempty"`
	ParameterSource     string `json:"parameterSource,omitempty"`
	Verb                string `json:"verb,omitempty"`
	Excluded            bool   `json:"excluded,omitempty"`
	ParameterizedBy     string `json:"parameterizedBy,omitempty"`
	ParameterTreatment  string `json:"parameterTreatment,omitempty"`
	ParameterExpression string `json:"parameterExpression,omitempty"`
}

// Count returns how many types have markers, on themselves or on fields, and how many
// places that are.
func (f *File) Count() (types, places int) {
	for _, all := range f.Packages {
		for _, t := range all {
			here := len(t.Fields)
			if len(t.Comments()) > 0 {
				here++
			}
			if here > 0 {
				types++
			}
			places += here
		}
	}
	return types, places
}

// prefix begins every line that is written.
const prefix = "// +permission-"

// Comments returns the lines of the markers in the order they are written.
func (m Markers) Comments() []string {
	var lines []string
	quoted := func(name, value string) {
		if value != "" {
			lines = append(lines, prefix+name+`:"`+value+`"`)
		}
	}
	quoted("scope", m.Scope)
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
	// name is what a Go identifier of an API looks like.
	name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// value is what openapi-gen reads between quotes, word what it reads without.
	value = regexp.MustCompile(`^[ !#-~]+$`)
	word  = regexp.MustCompile(`^[!#-~]+$`)
	// importPath is what lies below staging/src of Kubernetes, or in Kubernetes itself.
	importPath = regexp.MustCompile(`^k8s\.io(?:/[a-z0-9][a-z0-9.-]*)+$`)
)

// Parse reads a file of markers. It fails on a key that it does not know, and on whatever
// can stand nowhere.
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
			report("%s.%s: retype needs two names of a type, from and to", typ, field)
		}
	}
	for _, field := range sorted(t.Exempt) {
		if strings.TrimSpace(t.Exempt[field]) == "" {
			report("%s.%s: is exempt, and the reason is missing", typ, field)
		}
	}
	return wrong
}

func (m Markers) check() []string {
	var wrong []string
	for key, v := range map[string]string{
		"scope": m.Scope, "parameterSource": m.ParameterSource, "verb": m.Verb,
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
