// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Fault is a class of problems, named after those of the API's field errors.
type Fault string

const (
	Required     Fault = "Required"
	Invalid      Fault = "Invalid"
	NotSupported Fault = "NotSupported"
	Duplicate    Fault = "Duplicate"
	Forbidden    Fault = "Forbidden"
)

// Problem describes what is wrong with one field of an entry.
type Problem struct {
	// Field is a path as in the API, such as protectedValues[1].
	Field string
	Fault Fault
	// Detail is the rest of a sentence that begins with the field. It does not repeat the value of
	// the field.
	Detail string
}

func (p Problem) String() string { return p.Field + ": " + p.Detail }

// Bounds of an entry.
const (
	// MaxValues is the highest number of values in an entry.
	MaxValues = 256
	// MaxResources is the highest number of resources in a filter.
	MaxResources = 64
	// MaxAnnotationValue is the longest annotation value in an entry, in bytes.
	MaxAnnotationValue = 4096

	maxLabelText = 63
	maxDomain    = 253
)

type problems []Problem

func (p *problems) add(fault Fault, field, detail string, args ...any) {
	*p = append(*p, Problem{Field: field, Fault: fault, Detail: fmt.Sprintf(detail, args...)})
}

// Problems validates the entry, field by field and where fields exclude each other. It returns what
// is wrong, or nil if nothing is.
func (e *Entry) Problems() []Problem {
	var p problems
	if e.Kind != schema.Label && e.Kind != schema.Annotation {
		p.add(NotSupported, "attributeKind", "must be Label or Annotation")
	}
	e.keyProblems(&p)
	e.roleProblems(&p)
	if len(e.ProtectedValues) > 0 && len(e.AllowedValues) > 0 {
		p.add(Forbidden, "allowedValues", "can't be set together with protectedValues")
	}
	e.valueProblems(&p, "protectedValues", e.ProtectedValues)
	e.valueProblems(&p, "allowedValues", e.AllowedValues)
	if e.Mode != "" && e.Mode != Enforce && e.Mode != Audit {
		p.add(NotSupported, "mode", "must be Enforce or Audit")
	}
	resourceProblems(&p, "resources", e.Resources)
	resourceProblems(&p, "excludeResources", e.ExcludeResources)
	included := canonical(e.Resources)
	for i, r := range e.ExcludeResources {
		if slices.Contains(included, r.Canonical()) {
			p.add(Invalid, fmt.Sprintf("excludeResources[%d]", i), "is also in resources")
		}
	}
	return p
}

// keyProblems adds the problems of the entry's key to p. The rules are upstream's for keys of
// labels and annotations: the domain of an annotation's key may have upper-case letters. They are
// stricter for an entry that protects a whole domain, where the domain must be in lower case.
func (e *Entry) keyProblems(p *problems) {
	const field = "attributeName"
	prefix, name, qualified := strings.Cut(e.Key, "/")
	if !qualified {
		prefix, name = "", e.Key
	}
	if e.Kind == schema.Annotation && name != "*" {
		prefix = strings.ToLower(prefix)
	}
	switch {
	case e.isDomain() && Reserved(e.Kind, e.Key):
		p.add(Forbidden, field, "is a domain of keys that the server sets on objects of any caller, so it can't be protected")
	case e.Key == "":
		p.add(Required, field, "must be a key, or a domain such as example.com/*")
	case qualified && !isDomainName(prefix):
		p.add(Invalid, field, "must have a DNS-1123 subdomain before the slash")
	case name == "*" && !qualified:
		p.add(Invalid, field, "can't be every key; name a key, or a domain such as example.com/*")
	case name == "*":
	case strings.Contains(name, "*"):
		p.add(Invalid, field, "may have an asterisk only as the whole part after the slash")
	case strings.Contains(name, "/"):
		p.add(Invalid, field, "has more than one slash")
	case !isLabelText(name) || name == "":
		p.add(Invalid, field, "must have a name of at most %d letters, digits, '-', '_' and '.', which begins and ends with a letter or digit", maxLabelText)
	case Reserved(e.Kind, e.Key):
		p.add(Forbidden, field, "is a key that the server sets on objects of any caller, so it can't be protected")
	}
}

