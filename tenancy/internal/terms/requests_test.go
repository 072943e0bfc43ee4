// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package terms_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// crew returns a tenant in which somebody must approve sudo, for an hour at most.
func crew() *v1alpha1.LNamespace {
	return &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "crew"}, Spec: v1alpha1.LNamespaceSpec{
		Users:    []v1alpha1.Subject{{Name: "uma"}},
		Managers: []v1alpha1.Subject{{Name: "mia"}, entry("old", "2026-11-27T11:59:59Z"), {Kind: v1alpha1.ServiceAccountKind, Namespace: "ci", Name: "robot"}},
		Sudoers: []v1alpha1.Subject{{Name: "ada"}, {Name: "bob"}, {Kind: v1alpha1.GroupKind, Name: "ops"}, {Kind: v1alpha1.ServiceAccountKind, Namespace: "ci", Name: "robot"},
			entry("guest", "2026-11-27T12:10:00Z"), entry("gone", "2026-11-27T12:00:00Z"), {Kind: v1alpha1.GroupKind, Name: "system:serviceaccounts:crew"}},
		Sudo: v1alpha1.Sudo{Approval: v1alpha1.ApprovalRequired, MaxDuration: "1h"},
	}}
}

// approval returns an approval of a user.
func approval(name string, groups ...string) *v1alpha1.SudoDecision {
	return &v1alpha1.SudoDecision{Verdict: v1alpha1.Approved, Author: v1alpha1.Person{Username: name, Groups: groups}}
}

// asked returns a request that ada created at noon, for half an hour, and bob approved.
func asked() *v1alpha1.SudoRequest {
	return &v1alpha1.SudoRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "crew", Name: "r", CreationTimestamp: metav1.Time{Time: noon}},
		Spec:       v1alpha1.SudoRequestSpec{Duration: "30m", Reason: "x", Requester: v1alpha1.Person{Username: "ada"}, Decision: approval("bob")},
	}
}

