// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
)

// object is a part of a JSON schema.
type object = map[string]any

const draft = "http://json-schema.org/draft-07/schema#"

// namePattern matches the name of a permission, with or without a domain, apart from the length of the domain.
var namePattern = func() string {
	const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
	return fmt.Sprintf(`(%s(\.%s)+/)?[a-z][A-Za-z0-9]{0,%d}`, label, label, permission.MaxNameLength-1)
}()

// longDomainPattern matches the beginning of a name whose domain is too long.
var longDomainPattern = fmt.Sprintf(`[^/,(]{%d}`, permission.MaxDomainLength+1)

// namePatterns are the schema of the name of a permission.
func namePatterns() []any {
	return []any{
		object{"pattern": "^" + namePattern + "$"},
		object{"not": object{"pattern": "^" + longDomainPattern + "[^/]*/"}},
		object{"not": object{"const": permission.General}},
	}
}

// parameterPattern matches what may stand between the parentheses of a verb, apart from its length. It is made
// of the bytes that permission.Parse accepts.
func parameterPattern() string {
	accepted := func(parameter string) bool {
		_, err := permission.Parse(permission.General + ":p(" + parameter + ")")
		return err == nil
	}
	var plain strings.Builder
	var escapes []string
	const digits = "0123456789ABCDEF"
	for high := range digits {
		var low strings.Builder
		for i := range digits {
			c := string(rune(high*16 + i))
			if high < 8 && accepted(c) {
				plain.WriteString(regexp.QuoteMeta(c))
			}
			if accepted("%" + digits[high:high+1] + digits[i:i+1]) {
				low.WriteByte(digits[i])
			}
		}
		if low.Len() > 0 {
			escapes = append(escapes, fmt.Sprintf("%c[%s]", digits[high], low.String()))
		}
	}
	return "([" + strings.ReplaceAll(plain.String(), "-", `\-`) + "]|%(" + strings.Join(escapes, "|") + "))*"
}

// verbPattern matches a permission verb, apart from the lengths of its domain and its parameter.
func verbPattern() string {
	return fmt.Sprintf(`^%s(:%s(\(%s\))?)?$`, permission.General, namePattern, parameterPattern())
}

// known returns a schema of names or verbs that use permissions of built-in kinds, so that editors offer them with
// their meanings. text makes the name or verb of a permission, or "" if it has none.
func known(text func(registry.Permission) string) (object, error) {
	all, err := registry.Load()
	if err != nil {
		return nil, err
	}
	var names, meanings []string
	for _, p := range all.Permissions {
		if value := text(p); value != "" {
			names, meanings = append(names, value), append(meanings, p.Meaning)
		}
	}
	return object{"enum": names, "enumDescriptions": meanings}, nil
}

// ofKind matches the objects of some kinds of an API group.
func ofKind(group string, kinds ...string) object {
	return object{"required": []string{"apiVersion", "kind"}, "properties": object{
		"apiVersion": object{"pattern": "^" + regexp.QuoteMeta(group) + "/"}, "kind": object{"enum": kinds}}}
}

// document encodes a schema.
func document(schema object) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(schema)
	return out.Bytes(), err
}
