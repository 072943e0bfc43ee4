// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/tenancy/internal/accounts"
)

var mapping = accounts.Mapping{
	Users:  map[string]string{"ada": "a"},
	Groups: map[string]string{"research": "r", "ops": "o", "on-call": "o"},
}

// TestDefaultAccount checks which account a tenant gets whose creator names none.
func TestDefaultAccount(t *testing.T) {
	for name, tc := range map[string]struct {
		user, groups  string
		required      bool
		want, refused string
	}{
		"a user":                    {user: "ada", want: "a"},
		"a user before groups":      {user: "ada", groups: "research ops", want: "a"},
		"a group":                   {user: "bob", groups: "staff research", want: "r"},
		"two groups of one account": {user: "bob", groups: "ops on-call", want: "o"},
		"several": {user: "bob", groups: "ops research on-call",
			refused: "o (group on-call, group ops), r (group research)"},
		"none":                         {user: "bob", groups: "staff"},
		"none, and one is required":    {user: "bob", groups: "staff", required: true, refused: "is missing"},
		"a user with a group's name":   {user: "research"},
		"a group with the user's name": {user: "bob", groups: "ada"},
	} {
		m := mapping
		m.Required = tc.required
		got, err := m.Default(tc.user, strings.Fields(tc.groups))
		if got != tc.want || (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestOnlyOwn checks that an account of somebody else is refused if the mapping has onlyOwn set.
func TestOnlyOwn(t *testing.T) {
	strict := mapping
	strict.OnlyOwn = true
	for name, tc := range map[string]struct {
		m             accounts.Mapping
		account, user string
		groups        string
		refused       string
	}{
		"one's own":       {m: strict, account: "a", user: "ada"},
		"that of a group": {m: strict, account: "o", user: "ada", groups: "ops"},
		"that of another group": {m: strict, account: "r", user: "ada", groups: "ops",
			refused: "a (user ada), o (group ops)"},
		"without any": {m: strict, account: "r", user: "bob", refused: "no account"},
		"no account":  {m: strict, user: "bob"},
		"a blank one": {m: strict, account: " ", user: "ada", refused: "a (user ada)"},
		"any":         {m: mapping, account: "r", user: "bob"},
	} {
		err := tc.m.May(tc.account, tc.user, strings.Fields(tc.groups))
		if (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMissing checks that a required account can't be left out, nor be blank.
func TestMissing(t *testing.T) {
	for account, blank := range map[string]bool{
		"": true, " ": true, "\u00a0\u3000": true, "\u200b": true, "\t": true,
		"a": false, " a ": false, "4711": false, "-": false, "部": false,
	} {
		for _, m := range []accounts.Mapping{{}, {OnlyOwn: true}} {
			if err := m.Missing(account); err != nil {
				t.Errorf("%q, which is not required: %v", account, err)
			}
			m.Required = true
			err := m.Missing(account)
			if (err != nil) != blank || err != nil && !strings.Contains(err.Error(), "spec.billing.account is missing") {
				t.Errorf("%q, required: %v", account, err)
			}
		}
	}
}

func TestLoadAccounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.yaml")
	for text, ok := range map[string]bool{
		"users: {ada: a}\ngroups: {ops: o}\nonlyOwn: true\n": true,
		"":                        true,
		"users: {ada: ''}":        false,
		"groups: {ops: ' '}":      false,
		"user: {ada: a}":          false,
		"users: [ada]":            false,
		"groups: {ops: [a, b]}":   false,
		"groups: {ops: \"4711\"}": true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := accounts.Load(path); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := accounts.Load(path + "-not-there"); err == nil {
		t.Error("no error for a file that does not exist")
	}
	if m, err := accounts.Load(""); err != nil || m.OnlyOwn {
		t.Errorf("without a file: %+v, %v", m, err)
	}
}
