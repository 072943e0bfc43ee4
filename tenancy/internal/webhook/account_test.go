// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube-granular.dev/tenancy/internal/accounts"
	"kube-granular.dev/tenancy/internal/webhook"
)

// TestRequiredAccount checks that an LNamespace keeps an account if the mapping requires one, and
// that an LNamespace without one can still be changed otherwise. Each case is tried with a mapping
// that requires an account, and with one that does not and allows it.
func TestRequiredAccount(t *testing.T) {
	billing := func(text string) string { return strings.Replace(full, `{"account":"1"}`, text, 1) }
	for name, tc := range map[string]struct {
		before, now string
		refused     bool
	}{
		"new":                    {now: full},
		"new, null":              {now: billing(`{"account":null}`), refused: true},
		"new, empty":             {now: billing(`{"account":""}`), refused: true},
		"new, blank":             {now: billing(`{"account":" "}`), refused: true},
		"new, without billing":   {now: billing(`{}`), refused: true},
		"another":                {before: full, now: billing(`{"account":"2"}`)},
		"to null":                {before: full, now: billing(`{"account":null}`), refused: true},
		"to empty":               {before: full, now: billing(`{"account":""}`), refused: true},
		"to blank":               {before: full, now: billing(`{"account":" "}`), refused: true},
		"to nothing":             {before: full, now: strings.Replace(full, `,"billing":{"account":"1"}`, "", 1), refused: true},
		"from none to blank":     {before: billing(`{}`), now: billing(`{"account":" "}`), refused: true},
		"from none to one":       {before: billing(`{}`), now: full},
		"none, as before":        {before: billing(`{}`), now: strings.Replace(billing(`{}`), `"name":"u"`, `"name":"x"`, 1)},
		"none, empty and absent": {before: billing(`{"account":""}`), now: billing(`{}`)},
		"blank, as before":       {before: billing(`{"account":" "}`), now: strings.Replace(billing(`{"account":" "}`), `"name":"u"`, `"name":"x"`, 1)},
	} {
		for _, required := range []bool{true, false} {
			// The verbs are those of who may change the billing of every LNamespace: they name any account,
			// and leave out none.
			l := webhook.Lists{Client: api(t, "billing@team", "users@team", "users@", "billing@"), Check: allowAll, IsReserved: isInfra,
				Accounts: func() (accounts.Mapping, error) { return accounts.Mapping{Required: required}, nil }}
			operation := admissionv1.Update
			if tc.before == "" {
				operation = admissionv1.Create
			}
			req := asked(operation, "mia", []string{"g"}, tc.before, tc.now)
			req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"k": {"v"}}
			r := l.Handle(t.Context(), req)
			if r.Allowed == (tc.refused && required) || !r.Allowed && !strings.Contains(r.Result.Message, "spec.billing.account is missing") {
				t.Errorf("%s, required %t: allowed %t: %+v", name, required, r.Allowed, r.Result)
			}
		}
	}
}

// TestBlankDefault checks that a blank account counts as missing for the default.
func TestBlankDefault(t *testing.T) {
	for name, tc := range map[string]struct{ user, account, want string }{
		"blank, of somebody":  {"ada", " ", `replace /spec/billing/account "4711"`},
		"named, of somebody":  {"ada", "9", ""},
		"blank, of nobody":    {"bob", " ", ""},
		"hidden, of somebody": {"ada", "\u200b", `replace /spec/billing/account "4711"`},
	} {
		d := webhook.Default{Accounts: func() (accounts.Mapping, error) { return people, nil }}
		r := d.Handle(t.Context(), asked(admissionv1.Create, tc.user, nil, "", `{"metadata":{"name":"team"},"spec":{"billing":{"account":"`+tc.account+`"}}}`))
		if got := patches(t, r); !r.Allowed || got != tc.want {
			t.Errorf("%s: allowed %t, patches %s", name, r.Allowed, got)
		}
	}
}

// TestAllowedKeepsNoAccount checks that an LNamespace that an administrator allows by the annotation, as adopt and restore do, is
// not charged to the administrator, who creates it for others.
func TestAllowedKeepsNoAccount(t *testing.T) {
	const defaulted = `add /spec/billing {"account":"1"}`
	for name, tc := range map[string]struct {
		value       string // of the annotation
		groups      []string
		verbs       []string
		want, error string
	}{
		"of an administrator":             {value: "true", verbs: []string{"update@status"}},
		"who has several accounts":        {value: "true", groups: []string{"research", "ops"}, verbs: []string{"update@status"}},
		"of somebody else":                {value: "true", want: defaulted},
		"who may write one status":        {value: "true", verbs: []string{"update@teamstatus"}, want: defaulted},
		"who is denied":                   {value: "true", verbs: []string{"update@status", "deny"}, want: defaulted},
		"another value":                   {value: "false", verbs: []string{"update@status"}, want: defaulted},
		"not allowed":                     {verbs: []string{"update@status"}, want: defaulted},
		"the authorizer does not answer":  {value: "true", verbs: []string{"error"}, error: "the authorizer is unavailable"},
		"it is not asked without a value": {verbs: []string{"error"}, want: defaulted},
	} {
		if tc.groups == nil {
			tc.groups = []string{"research"}
		}
		annotations := ""
		if tc.value != "" {
			annotations = `,"annotations":{"tenancy.kube-granular.dev/allowed":"` + tc.value + `"}`
		}
		req := asked(admissionv1.Create, "mia", tc.groups, "", `{"metadata":{"name":"team"`+annotations+`},"spec":{"users":[]}}`)
		req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"k": {"v"}}
		d := webhook.Default{Client: api(t, tc.verbs...), Accounts: func() (accounts.Mapping, error) { return people, nil }}
		r := d.Handle(t.Context(), req)
		if got := patches(t, r); got != tc.want || r.Allowed != (tc.error == "") || !r.Allowed && !strings.Contains(r.Result.Message, tc.error) {
			t.Errorf("%s: allowed %t, patches %s, %+v", name, r.Allowed, got, r.Result)
		}
	}
}
