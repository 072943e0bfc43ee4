// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube-granular.dev/tenancy/internal/accounts"
	"kube-granular.dev/tenancy/internal/webhook"
)

// TestListsAreNotProlonged checks that the webhook alone, without the policy, lets nobody give what lasts longer than its
// own entry.
//
// Attack: the holder of an entry that ends prolongs it, for itself, another name, a group or an account, where somebody
// deleted the policy lnamespace-lists
// Was: got through
// Answer: 403 by the webhook
// Held by: TestEntriesAreProlonged
// Attack: somebody whose entry ends removes it, and adds itself without an end before the controller takes the right
// Was: got through
// Answer: 403: who is in no list adds nobody by a right on this LNamespace alone
// Held by: TestFormerManagersAddNobody
// Attack: a manager whose entry ends is also a sudoer without an end, who may not change lists, and adds itself as a manager
// Was: got through
// Answer: 403: entries of sudoers count only with the allowance Lists
// Held by: TestFormerManagersAddNobody
func TestListsAreNotProlonged(t *testing.T) {
	const noon, one, later = `"2099-01-01T12:00:00Z"`, `"2099-01-01T13:00:00+01:00"`, `"2099-01-01T12:00:01Z"`
	entry := func(kind, name, until string) string {
		text := fmt.Sprintf(`{"kind":%q,"name":%q`, kind, name)
		if kind == "ServiceAccount" {
			text += `,"namespace":"ci"`
		}
		if until != "" {
			text += `,"until":` + until
		}
		return text + "}"
	}
	spec := func(users, managers, sudoers string) string {
		return fmt.Sprintf(`{"metadata":{"name":"team"},"spec":{"users":[%s],"managers":[%s],"sudoers":[%s],"sudo":{"allow":["Lists"]}}}`, users, managers, sudoers)
	}
	// strict is the same of a tenant whose sudoers may not change lists.
	strict := func(users, managers, sudoers string) string {
		return strings.Replace(spec(users, managers, sudoers), `"Lists"`, "", 1)
	}
	mia, robot := entry("User", "mia", noon), entry("ServiceAccount", "robot", noon)
	ops := entry("Group", "ops", noon)
	both := func(list ...string) string { return strings.Join(list, ",") }
	all := []string{"users@team", "managers@team", "sudoers@team"}
	for name, tc := range map[string]struct {
		user, before, now string
		groups, more      []string
		refused           string
	}{
		"a user, with the same end":       {user: "mia", before: spec("", mia, ""), now: spec(entry("User", "x", noon), mia, "")},
		"the same moment in another zone": {user: "mia", before: spec("", mia, ""), now: spec(entry("User", "x", one), mia, "")},
		"a user, for longer": {user: "mia", before: spec("", mia, ""),
			now: spec(entry("User", "x", later), mia, ""), refused: "users"},
		"a user, for ever": {user: "mia", before: spec("", mia, ""),
			now: spec(entry("User", "x", ""), mia, ""), refused: "users"},
		"its own entry": {user: "mia", before: spec("", mia, ""),
			now: spec("", entry("User", "mia", later), ""), refused: "managers"},
		"another manager, for ever": {user: "mia", before: spec("", mia, ""),
			now: spec("", both(mia, entry("Group", "g", "")), ""), refused: "managers"},
		"a second entry of its own": {user: "mia", before: spec("", mia, ""),
			now: spec("", both(mia, entry("User", "mia", "")), ""), refused: "managers"},
		"an end that can't be read": {user: "mia", before: spec("", mia, ""),
			now: spec(entry("User", "x", `"soon"`), mia, ""), refused: "users"},
		"who stays for ever": {user: "mia", before: spec(entry("User", "x", ""), mia, ""),
			now: spec(both(entry("User", "y", noon), entry("User", "x", "")), mia, "")},
		"a manager with two entries": {user: "mia", before: spec("", both(mia, entry("User", "mia", "")), ""),
			now: spec(entry("User", "x", ""), both(mia, entry("User", "mia", "")), "")},
		"an administrator": {user: "mia", before: spec("", mia, ""),
			now: spec(entry("User", "x", ""), mia, ""), more: []string{"update@status"}},
		"a sudoer for ever, for longer": {user: "mia", before: strict("", mia, entry("User", "mia", "")),
			now: strict("", entry("User", "mia", ""), entry("User", "mia", "")), refused: "managers"},
		"a sudoer for ever by a group, for longer": {user: "mia", groups: []string{"ops"}, before: strict("", mia, entry("Group", "ops", "")),
			now: strict("", both(mia, entry("User", "x", "")), entry("Group", "ops", "")), refused: "managers"},
		"a sudoer for ever, who may change lists": {user: "mia", before: spec("", mia, entry("User", "mia", "")),
			now: spec("", entry("User", "mia", ""), entry("User", "mia", ""))},
		"somebody who is in no list": {user: "eve", before: spec("", mia, ""),
			now: spec(entry("User", "x", noon), mia, ""), refused: "users"},
		"somebody who is in no list, and removes": {user: "eve", before: spec("", mia, ""), now: spec("", "", "")},
		"somebody with the right on all": {user: "eve", before: spec("", mia, ""), now: spec(entry("User", "x", ""), mia, ""),
			more: []string{"users@"}},
		"somebody with another right on all": {user: "eve", before: spec("", mia, ""), now: spec(entry("User", "x", ""), mia, ""),
			more: []string{"managers@"}, refused: "users"},
		"whose entry is gone": {user: "mia", before: spec("", robot, ""),
			now: spec("", both(robot, entry("User", "mia", "")), ""), refused: "managers"},
		"whose entry as a sudoer is gone": {user: "lnamespace:team:mia", before: spec("", "", ops),
			now: spec("", "", both(ops, entry("User", "mia", ""))), refused: "sudoers"},
		"by a group": {user: "eve", groups: []string{"ops"}, before: spec("", ops, ""),
			now: spec(entry("User", "x", ""), ops, ""), refused: "users"},
		"by another group": {user: "eve", groups: []string{"dev"}, before: spec("", ops, ""),
			now: spec(entry("User", "x", ""), ops, ""), refused: "users"},
		"by an account": {user: "system:serviceaccount:ci:robot", before: spec("", robot, ""),
			now: spec(entry("User", "x", ""), robot, ""), refused: "users"},
		"with sudo": {user: "lnamespace:team:mia", before: spec("", "", mia),
			now: spec("", "", both(mia, entry("User", "x", ""))), refused: "sudoers"},
		"with the sudo that groups share": {user: "lnamespace:team-sudoers", before: spec("", "", ops),
			now: spec("", "", both(ops, entry("User", "x", ""))), refused: "sudoers"},
		"that of groups, beside one for ever": {user: "lnamespace:team-sudoers", before: spec("", "", both(ops, entry("Group", "dev", ""))),
			now: spec("", "", both(ops, entry("Group", "dev", ""), entry("User", "x", "")))},
		"sudoers, by an entry of managers": {user: "mia", before: spec("", mia, ""),
			now: spec("", mia, entry("User", "x", "")), refused: "sudoers"},
		// A manager whose right to change the list of sudoers is from elsewhere gives what it likes.
		"sudoers, with the right on all": {user: "mia", before: spec("", mia, ""), now: spec("", mia, entry("User", "x", "")),
			more: []string{"sudoers@"}},
		// A list of sudoers is changed by an entry of sudoers alone.
		"sudoers, by an entry for ever of managers": {user: "mia", before: spec("", entry("User", "mia", ""), mia),
			now: spec("", entry("User", "mia", ""), both(mia, entry("User", "x", ""))), refused: "sudoers"},
	} {
		l := webhook.Lists{Client: apiFor(t, tc.user, append(tc.more, all...)...), Check: allowAll, IsReserved: isInfra,
			Accounts: func() (accounts.Mapping, error) { return people, nil }}
		if tc.groups == nil {
			tc.groups = []string{"g"}
		}
		req := asked(admissionv1.Update, tc.user, tc.groups, tc.before, tc.now)
		req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"k": {"v"}}
		r := l.Handle(t.Context(), req)
		want := "spec." + tc.refused + " can't have an entry that ends later than the entry by which you may change it"
		if r.Allowed != (tc.refused == "") || !r.Allowed && !strings.Contains(r.Result.Message, want) {
			t.Errorf("%s: allowed %t: %+v", name, r.Allowed, r.Result)
		}
	}
	// If nobody can say whether the caller is an administrator, the change is refused.
	l := webhook.Lists{Client: api(t, append(all, "error")...), Check: allowAll, IsReserved: isInfra,
		Accounts: func() (accounts.Mapping, error) { return people, nil }}
	if r := l.Handle(t.Context(), asked(admissionv1.Update, "mia", nil, spec("", mia, ""), spec("", entry("User", "mia", ""), ""))); r.Allowed {
		t.Error("allowed, although no access review is answered")
	}
}