// TestJudge checks what becomes of a request at noon.
//
// Attack: somebody approves its own request, by another way to say its name, by a group, by the user that exists for
// its sudo, by another name with the same UID, or by a service account
// Answer: the controller refuses it, whatever admission let through
// Held by: TestRequestsAreForged
// Attack: somebody approves a request whose own entry has ended or is gone
// Answer: the controller refuses it
// Held by: TestApproversWhoseRightEnded
// Attack: a request has no duration, one that overflows, or one that is longer than the tenant allows
// Answer: the controller refuses it
func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.LNamespace, *v1alpha1.SudoRequest)
		want    v1alpha1.RequestState
		message string
	}{
		"approved by a sudoer":  {nil, v1alpha1.RequestGranted, `approved by "bob"`},
		"approved by a manager": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("mia") }, v1alpha1.RequestGranted, `"mia"`},
		"approved by a member of a group": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("olga", "ops") },
			v1alpha1.RequestGranted, `"olga"`},
		"requested by a member of a group": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Requester = v1alpha1.Person{Username: "olga", Groups: []string{"ops"}}
		}, v1alpha1.RequestGranted, ""},
		"nobody decided": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = nil }, v1alpha1.RequestPending, ""},
		"denied":         {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision.Verdict = v1alpha1.Denied }, v1alpha1.RequestDenied, `by "bob"`},
		"a strange verdict": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision.Verdict = "approved" },
			v1alpha1.RequestDenied, ""},
		"approved by itself": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("ada") }, v1alpha1.RequestRefused, "its own"},
		"approved by itself, as a member of a group": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("ada", "ops") },
			v1alpha1.RequestRefused, "its own"},
		"approved by the user for its sudo": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Decision = approval("lnamespace:crew:ada")
		},
			v1alpha1.RequestRefused, "its own"},
		"approved by the user for the sudo of another": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Decision = approval("lnamespace:crew:bob")
		},
			v1alpha1.RequestRefused, "no sudoer and no manager"},
		"approved with the group of sudo": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Decision = approval("bob", "lnamespace:crew-sudoers")
		},
			v1alpha1.RequestRefused, "no sudoer and no manager"},
		"approved by a second name with the same UID": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Requester.UID, r.Spec.Decision.Author.UID = "7", "7"
		}, v1alpha1.RequestRefused, "its own"},
		"approved by another UID": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Requester.UID, r.Spec.Decision.Author.UID = "7", "8"
		}, v1alpha1.RequestGranted, ""},
		"approved by a service account that is a sudoer": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Decision = approval("system:serviceaccount:ci:robot")
		}, v1alpha1.RequestRefused, "service account"},
		"approved by a service account of the tenant": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Decision = approval("system:serviceaccount:crew:x", "system:serviceaccounts:crew")
		}, v1alpha1.RequestRefused, "service account"},
		"requested by a service account": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Requester.Username = "system:serviceaccount:ci:robot"
		}, v1alpha1.RequestRefused, "service account"},
		"requested by a service account, and nobody must approve": {func(l *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Requester.Username, l.Spec.Sudo.Approval, r.Spec.Decision = "system:serviceaccount:ci:robot", "", nil
		}, v1alpha1.RequestGranted, ""},
		"approved by a user": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("uma") }, v1alpha1.RequestRefused, "no sudoer and no manager"},
		"approved by nobody": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("") }, v1alpha1.RequestRefused, "no sudoer and no manager"},
		"approved by a component": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.Spec.Decision = approval("system:admin", "ops")
		}, v1alpha1.RequestRefused, "no sudoer"},
		"the approver's entry ended": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("old") },
			v1alpha1.RequestRefused, "no sudoer and no manager"},
		"the approver's entry ends now": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("gone") },
			v1alpha1.RequestRefused, "no sudoer and no manager"},
		"the approver is gone": {func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.Spec.Sudoers = l.Spec.Sudoers[:1] },
			v1alpha1.RequestRefused, "no sudoer and no manager"},
		"a group's name is no user's": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = approval("ops") },
			v1alpha1.RequestRefused, "no sudoer and no manager"},
		"the requester is no sudoer": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Requester.Username = "uma" },
			v1alpha1.RequestRefused, `"uma" is no sudoer`},
		"the requester is a manager only": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Requester.Username = "mia" },
			v1alpha1.RequestRefused, `"mia" is no sudoer`},
		"the requester's entry has ended": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Requester.Username = "gone" },
			v1alpha1.RequestRefused, `"gone" is no sudoer`},
		"too long":       {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Duration = "1h1s" }, v1alpha1.RequestRefused, "1h0m0s at most"},
		"as long as can": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Duration = "60m" }, v1alpha1.RequestGranted, ""},
		"no time":        {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Duration = "" }, v1alpha1.RequestRefused, "duration"},
		"zero":           {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Duration = "0s" }, v1alpha1.RequestRefused, "duration"},
		"before":         {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Duration = "-1h" }, v1alpha1.RequestRefused, "duration"},
		"overflow": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Duration = "9999999999h" },
			v1alpha1.RequestRefused, "duration"},
		"no limit of the tenant": {func(l *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			l.Spec.Sudo.MaxDuration, r.Spec.Duration = "", "8h"
		},
			v1alpha1.RequestGranted, ""},
		"longer than the default": {func(l *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			l.Spec.Sudo.MaxDuration, r.Spec.Duration = "", "481m"
		},
			v1alpha1.RequestRefused, "8h0m0s at most"},
		"approved late": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.CreationTimestamp.Time = noon.Add(-terms.Patience)
		},
			v1alpha1.RequestExpired, "within 1h0m0s"},
		"just in time": {func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.CreationTimestamp.Time = noon.Add(time.Second - terms.Patience)
		}, v1alpha1.RequestGranted, ""},
		"sudo needs no request": {func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.Spec.Sudo = v1alpha1.Sudo{} }, v1alpha1.RequestRefused, "no request"},
		"the tenant is being deleted": {func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.DeletionTimestamp = &metav1.Time{Time: noon} },
			v1alpha1.RequestRefused, "no such tenant"},
	} {
		lns, r := crew(), asked()
		if tc.change != nil {
			tc.change(lns, r)
		}
		got := terms.Judge(lns, r, noon)
		if got.State != tc.want || !strings.Contains(got.Message, tc.message) {
			t.Errorf("%s: %+v", name, got)
		}
		if (got.State == v1alpha1.RequestGranted) != (got.Until != nil) || got.State.IsFinal() != (got.FinishedAt != nil) {
			t.Errorf("%s: times: %+v", name, got)
		}
	}
	if got := terms.Judge(nil, asked(), noon); got.State != v1alpha1.RequestRefused {
		t.Errorf("no tenant: %+v", got)
	}
}

