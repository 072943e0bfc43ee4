// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of the two parts of a permission name, in bytes: the DNS-1123 subdomain before the slash,
// and the name after the slash. A name without a slash has no domain.
const (
	MaxDomainLength = 253
	MaxNameLength   = 63
)

// Validate returns an error if the name of a permission is not well-formed: a lowerCamelCase name,
// or a third party's domain, a slash and a lowerCamelCase name. It refuses the name of the general
// verb, because granular:granular would look like that verb and yet be the permission for one
// field. An error contains at most one character of the input, because an attacker can have chosen
// the input.
func Validate(permission string) error {
	if strings.HasPrefix(permission, prefix) {
		return fmt.Errorf("permission: the name must not begin with %q, only a permission verb does", prefix)
	}
	domain, name, qualified := strings.Cut(permission, "/")
	if !qualified {
		domain, name = "", permission
	}
	if qualified {
		if err := validateDomain(domain); err != nil {
			return err
		}
	}
	switch {
	case permission == General:
		return fmt.Errorf("permission: the name is reserved for the general verb")
	case name == "":
		return fmt.Errorf("permission: the name is empty")
	case len(name) > MaxNameLength:
		return fmt.Errorf("permission: the name is longer than %d bytes", MaxNameLength)
	case name[0] < 'a' || name[0] > 'z':
		return fmt.Errorf("permission: the name must begin with a lower-case letter")
	}
	for i := 1; i < len(name); i++ {
		if !alphanumeric(name[i]) {
			return fmt.Errorf("permission: the name must be lowerCamelCase, %s is neither letter nor digit", character(name, i))
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// validateDomain returns an error if domain is not a DNS-1123 subdomain with at least one dot. The
// dot is required because a domain without a dot belongs to nobody.
func validateDomain(domain string) error {
	if len(domain) > MaxDomainLength {
		return fmt.Errorf("permission: the domain is longer than %d bytes", MaxDomainLength)
	}
	labels := strings.Split(domain, ".")
	if len(labels) < 2 {
		return fmt.Errorf("permission: the domain before the slash needs at least one dot")
	}
	for _, label := range labels {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Errorf("permission: the domain is not a DNS-1123 subdomain: a part of it is empty, or begins or ends with '-'")
		}
		for i := 0; i < len(label); i++ {
			c := label[i]
			if c != '-' && !('a' <= c && c <= 'z') && !('0' <= c && c <= '9') {
				return fmt.Errorf("permission: the domain is not a DNS-1123 subdomain: %s is not allowed", character(label, i))
			}
		}
	}
	return nil
}

// character returns the character that begins at the byte offset index of s, quoted.
func character(s string, index int) string {
	r, _ := utf8.DecodeRuneInString(s[index:])
	return strconv.QuoteRune(r)
}

// Scoped returns the name that a permission has inside a scope, a part of the object such as
// podTemplate. In the scope podTemplate, the permission labels gets the name podTemplateLabels, and
// example.com/nodePool gets the name example.com/podTemplateNodePool. The domain of the scope is
// used only if the permission has no domain.
func Scoped(scope, permission string) string {
	if scope == "" {
		return permission
	}
	scopeDomain, scopeName, qualified := strings.Cut(scope, "/")
	if !qualified {
		scopeDomain, scopeName = "", scope
	}
	domain, name, qualified := strings.Cut(permission, "/")
	if !qualified {
		domain, name = scopeDomain, permission
	}
	if name != "" && 'a' <= name[0] && name[0] <= 'z' {
		name = string(name[0]-'a'+'A') + name[1:]
	}
	if domain == "" {
		return scopeName + name
	}
	return domain + "/" + scopeName + name
}
