// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accounts says which accounts somebody may make pay for a tenant.
//
// It is pure but for Load: a mapping and a user with groups go in, accounts come out. A
// mapping that can't be read is an error, never an empty one.
package accounts

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Mapping holds the accounts of people.
type Mapping struct {
	// Users holds the account of a user, by name. It comes before those of the user's groups.
	Users map[string]string `json:"users,omitempty"`
	// Groups holds the account of a group.
	Groups map[string]string `json:"groups,omitempty"`
	// OnlyOwn tells that nobody may name an account that the mapping does not give him. Who
	// may change who pays for every LNamespace is exempt.
	OnlyOwn bool `json:"onlyOwn,omitempty"`
	// Required tells that every new LNamespace needs an account.
	Required bool `json:"required,omitempty"`
}

// Load reads a mapping. Without a path it is empty.
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
			if account == "" {
				return m, fmt.Errorf("mapping of accounts %s: %q has an empty account", path, name)
			}
		}
	}
	return m, nil
}

// Default returns the account that pays if none is named: that of the user, or that of the
// user's groups if they have one between them. Who has several must choose.
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
		return "", fmt.Errorf("spec.billing.account is missing, and %q has several to choose from: %s", user, list(own))
	}
}

// May returns an error unless the user may make the account pay.
func (m Mapping) May(account, user string, groups []string) error {
	if !m.OnlyOwn || account == "" && !m.Required {
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

// own returns the accounts of a user, with whom the user has each from.
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
