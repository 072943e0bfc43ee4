// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// writeRequest sends a merge patch of a request as somebody.
func writeRequest(t *testing.T, who client.Client, r *v1alpha1.SudoRequest, patch string) error {
	t.Helper()
	return who.Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
}

const approve = `{"spec":{"decision":{"verdict":"Approved"}}}`

// TestRequestsAreForged checks that the admission policies write who requests and who decides, whatever the
// client sends, and that a request does not change otherwise.
//
// Attack: somebody approves its own request, as itself, as a member of a group, with sudo, as a service account, or by
// writing another name as the one who approved
// Answer: 403; the name that a client sends does not matter, and a decision of somebody else is stored with its name
// Held by: TestJudge
// Attack: somebody creates a request in the name of another, or one that is approved already
// Answer: the request has the name of its creator; 403
// Attack: the requester makes a request longer, changes its reason or its status, before or after the approval
// Answer: 403; the status stays
// Attack: somebody takes an approval away, or approves what was denied
// Answer: 403; an approval can become a denial only
func TestRequestsAreForged(t *testing.T) {
	lns := approved("forging")
	robot := v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: lns.Name, Name: "robot"}
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, robot)
	shared.make(t, lns)
	self, other := shared.as(t, "forging-sudoer", "forging-ops"), shared.as(t, "forging-second")
	r := sudoRequest(lns, "r", "30m")
	r.Spec.Requester = v1alpha1.Person{Username: "forging-second", UID: "1", Groups: []string{"system:masters"}}
	shared.asks(t, self, r, v1alpha1.RequestPending)
	if p := r.Spec.Requester; p.Username != "forging-sudoer" || p.UID != "" || fmt.Sprint(p.Groups) != "[forging-ops system:authenticated]" {
		t.Errorf("requested by %+v", p)
	}
	made := sudoRequest(lns, "made", "30m")
	made.Spec.Decision = &v1alpha1.SudoDecision{Verdict: v1alpha1.Approved, Author: v1alpha1.Person{Username: "forging-second"}}
	if err := self.Create(t.Context(), made); !forbidden(err) {
		t.Errorf("a request that is approved already: %v", err)
	}
	sudo := names.SudoGroup(lns.Name)
	shared.allowed(t, "system:serviceaccount:"+lns.Name+":robot", nil, "approve", "sudorequests", lns.Name, "")
	for who, c := range map[string]client.Client{
		"the requester":                      self,
		"the requester, in no group":         shared.as(t, "forging-sudoer"),
		"the requester, in another group":    shared.as(t, "forging-sudoer", "forging-other"),
		"the requester with sudo":            shared.as(t, names.SudoerUser(lns.Name, "forging-sudoer"), sudo),
		"the sudo of another":                shared.as(t, names.SudoerUser(lns.Name, "forging-second"), sudo),
		"the user that groups share":         shared.as(t, names.SudoUser(lns.Name), sudo),
		"another with the group of sudo":     shared.as(t, "forging-second", sudo),
		"a service account that is a sudoer": shared.as(t, "system:serviceaccount:"+lns.Name+":robot", "system:serviceaccounts"),
		"a user of the tenant":               shared.as(t, "forging-user"),
		"anybody":                            shared.as(t, "forging-nobody"),
	} {
		for _, patch := range []string{approve,
			`{"spec":{"decision":{"verdict":"Approved","author":{"username":"forging-second"}}}}`,
			`{"spec":{"requester":{"username":"x"},"decision":{"verdict":"Approved"}}}`} {
			if err := writeRequest(t, c, r, patch); !forbidden(err) {
				t.Errorf("%s approves by %s: %v", who, patch, err)
			}
		}
	}
	// Who may update requests, for example by a role of an administrator, and has not the verb approve.
	shared.editsRequests(t, lns.Name, "forging-editor")
	for _, patch := range []string{approve, `{"spec":{"decision":{"verdict":"Denied"}}}`} {
		if err := writeRequest(t, shared.as(t, "forging-editor"), r, patch); !forbidden(err) || !strings.Contains(err.Error(), "the verb approve") {
			t.Errorf("who may only update requests: %s: %v", patch, err)
		}
	}
	for _, who := range []client.Client{self, other} {
		for _, patch := range []string{`{"spec":{"duration":"1h"}}`, `{"spec":{"reason":"y"}}`, `{"spec":{"requester":{"groups":[]}}}`,
			`{"spec":{"duration":"1h","decision":{"verdict":"Approved"}}}`} {
			if err := writeRequest(t, who, r, patch); !forbidden(err) {
				t.Errorf("%s: %v", patch, err)
			}
		}
		status := `{"status":{"state":"Granted","until":"2036-01-01T00:00:00Z"}}`
		if err := who.Status().Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(status))); !forbidden(err) {
			t.Errorf("the status: %v", err)
		}
		if err := writeRequest(t, who, r, status); err != nil {
			t.Errorf("the status beside the subresource is ignored: %v", err)
		}
	}
	if err := writeRequest(t, other, r, `{"spec":{"decision":{"verdict":"Approved","author":{"username":"forging-manager","uid":"1"}}}}`); err != nil {
		t.Fatal(err)
	}
	shared.isIn(t, r, v1alpha1.RequestGranted)
	if author := r.Spec.Decision.Author; author.Username != "forging-second" || author.UID != "" {
		t.Errorf("decided by %+v", author)
	}
	for who, c := range map[string]client.Client{"the requester": self, "the approver": other, "the manager": shared.as(t, "forging-manager")} {
		for _, patch := range []string{`{"spec":{"duration":"1h"}}`, `{"spec":{"decision":null}}`, `{"spec":{"decision":{"author":{"username":"forging-manager"}}}}`,
			`{"spec":{"decision":{"reason":"y"}}}`} {
			if err := writeRequest(t, c, r, patch); !forbidden(err) {
				t.Errorf("%s, after the approval: %s: %v", who, patch, err)
			}
		}
	}
	if err := writeRequest(t, shared.as(t, "forging-manager"), r, `{"spec":{"decision":{"verdict":"Denied"}}}`); err != nil {
		t.Fatal(err)
	}
	shared.isIn(t, r, v1alpha1.RequestDenied)
	if author := r.Spec.Decision.Author; author.Username != "forging-manager" {
		t.Errorf("denied by %+v", author)
	}
	if err := writeRequest(t, other, r, approve); !forbidden(err) {
		t.Errorf("approved after the denial: %v", err)
	}
}

