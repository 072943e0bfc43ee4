// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accounts decides which accounts a user may charge for a tenant.
//
// Except for Load, its functions are pure: they compute from a mapping the accounts of a user and
// of the user's groups. If the file of a mapping can't be read, Load returns an error, which must
// not be taken for an empty mapping.
package accounts

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Mapping maps users and groups to accounts.
type Mapping struct {
	// Users maps the name of a user to an account. As a default, this account takes precedence
	// over the accounts of the user's groups.
	Users map[string]string `json:"users,omitempty"`
	// Groups maps the name of a group to its account.
	Groups map[string]string `json:"groups,omitempty"`
	// OnlyOwn is true if users may charge only the accounts that the mapping has for them or their
	// groups. Users with the permission to change the accounts of all LNamespaces are exempt.
	OnlyOwn bool `json:"onlyOwn,omitempty"`
	// Required is true if each LNamespace needs an account. An LNamespace without one stays as it is
	// until its account is changed.
	Required bool `json:"required,omitempty"`
}

// Load reads a mapping from the file path. If path is empty, the mapping is empty.
func Load(path string) (Mapping, error) {
	m := Mapping{}
	if path == "" {
		return m, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return m, fmt.Errorf("mapping of accounts: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return m, fmt.Errorf("mapping of accounts %s: %w", path, err)
	}
	for _, of := range []map[string]string{m.Users, m.Groups} {
		for name, account := range of {
			if Blank(account) {
				return m, fmt.Errorf("mapping of accounts %s: %q has an empty account", path, name)
			}
		}
	}
	return m, nil
}

// Default returns the account for a new LNamespace without an account: the account of the user who
// creates the LNamespace or, if the user has none, the account of the user's groups. If the groups
// have several accounts, the user must choose one, and Default returns an error. If they have
// none, Default returns an empty string, or an error if m.Required is true.
func (m Mapping) Default(user string, groups []string) (string, error) {
	if account := m.Users[user]; account != "" {
		return account, nil
	}
	switch own := m.own(user, groups); len(own) {
	case 0:
		if m.Required {
			return "", fmt.Errorf("spec.billing.account is missing, and neither %q nor a group of theirs has an account to default to", user)
		}
		return "", nil
	case 1:
		return slices.Collect(maps.Keys(own))[0], nil
	default:
		return "", fmt.Errorf("spec.billing.account is missing, and %q has several accounts to choose from: %s", user, list(own))
	}
}

// Blank reports whether an account has nothing to read: it is empty, or it has only spaces and
// characters that can't be seen.
func Blank(account string) bool {
	return !strings.ContainsFunc(account, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// Missing returns an error if the account is blank and m.Required is true. Unlike May, it exempts
// nobody.
func (m Mapping) Missing(account string) error {
	if m.Required && Blank(account) {
		return errors.New("spec.billing.account is missing, and the mapping of accounts requires one")
	}
	return nil
}

// May returns nil if the user is allowed to charge the account, and an error that says why if not.
// Everybody may leave out the account, unless Missing says otherwise.
func (m Mapping) May(account, user string, groups []string) error {
	if !m.OnlyOwn || account == "" {
		return nil
	}
	own := m.own(user, groups)
	if _, ok := own[account]; ok {
		return nil
	}
	if len(own) == 0 {
		return fmt.Errorf("spec.billing.account: %q has no account of their own to choose", user)
	}
	return fmt.Errorf("spec.billing.account: %q may choose from: %s", user, list(own))
}

// own returns the accounts of a user and of the user's groups. For each account, the result says
// which users and groups in the mapping have it.
func (m Mapping) own(user string, groups []string) map[string][]string {
	own := map[string][]string{}
	if account := m.Users[user]; account != "" {
		own[account] = append(own[account], "user "+user)
	}
	for _, group := range groups {
		if account := m.Groups[group]; account != "" {
			own[account] = append(own[account], "group "+group)
		}
	}
	return own
}

func list(own map[string][]string) string {
	var words []string
	for _, account := range slices.Sorted(maps.Keys(own)) {
		from := slices.Compact(slices.Sorted(slices.Values(own[account])))
		words = append(words, fmt.Sprintf("%s (%s)", account, strings.Join(from, ", ")))
	}
	return strings.Join(words, ", ")
}
