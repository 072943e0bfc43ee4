// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accounts decides which accounts a user may charge for a tenant.
//
// Except for Load, its functions are pure: they compute the accounts of a user and its groups
// from a mapping. If a mapping can't be read, it is an error and never an empty mapping.
package accounts

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Mapping maps users and groups to accounts.
type Mapping struct {
	// Users maps the name of a user to its account, which takes precedence over the accounts of
	// the user's groups.
	Users map[string]string `json:"users,omitempty"`
	// Groups maps the name of a group to its account.
	Groups map[string]string `json:"groups,omitempty"`
	// OnlyOwn is true if users may only name accounts that the mapping gives them. Users who may
	// change the account of all LNamespaces are exempt.
	OnlyOwn bool `json:"onlyOwn,omitempty"`
	// Required is true if each new LNamespace needs an account.
	Required bool `json:"required,omitempty"`
}

// Load reads a mapping. If path is empty, the mapping is empty.
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

// Default returns the account for a new LNamespace without an account: the account of the user
// who creates it, or the account of the user's groups if they have only one. If the groups have
// several accounts, the user must choose, and Default returns an error.
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

// May returns an error unless the user may charge the account.
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

// own returns the accounts of a user, with the source of each.
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
