// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// approved returns a tenant with two sudoers and a group of sudoers, in which somebody must approve sudo.
func approved(name string) *v1alpha1.LNamespace {
	lns := tenant(name)
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user(name+"-second"), v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: name + "-ops"})
	lns.Spec.Sudo = v1alpha1.Sudo{Approval: v1alpha1.ApprovalRequired, MaxDuration: "1h"}
	return lns
}

// sudoRequest returns a request for sudo.
func sudoRequest(lns *v1alpha1.LNamespace, name string, length v1alpha1.Duration) *v1alpha1.SudoRequest {
	return &v1alpha1.SudoRequest{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: name},
		Spec: v1alpha1.SudoRequestSpec{Duration: length, Reason: "a test"}}
}

// asks creates a request as a user, and waits until it is in a state.
func (c *cluster) asks(t *testing.T, who client.Client, r *v1alpha1.SudoRequest, want v1alpha1.RequestState) {
	t.Helper()
	wait(t, "the request can be created", func() error { return who.Create(t.Context(), r) })
	c.isIn(t, r, want)
}

// isIn waits until a request is in a state.
func (c *cluster) isIn(t *testing.T, r *v1alpha1.SudoRequest, want v1alpha1.RequestState) {
	t.Helper()
	wait(t, fmt.Sprintf("request %s is %s", r.Name, want), func() error {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		if r.Status.State != want {
			return fmt.Errorf("%+v", r.Status)
		}
		return nil
	})
}

// decides writes a decision about a request.
func decides(t *testing.T, who client.Client, r *v1alpha1.SudoRequest, verdict v1alpha1.Verdict) error {
	t.Helper()
	before := r.DeepCopy()
	after := r.DeepCopy()
	after.Spec.Decision = &v1alpha1.SudoDecision{Verdict: verdict}
	return who.Patch(t.Context(), after, client.MergeFrom(before))
}