// TestGrantedSudoEnds checks when a granted request ends, and that a finished one is never granted again.
//
// Attack: a finished request is used once more: its decision is written again, or the lists change back
// Answer: the state stays, and nobody gets sudo
// Attack: somebody requests sudo for longer than its own entry lasts
// Answer: sudo ends with the entry
func TestGrantedSudoEnds(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	give := func(lns *v1alpha1.LNamespace, r *v1alpha1.SudoRequest, minutes int) []v1alpha1.GrantedSudo {
		return terms.Present(lns, []v1alpha1.SudoRequest{*r}, at(minutes)).Status.Sudo
	}
	lns, r := crew(), asked()
	if got := give(lns, r, 0); got != nil {
		t.Errorf("without a status: %+v", got)
	}
	r.Status = terms.Judge(lns, r, at(0))
	if got := give(lns, r, 29); len(got) != 1 || got[0].Subject != entry("ada", "2026-11-27T12:30:00Z") || got[0].ApprovedBy != "bob" {
		t.Errorf("granted: %+v", got)
	}
	for name, tc := range map[string]struct {
		minutes int
		change  func(*v1alpha1.LNamespace, *v1alpha1.SudoRequest)
		want    v1alpha1.RequestState
	}{
		"just before the end": {29, func(*v1alpha1.LNamespace, *v1alpha1.SudoRequest) {}, v1alpha1.RequestGranted},
		"at the end":          {30, func(*v1alpha1.LNamespace, *v1alpha1.SudoRequest) {}, v1alpha1.RequestEnded},
		"longer than patience": {30, func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			r.CreationTimestamp.Time = noon.Add(-59 * time.Minute)
		}, v1alpha1.RequestEnded},
		"denied later":         {5, func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision.Verdict = v1alpha1.Denied }, v1alpha1.RequestDenied},
		"no sudoer any more":   {5, func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.Spec.Sudoers = l.Spec.Sudoers[1:] }, v1alpha1.RequestEnded},
		"the approver is gone": {5, func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.Spec.Sudoers = l.Spec.Sudoers[:1] }, v1alpha1.RequestGranted},
		"no request is needed": {5, func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.Spec.Sudo = v1alpha1.Sudo{} }, v1alpha1.RequestEnded},
		"no tenant any more": {5, func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.DeletionTimestamp = &metav1.Time{Time: noon} },
			v1alpha1.RequestEnded},
		"the tenant allows less now": {5, func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.Spec.Sudo.MaxDuration = "29m" }, v1alpha1.RequestEnded},
		"the tenant allows as much":  {5, func(l *v1alpha1.LNamespace, _ *v1alpha1.SudoRequest) { l.Spec.Sudo.MaxDuration = "30m" }, v1alpha1.RequestGranted},
		"nobody approved it, and somebody must now": {5, func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Spec.Decision = nil },
			v1alpha1.RequestEnded},
		"nobody approved it, and nobody must": {5, func(l *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) {
			l.Spec.Sudo.Approval, r.Spec.Decision = "", nil
		}, v1alpha1.RequestGranted},
		"a status without an end": {5, func(_ *v1alpha1.LNamespace, r *v1alpha1.SudoRequest) { r.Status.Until = nil }, v1alpha1.RequestEnded},
	} {
		l, q := lns.DeepCopy(), r.DeepCopy()
		tc.change(l, q)
		got := terms.Judge(l, q, at(tc.minutes))
		if got.State != tc.want || (len(give(l, q, tc.minutes)) == 1) != (tc.want == v1alpha1.RequestGranted) {
			t.Errorf("%s: %+v, %+v", name, got, give(l, q, tc.minutes))
		}
		if !got.State.IsFinal() {
			continue
		}
		q.Status = got
		q.Spec.Decision = approval("bob")
		if again := terms.Judge(lns, q, at(6)); again.State != tc.want || give(lns, q, 6) != nil {
			t.Errorf("%s, once more: %+v", name, again)
		}
		if terms.IsOld(q, at(6).Add(terms.Kept-time.Hour)) || !terms.IsOld(q, at(tc.minutes).Add(terms.Kept)) {
			t.Errorf("%s: it is not kept for %s", name, terms.Kept)
		}
	}
	guest := asked()
	guest.Spec.Requester.Username = "guest"
	if got := terms.Judge(lns, guest, noon); !got.Until.Equal(&metav1.Time{Time: at(10)}) {
		t.Errorf("the guest: %+v", got)
	}
	// The later of two requests counts, and one that is being deleted does not.
	longer := r.DeepCopy()
	longer.Name, longer.Status.Until = "longer", &metav1.Time{Time: at(50)}
	if got := terms.Present(lns, []v1alpha1.SudoRequest{*r, *longer}, noon).Status.Sudo; len(got) != 1 || got[0].Request != "longer" {
		t.Errorf("two requests: %+v", got)
	}
	longer.DeletionTimestamp = &metav1.Time{Time: noon}
	if got := terms.Present(lns, []v1alpha1.SudoRequest{*r, *longer}, noon).Status.Sudo; len(got) != 1 || got[0].Request != "r" {
		t.Errorf("one is being deleted: %+v", got)
	}
}
