// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strings"
)

// Bounds of a permission name, in bytes: a DNS-1123 subdomain, a slash, a name.
const (
	MaxDomainLength = 253
	MaxNameLength   = 63
)

// Validate says whether a permission is well-formed: a name in lowerCamelCase,
// alone or behind a third party's domain and a slash. The name of the general verb is
// nobody's, since granular:granular reads like it and covers one field. Errors never repeat
// the input, which a caller may have chosen.
func Validate(permission string) error {
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
		return fmt.Errorf("permission: the name is reserved, it is that of the general verb")
	case name == "":
		return fmt.Errorf("permission: the name is empty")
	case len(name) > MaxNameLength:
		return fmt.Errorf("permission: the name is longer than %d bytes", MaxNameLength)
	case name[0] < 'a' || name[0] > 'z':
		return fmt.Errorf("permission: the name must begin with a lower-case letter")
	}
	for i := 1; i < len(name); i++ {
		if !alphanumeric(name[i]) {
			return fmt.Errorf("permission: the name must be lowerCamelCase, byte %d is neither letter nor digit", i)
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// validateDomain wants a DNS-1123 subdomain with at least one dot: a domain
// without one is nobody's property.
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
			return fmt.Errorf("permission: the domain is not a DNS-1123 subdomain")
		}
		for i := 0; i < len(label); i++ {
			c := label[i]
			if c != '-' && !('a' <= c && c <= 'z') && !('0' <= c && c <= '9') {
				return fmt.Errorf("permission: the domain is not a DNS-1123 subdomain")
			}
		}
	}
	return nil
}

// Scoped puts a permission below a scope: labels below podTemplate becomes
// podTemplateLabels, example.com/nodePool becomes example.com/podTemplateNodePool.
// A domain of the scope is kept only where the permission has none.
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