// editsRequests lets a user update the requests of a tenant, and waits until it may.
func (c *cluster) editsRequests(t *testing.T, tenant, name string) {
	t.Helper()
	at := metav1.ObjectMeta{Namespace: tenant, Name: name}
	role := &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupVersion.Group},
		Resources: []string{"sudorequests"}, Verbs: []string{"get", "update", "patch"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: at, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}}
	if err := errors.Join(c.client.Create(t.Context(), role), c.client.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	c.allowed(t, name, nil, "patch", "sudorequests", tenant, "")
}

// TestRequestsAreNotReplaced checks that a name of a request stands for one request, and that nobody inside the
// tenant reaches requests otherwise.
//
// Attack: a requester deletes its request, or lets the garbage collector do so, and creates another of the same name, so
// that an approver approves another than it saw
// Answer: 403; what is approved has the UID that was read
// Attack: with sudo, a caller creates, changes or deletes requests, or gives somebody else the right to
// Answer: 403
// Attack: somebody keeps a namespace from being deleted by a finalizer of a request
// Answer: 403
func TestRequestsAreNotReplaced(t *testing.T) {
	lns := shared.make(t, approved("replacing"))
	self, other := shared.as(t, "replacing-sudoer"), shared.as(t, "replacing-second")
	r := sudoRequest(lns, "r", "30m")
	shared.asks(t, self, r, v1alpha1.RequestPending)
	granted := sudoRequest(lns, "granted", "30m")
	shared.asks(t, other, granted, v1alpha1.RequestPending)
	if err := decides(t, shared.as(t, "replacing-manager"), granted, v1alpha1.Approved); err != nil {
		t.Fatal(err)
	}
	sudo := shared.as(t, names.SudoerUser(lns.Name, "replacing-second"), names.SudoGroup(lns.Name))
	shared.allowed(t, "x", []string{names.SudoGroup(lns.Name)}, "list", "sudorequests", lns.Name, "")
	owner := `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"00000000-0000-0000-0000-000000000000"}]}}`
	for who, c := range map[string]client.Client{"the requester": self, "another sudoer": other, "the manager": shared.as(t, "replacing-manager"),
		"a user": shared.as(t, "replacing-user"), "sudo": sudo} {
		if err := c.Delete(t.Context(), r.DeepCopy()); !forbidden(err) {
			t.Errorf("%s deletes the request: %v", who, err)
		}
		if err := c.DeleteAllOf(t.Context(), &v1alpha1.SudoRequest{}, client.InNamespace(lns.Name)); !forbidden(err) {
			t.Errorf("%s deletes all requests: %v", who, err)
		}
		for _, patch := range []string{owner, `{"metadata":{"finalizers":["example.com/x"]}}`} {
			if err := writeRequest(t, c, r, patch); !forbidden(err) {
				t.Errorf("%s: %s: %v", who, patch, err)
			}
		}
	}
	owned := sudoRequest(lns, "owned", "30m")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "00000000-0000-0000-0000-000000000000"}}
	kept := sudoRequest(lns, "kept", "30m")
	kept.Finalizers = []string{"example.com/x"}
	for _, made := range []*v1alpha1.SudoRequest{owned, kept, r.DeepCopy()} {
		made.ResourceVersion, made.UID = "", ""
		if err := self.Create(t.Context(), made); err == nil {
			t.Errorf("created %s", made.Name)
		}
	}
	if err := sudo.Create(t.Context(), sudoRequest(lns, "sudo", "30m")); !forbidden(err) {
		t.Errorf("with sudo: %v", err)
	}
	if err := decides(t, sudo, r, v1alpha1.Approved); !forbidden(err) {
		t.Errorf("approved with sudo: %v", err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, Name: "friend"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: names.ApproveRole},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "replacing-friend"}}}
	if err := sudo.Create(t.Context(), binding); !forbidden(err) {
		t.Errorf("sudo lets a friend approve: %v", err)
	}
	// The administrator replaces the request. The approver's patch says which one it read.
	if err := shared.client.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	again := sudoRequest(lns, "r", "1h")
	shared.asks(t, self, again, v1alpha1.RequestPending)
	test := fmt.Sprintf(`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"add","path":"/spec/decision","value":{"verdict":"Approved"}}]`, r.UID)
	if err := other.Patch(t.Context(), again.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(test))); err == nil {
		t.Error("approved another request than it read")
	}
	shared.isIn(t, again, v1alpha1.RequestPending)
	// The tenant's own request of another tenant gives nothing here.
	elsewhere := shared.make(t, approved("elsewhere"))
	for _, c := range []client.Client{self, other} {
		if err := c.Create(t.Context(), sudoRequest(elsewhere, "foreign", "30m")); !forbidden(err) {
			t.Errorf("in another tenant: %v", err)
		}
	}
}