// TestRequestsGiveSudo checks that sudoers have sudo only by a request that somebody else approved, until
// the end of its time, and that the status, events and the audit log say who approved.
func TestRequestsGiveSudo(t *testing.T) {
	lns := shared.make(t, approved("asking"))
	requester, approver := shared.as(t, "asking-sudoer"), shared.as(t, "asking-second")
	sudo := right{"asking-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name)}
	refused := func(what string) {
		t.Helper()
		if err := shared.may(sudo.name, sudo.groups, sudo.verb, sudo.resource, sudo.namespace, sudo.object, false); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("before any request")
	r := sudoRequest(lns, "first", v1alpha1.Duration(fmt.Sprint(lasting, "s")))
	shared.asks(t, requester, r, v1alpha1.RequestPending)
	refused("before the approval")
	if err := decides(t, approver, r, v1alpha1.Approved); err != nil {
		t.Fatal(err)
	}
	shared.isIn(t, r, v1alpha1.RequestGranted)
	if author := r.Spec.Decision.Author; author.Username != "asking-second" || r.Spec.Requester.Username != "asking-sudoer" || !slices.Contains(author.Groups, "system:authenticated") {
		t.Errorf("%+v", r.Spec)
	}
	shared.allowed(t, sudo.name, nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object)
	if err := shared.may("asking-second", nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object, false); err != nil {
		t.Errorf("the approver has sudo: %v", err)
	}
	wait(t, "the status has who approved", func() error {
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		if s := lns.Status.Sudo; len(s) != 1 || s[0].ApprovedBy != "asking-second" || s[0].Request != "first" || s[0].Subject.Name != "asking-sudoer" {
			return fmt.Errorf("%+v", s)
		}
		return shared.hasEvent(t, lns.Name, "SudoGranted", `"asking-second"`)
	})
	t.Logf("sudo ended %s late", shared.end(t, r.Status.Until.Time, sudo))
	shared.isIn(t, r, v1alpha1.RequestEnded)
	if shared.hasEvent(t, lns.Name, "SudoerRemoved", "") == nil || shared.hasEvent(t, lns.Name, "Repaired", "") == nil {
		t.Error("an event says that a sudoer was removed, or that somebody else changed an object")
	}
	// A manager approves, and a member of a group of sudoers gets sudo as itself. A denial ends it.
	member := right{"asking-olga", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name)}
	second := sudoRequest(lns, "second", "1h")
	shared.asks(t, shared.as(t, member.name, "asking-ops"), second, v1alpha1.RequestPending)
	if err := decides(t, shared.as(t, "asking-manager"), second, v1alpha1.Approved); err != nil {
		t.Fatal(err)
	}
	shared.allowed(t, member.name, nil, member.verb, member.resource, member.namespace, member.object)
	shared.isIn(t, second, v1alpha1.RequestGranted)
	if err := decides(t, shared.as(t, member.name, "asking-ops"), second, v1alpha1.Denied); err != nil {
		t.Errorf("the requester withdraws: %v", err)
	}
	shared.isIn(t, second, v1alpha1.RequestDenied)
	shared.refused(t, member.name, nil, member.verb, member.resource, member.namespace, member.object)
	// Without spec.sudo.approval, a request is granted at once.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.Approval = "" })
	third := sudoRequest(lns, "third", "1h")
	shared.asks(t, requester, third, v1alpha1.RequestGranted)
	shared.allowed(t, sudo.name, nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object)
	// The name of a sudoer leaves the list: its sudo ends.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[1:] })
	shared.refused(t, sudo.name, nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object)
	shared.isIn(t, third, v1alpha1.RequestEnded)
	for _, line := range []string{"Approved by asking-second for asking-sudoer", "Denied by asking-olga for asking-olga"} {
		wait(t, line+" is in the audit log", func() error { return audited(line) })
	}
}

// TestRequestCommands runs the commands of kubectl sudo for requests.
func TestRequestCommands(t *testing.T) {
	for name, groups := range map[string][]string{"rita": nil, "abe": nil} {
		shared.newUser(t, name, groups...)
	}
	must, mustFail := shared.commands(t)
	lns := approved("commanding")
	lns.Spec.Sudoers = []v1alpha1.Subject{user("rita"), user("abe")}
	shared.make(t, lns)
	shared.allowed(t, "rita", nil, "create", "sudorequests", lns.Name, "")
	mustFail("rita", "kubectl sudo request -n commanding --for 1h --reason TEXT", "sudo", "-n", "commanding", "get", "secrets")
	mustFail("rita", "whole seconds", "sudo", "request", "-n", "commanding", "--for", "soon", "--reason", "x")
	mustFail("rita", "say why", "sudo", "request", "-n", "commanding", "--for", "1h")
	mustFail("rita", "may be 1h0m0s at most", "sudo", "request", "-n", "commanding", "--for", "61m", "--reason", "x")
	must("rita", "another sudoer or a manager must approve it", "sudo", "-n", "commanding", "request", "--for", "60m", "--reason", "restore")
	list := &v1alpha1.SudoRequestList{}
	if err := shared.client.List(t.Context(), list, client.InNamespace(lns.Name)); err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, r := range list.Items {
		if r.Status.State == v1alpha1.RequestPending {
			name = r.Name
		}
	}
	mustFail("rita", "somebody else must approve", "sudo", "approve", name, "-n", "commanding")
	must("abe", "restore", "sudo", "requests", "-n", "commanding")
	must("abe", "rita has sudo in commanding until", "sudo", "approve", name, "-n", "commanding")
	out, err := shared.kubectl("abe", "sudo", "requests", "-n", "commanding")
	if lines := strings.Split(out, "\n"); err != nil || len(lines) < 3 || !strings.Contains(lines[0], "DECIDED BY") ||
		!strings.Contains(lines[1], "Granted") || !strings.Contains(lines[1], "abe") || !strings.Contains(lines[2], "Refused") {
		t.Errorf("%v: %s", err, out)
	}
	must("abe", `"state": "Granted"`, "sudo", "requests", "-n", "commanding", "-o", "json")
	must("abe", "state: Granted", "sudo", "requests", "-n", "commanding", "-o", "yaml")
	shared.allowed(t, "rita", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	shared.eventually(t, "rita", "No resources found", "sudo", "-n", "commanding", "get", "secrets")
	must("abe", "is denied", "sudo", "deny", name, "-n", "commanding", "--reason", "enough")
	shared.refused(t, "rita", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	mustFail("abe", "stays as it is", "sudo", "approve", name, "-n", "commanding")
}

// audited returns an error if the audit log has no annotation of a decision with this text.
func audited(decision string) error {
	text, err := os.ReadFile(auditLog)
	if err == nil && !strings.Contains(string(text), `"lnamespace-sudo-requests/decision":"`+decision+`"`) {
		err = errors.New("it is not")
	}
	return err
}