func (e *Entry) roleProblems(p *problems) {
	if e.Role == (RoleRef{}) {
		if !e.isDomain() && permission.CheckParameter(e.Key) != nil {
			p.add(Required, "roleRef", "must name a role, because the key is too long for a verb")
		}
		return
	}
	switch {
	case e.Role.Kind == Role && e.Namespace == "":
		p.add(NotSupported, "roleRef.kind", "must be ClusterRole for an entry of the whole cluster")
	case e.Role.Kind != Role && e.Role.Kind != ClusterRole:
		p.add(NotSupported, "roleRef.kind", "must be ClusterRole or Role")
	}
	switch name := e.Role.Name; {
	case name == "":
		p.add(Required, "roleRef.name", "must name a role; leave out roleRef to require the verb of the key instead")
	case name == "." || name == ".." || strings.ContainsAny(name, "/%"):
		p.add(Invalid, "roleRef.name", "must not be '.' or '..', and must not contain '/' or '%%'")
	}
}

func (e *Entry) valueProblems(p *problems, field string, values []string) {
	if len(values) > MaxValues {
		p.add(Invalid, field, "has more than %d values", MaxValues)
		return
	}
	seen := make(map[string]bool, len(values))
	for i, v := range values {
		path := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case seen[v]:
			p.add(Duplicate, path, "is listed twice")
		case e.Kind == schema.Label && !isLabelText(v):
			p.add(Invalid, path, "must be empty, or at most %d letters, digits, '-', '_' and '.', which begin and end with a letter or digit", maxLabelText)
		case e.Kind == schema.Annotation && len(v) > MaxAnnotationValue:
			p.add(Invalid, path, "is longer than %d bytes", MaxAnnotationValue)
		}
		seen[v] = true
	}
}

func resourceProblems(p *problems, field string, resources []Resource) {
	if len(resources) > MaxResources {
		p.add(Invalid, field, "has more than %d resources", MaxResources)
		return
	}
	for i, r := range resources {
		path := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case slices.Contains(resources[:i], r):
			p.add(Duplicate, path, "is listed twice")
		case r.Resource == "":
			p.add(Required, path+".resource", "must be a resource in the plural, such as pods")
		case r.Resource == "*" || r.Group == "*":
			p.add(Invalid, path, "must name one resource; leave out the list for all")
		case strings.Contains(r.Resource, "/"):
			p.add(Invalid, path+".resource", "can't be a subresource; the resource itself covers all of its subresources")
		case !isDomainName(r.Resource):
			p.add(Invalid, path+".resource", "must be the name of a resource, in lower case")
		case r.Group != "" && !isDomainName(r.Group):
			p.add(Invalid, path+".group", "must be an API group, without its version")
		}
	}
}

// isLabelText reports whether a text may be the value of a label. If such a text is not empty, it
// may also be the part of a key after the slash.
func isLabelText(s string) bool {
	if len(s) > maxLabelText {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && (i == 0 || i == len(s)-1 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}

// isDomainName reports whether a text is a DNS-1123 subdomain.
func isDomainName(s string) bool {
	if s == "" || len(s) > maxDomain {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := 0; i < len(label); i++ {
			if c := label[i]; c != '-' && !('a' <= c && c <= 'z') && !('0' <= c && c <= '9') {
				return false
			}
		}
	}
	return true
}

// KindOf returns the kind of attribute for its name in the API, Label or Annotation, and 0 for any
// other text.
func KindOf(name string) schema.Attribute {
	switch name {
	case schema.Label.String():
		return schema.Label
	case schema.Annotation.String():
		return schema.Annotation
	}
	return 0
}