// TestApproversWhoseRightEnded checks that an approval counts only if the approver may approve when the controller
// grants the request, and that the time of a request counts from then.
//
// Attack: somebody whose own entry has ended approves a request, while no controller runs that takes the right away
// Answer: the request is refused when the controller starts
// Attack: the time of granted sudo ends while no controller runs
// Answer: sudo ends within a second after the start of the controller
func TestApproversWhoseRightEnded(t *testing.T) {
	lns := approved("outdated")
	end := soon(lasting)
	lns.Spec.Managers = append(lns.Spec.Managers, until("outdated-m", end))
	shared.make(t, lns)
	self := shared.as(t, "outdated-sudoer")
	running, r := sudoRequest(lns, "running", v1alpha1.Duration(fmt.Sprint(lasting, "s"))), sudoRequest(lns, "r", "30m")
	shared.asks(t, self, running, v1alpha1.RequestPending)
	shared.asks(t, self, r, v1alpha1.RequestPending)
	shared.allowed(t, "outdated-m", nil, "approve", "sudorequests", lns.Name, "")
	if err := decides(t, shared.as(t, "outdated-second"), running, v1alpha1.Approved); err != nil {
		t.Fatal(err)
	}
	shared.isIn(t, running, v1alpha1.RequestGranted)
	sudo := right{"outdated-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name)}
	shared.allowed(t, sudo.name, nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object)
	if err := theController.stop(); err != nil {
		t.Fatal(err)
	}
	wait(t, "both ends have passed", func() error {
		if left := max(time.Until(end), time.Until(running.Status.Until.Time)); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	if err := decides(t, shared.as(t, "outdated-m"), r, v1alpha1.Approved); err != nil {
		t.Fatalf("while no controller runs: %v", err)
	}
	shared.allowed(t, sudo.name, nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object)
	var err error
	if theController, err = shared.startController(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	shared.refused(t, sudo.name, nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object)
	t.Logf("sudo ended %s after the start", time.Since(start))
	shared.isIn(t, r, v1alpha1.RequestRefused)
	shared.isIn(t, running, v1alpha1.RequestEnded)
	if err := shared.may(sudo.name, nil, sudo.verb, sudo.resource, sudo.namespace, sudo.object, false); err != nil {
		t.Error(err)
	}
}

// TestSudoCanNotLiftTheApproval checks that a tenant can't demand an approval and let sudo change that.
//
// Attack: with sudo, a caller changes spec.sudo so that it needs no approval any more
// Answer: 422 for a tenant that allows both; 403 without the allowance
func TestSudoCanNotLiftTheApproval(t *testing.T) {
	lns := shared.make(t, approved("lifting"))
	for _, sudo := range []string{`{"allow":["Lists"]}`, `{"allow":["Lists"],"approval":null}`, `{"allow":["Lists","Quotas"],"maxDuration":null}`} {
		if err := shared.client.Patch(t.Context(), lns.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"sudo":`+sudo+`}}`))); err == nil {
			t.Errorf("the tenant has %s beside an approval or a limit", sudo)
		}
	}
	shared.allowed(t, "lifting-manager", nil, "update", "lnamespaces", "", lns.Name)
	for _, c := range []client.Client{shared.as(t, "lifting-manager"), shared.as(t, "lifting-sudoer"),
		shared.as(t, names.SudoerUser(lns.Name, "lifting-sudoer"), names.SudoGroup(lns.Name))} {
		for _, sudo := range []string{`null`, `{"approval":null}`, `{"maxDuration":"100h"}`} {
			if err := c.Patch(t.Context(), lns.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"sudo":`+sudo+`}}`))); !forbidden(err) {
				t.Errorf("%s: %v", sudo, err)
			}
		}
	}
	for _, length := range []string{"", "0s", "1d", "-1h", "1.5h", "99999h", "1h0m", "1m1h", "1 h", "1h\n"} {
		text := fmt.Sprintf(`{"spec":{"sudo":{"maxDuration":%q}}}`, length)
		if err := shared.client.Patch(t.Context(), lns.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text))); err == nil {
			t.Errorf("maxDuration %q", length)
		}
	}
}

// TestDelegatedRequests checks that the server itself ends sudo by a request and a delegation at the second, and that
// nobody requests or approves by a delegation.
//
// Attack: somebody uses sudo by a request after its time, while no controller runs
// Answer: 403 from that second on, by delegation
// Attack: by a delegation of sudo, a caller requests or approves sudo
// Answer: 403
func TestDelegatedRequests(t *testing.T) {
	c := byDelegation(t)
	lns := c.make(t, approved("lending"))
	if len(lns.Status.Delegations) != 0 {
		t.Errorf("delegated without a request: %+v", lns.Status.Delegations)
	}
	r, other := sudoRequest(lns, "r", v1alpha1.Duration(fmt.Sprint(lasting, "s"))), sudoRequest(lns, "other", "30m")
	c.asks(t, c.as(t, "lending-sudoer"), r, v1alpha1.RequestPending)
	c.asks(t, c.as(t, "lending-second"), other, v1alpha1.RequestPending)
	if err := decides(t, c.as(t, "lending-manager"), r, v1alpha1.Approved); err != nil {
		t.Fatal(err)
	}
	c.isIn(t, r, v1alpha1.RequestGranted)
	wait(t, "there is a delegation", func() error {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil || len(lns.Status.Delegations) == 1 {
			return err
		}
		return fmt.Errorf("%+v", lns.Status.Delegations)
	})
	delegated := c.under(t, byName(delegationOf(t, lns, user("lending-sudoer"))), "lending-sudoer")
	uses := func() error { return delegated.List(t.Context(), &corev1.SecretList{}, client.InNamespace(lns.Name)) }
	wait(t, "the delegation can be used", uses)
	if err := decides(t, delegated, other, v1alpha1.Approved); !forbidden(err) {
		t.Errorf("approved by a delegation: %v", err)
	}
	if err := delegated.Create(t.Context(), sudoRequest(lns, "more", "30m")); !forbidden(err) {
		t.Errorf("requested by a delegation: %v", err)
	}
	if err := delegating.controller.stop(); err != nil {
		t.Fatal(err)
	}
	end := r.Status.Until.Time
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		asked := time.Now()
		err := uses()
		answered := time.Now()
		if err != nil {
			if !forbidden(err) || answered.Before(end) {
				t.Errorf("%s before the end: %v", end.Sub(answered), err)
			}
			break
		}
		if !asked.Before(end) {
			t.Fatalf("the delegation can be used %s after its end", asked.Sub(end))
		}
		<-tick.C
	}
	var err error
	if delegating.controller, err = c.startDelegating(); err != nil {
		t.Fatal(err)
	}
	c.isIn(t, r, v1alpha1.RequestEnded)
	c.isIn(t, other, v1alpha1.RequestPending)
}
