// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// lasting is the time of an entry or a request, in seconds, that a test sees end: long enough to see it in force on a busy
// machine.
const lasting = 20

// tooLate is when a test stops to wait for the end of a right. A right ends at most a second late; the tests print how late,
// but the speed of a machine decides no test.
const tooLate = time.Minute

// until returns a subject of kind User whose entry ends at a time.
func until(name string, end time.Time) v1alpha1.Subject {
	s := user(name)
	s.Until = end.UTC().Format(time.RFC3339)
	return s
}

// soon returns a time of a whole second that is at least some seconds away.
func soon(seconds int) time.Time {
	return time.Now().Add(time.Duration(seconds+1) * time.Second).Truncate(time.Second)
}

// right is a request that a test asks about.
type right struct {
	name                              string
	groups                            []string
	verb, resource, namespace, object string
}

// end waits until nobody has the rights any more, and checks that none was lost before the end. The caller has seen that
// all have them. It returns the longest time after the end.
func (c *cluster) end(t *testing.T, end time.Time, rights ...right) (longest time.Duration) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(rights) > 0 {
		rights = slices.DeleteFunc(rights, func(r right) bool {
			asked := time.Now()
			err := c.may(r.name, r.groups, r.verb, r.resource, r.namespace, r.object, true)
			if err == nil {
				if asked.Sub(end) > tooLate {
					t.Errorf("%v: still allowed %s after the end", r, asked.Sub(end))
				}
				return asked.Sub(end) > tooLate
			}
			if answered := time.Now(); answered.Before(end) {
				t.Errorf("%v: refused %s before the end: %v", r, end.Sub(answered), err)
			}
			longest = max(longest, asked.Sub(end))
			return true
		})
		<-tick.C
	}
	return longest
}

// TestEntriesEnd checks that the rights of an entry end at its time, and no others, and that nobody is
// told that somebody else changed the objects.
//
// Attack: somebody continues to use rights whose entry has ended
// Answer: refused within a second, while the controller runs
func TestEntriesEnd(t *testing.T) {
	lns := tenant("expiring")
	far := soon(3600)
	lns.Spec.Users = append(lns.Spec.Users, until("expiring-u", far), until("expiring-long", far))
	lns.Spec.Managers = append(lns.Spec.Managers, until("expiring-m", far))
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, until("expiring-s", far), until("expiring-past", far.Add(-2*time.Hour)))
	shared.make(t, lns)
	rights := []right{
		{"expiring-u", nil, "create", "deployments", lns.Name, ""},
		{"expiring-m", nil, "update", "lnamespaces", "", lns.Name},
		{"expiring-s", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name)},
	}
	for _, r := range rights {
		shared.allowed(t, r.name, nil, r.verb, r.resource, r.namespace, r.object)
	}
	if err := shared.may("expiring-past", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name), false); err != nil {
		t.Error(err)
	}
	// The end comes near only now, so that a slow machine does not reach it before everybody has the rights.
	end := soon(lasting)
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) {
		s.Users[1], s.Managers[1], s.Sudoers[1] = until("expiring-u", end), until("expiring-m", end), until("expiring-s", end)
		// Written in another zone, it is the same moment.
		s.Sudoers[1].Until = end.In(time.FixedZone("", 5*3600+1800)).Format(time.RFC3339)
	})
	t.Logf("the rights ended %s late", shared.end(t, end, rights...))
	for _, r := range []right{
		{"expiring-user", nil, "create", "deployments", lns.Name, ""}, {"expiring-long", nil, "create", "deployments", lns.Name, ""},
		{"expiring-manager", nil, "update", "lnamespaces", "", lns.Name},
		{"expiring-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name)},
	} {
		if err := shared.may(r.name, nil, r.verb, r.resource, r.namespace, r.object, true); err != nil {
			t.Error(err)
		}
	}
	wait(t, "the status has who is left", func() error {
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		if g := lns.Status.Granted; !slices.Equal(g.Users, []v1alpha1.Subject{user("expiring-user"), user("expiring-long")}) ||
			!slices.Equal(g.Managers, []v1alpha1.Subject{user("expiring-manager")}) || !slices.Equal(g.Sudoers, []v1alpha1.Subject{user("expiring-sudoer")}) {
			return fmt.Errorf("%+v", g)
		}
		return shared.hasEvent(t, lns.Name, "SudoerRemoved", "expiring-s")
	})
	if shared.hasEvent(t, lns.Name, "Repaired", "") == nil {
		t.Error("an event says that somebody else changed an object")
	}
}

// TestEntriesEndWhileDown checks that rights whose entry ended while no controller ran end when it starts.
//
// Attack: an entry ends while no controller runs
// Answer: its rights end within a second after the start of the controller, before other tenants
func TestEntriesEndWhileDown(t *testing.T) {
	for i := range 20 {
		shared.make(t, tenant(fmt.Sprint("overdue-", i)))
	}
	lns := tenant("overdue")
	far := soon(3600)
	lns.Spec.Users, lns.Spec.Sudoers = []v1alpha1.Subject{until("overdue-u", far)}, []v1alpha1.Subject{until("overdue-s", far)}
	shared.make(t, lns)
	rights := []right{{"overdue-u", nil, "create", "deployments", lns.Name, ""},
		{"overdue-s", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name)}}
	for _, r := range rights {
		shared.allowed(t, r.name, nil, r.verb, r.resource, r.namespace, r.object)
	}
	// On a slow machine an end may pass before the controller has stopped. Then a later one is tried.
	end := time.Time{}
	for length := lasting; ; length *= 2 {
		end = soon(length)
		shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) {
			s.Users[0], s.Sudoers[0] = until("overdue-u", end), until("overdue-s", end)
		})
		if err := theController.stop(); err != nil {
			t.Fatal(err)
		}
		if time.Now().Before(end) {
			break
		}
		var err error
		if theController, err = shared.startController(); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "the end has passed", func() error {
		if left := time.Until(end); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	for _, r := range rights { // nothing but the controller ends rights on a plain cluster
		shared.allowed(t, r.name, nil, r.verb, r.resource, r.namespace, r.object)
	}
	var err error
	if theController, err = shared.startController(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for _, r := range rights {
		shared.refused(t, r.name, nil, r.verb, r.resource, r.namespace, r.object)
	}
	t.Logf("the rights ended %s after the start", time.Since(start))
}

// TestEntriesAreProlonged checks who may prolong an entry: who may add it, and not its holder by a right
// that ends itself.
//
// Attack: the holder of an entry with an end prolongs it, or removes the end, as a user, a manager, a sudoer
// who may change the lists, or a member of a listed group; or gives the same right without an end to another
// name, a group or a service account
// Answer: 403; an entry that ends no later than the own may be added, and who holds the right without an end may
// prolong
func TestEntriesAreProlonged(t *testing.T) {
	lns := tenant("longer")
	end := soon(3600)
	group := v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "longer-group", Until: end.UTC().Format(time.RFC3339)}
	lns.Spec.Users = append(lns.Spec.Users, until("longer-u", end))
	lns.Spec.Managers = append(lns.Spec.Managers, until("longer-m", end), group)
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, until("longer-s", end), group, until("longer-both", end))
	lns.Spec.Managers = append(lns.Spec.Managers, user("longer-both"))
	lns.Spec.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowLists}
	shared.make(t, lns)
	for _, r := range []right{{"longer-m", nil, "update", "lnamespaces", "", lns.Name}, {"longer-s", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name)},
		{"x", []string{names.SudoGroup(lns.Name)}, "update", "lnamespaces", "", lns.Name}} {
		shared.allowed(t, r.name, r.groups, r.verb, r.resource, r.namespace, r.object)
	}
	robot := v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: lns.Name, Name: "robot"}
	sudo := []string{names.SudoGroup(lns.Name)}
	type writer struct {
		name   string
		groups []string
	}
	holders := map[string]writer{
		"user": {"longer-u", nil}, "manager": {"longer-m", nil}, "member of a group": {"longer-x", []string{"longer-group"}},
		"sudoer with sudo":                  {names.SudoerUser(lns.Name, "longer-s"), sudo},
		"member of a group that uses sudo":  {names.SudoUser(lns.Name), sudo},
		"sudoer without sudo, and no group": {"longer-s", nil},
	}
	lists := map[string]func(*v1alpha1.LNamespaceSpec) *[]v1alpha1.Subject{
		"users":    func(s *v1alpha1.LNamespaceSpec) *[]v1alpha1.Subject { return &s.Users },
		"managers": func(s *v1alpha1.LNamespaceSpec) *[]v1alpha1.Subject { return &s.Managers },
		"sudoers":  func(s *v1alpha1.LNamespaceSpec) *[]v1alpha1.Subject { return &s.Sudoers },
	}
	write := func(w writer, list string, change func([]v1alpha1.Subject) []v1alpha1.Subject) error {
		after := lns.DeepCopy()
		of := lists[list](&after.Spec)
		*of = change(slices.Clone(*of))
		return shared.as(t, w.name, w.groups...).Patch(t.Context(), after, client.MergeFrom(lns), client.DryRunAll)
	}
	for who, w := range holders {
		for list := range lists {
			for what, change := range map[string]func([]v1alpha1.Subject) []v1alpha1.Subject{
				"a later end": func(l []v1alpha1.Subject) []v1alpha1.Subject {
					l[1].Until = end.Add(time.Second).UTC().Format(time.RFC3339)
					return l
				},
				"a later end that looks earlier": func(l []v1alpha1.Subject) []v1alpha1.Subject {
					l[1].Until = end.Add(time.Second).In(time.FixedZone("", -11*3600)).Format(time.RFC3339)
					return l
				},
				"no end":           func(l []v1alpha1.Subject) []v1alpha1.Subject { l[1].Until = ""; return l },
				"another name":     func(l []v1alpha1.Subject) []v1alpha1.Subject { return append(l, user("longer-other")) },
				"itself once more": func(l []v1alpha1.Subject) []v1alpha1.Subject { return append(l, user(w.name)) },
				"the group": func(l []v1alpha1.Subject) []v1alpha1.Subject {
					return append(l, v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "longer-group"})
				},
				"a service account":  func(l []v1alpha1.Subject) []v1alpha1.Subject { return append(l, robot) },
				"another for itself": func(l []v1alpha1.Subject) []v1alpha1.Subject { l[1] = user("longer-other"); return l },
			} {
				if what == "itself once more" && slices.Contains(w.groups, names.SudoGroup(lns.Name)) {
					continue // a reserved name
				}
				if err := write(w, list, change); !forbidden(err) {
					t.Errorf("%s, %s: %s: %v", who, list, what, err)
				}
			}
		}
	}
	// To be a manager without an end is no right to change the list of sudoers.
	both := writer{names.SudoerUser(lns.Name, "longer-both"), sudo}
	for list, want := range map[string]bool{"users": true, "managers": true, "sudoers": false} {
		err := write(both, list, func(l []v1alpha1.Subject) []v1alpha1.Subject { return append(l, user("longer-other")) })
		if (err == nil) != want || err != nil && !forbidden(err) {
			t.Errorf("a manager without an end, who is a sudoer with an end, adds to %s: %v", list, err)
		}
	}
	// What ends no later may be added, by those who may change the list at all.
	within := func(l []v1alpha1.Subject) []v1alpha1.Subject { return append(l, until("longer-other", end)) }
	for who, may := range map[string][]string{
		"manager": {"users", "managers"}, "member of a group": {"users", "managers"}, "sudoer with sudo": {"users", "managers", "sudoers"},
		"member of a group that uses sudo": {"users", "managers", "sudoers"}, "user": nil, "sudoer without sudo, and no group": nil,
	} {
		for list := range lists {
			if err := write(holders[who], list, within); slices.Contains(may, list) != (err == nil) {
				t.Errorf("%s adds to %s what ends no later: %v", who, list, err)
			}
		}
	}
	// Who holds the right without an end, or is an administrator, may prolong.
	longer := func(l []v1alpha1.Subject) []v1alpha1.Subject {
		l[1].Until = end.Add(time.Hour).UTC().Format(time.RFC3339)
		return l
	}
	for list, w := range map[string]writer{"users": {"longer-manager", nil}, "managers": {"longer-manager", nil}, "sudoers": {names.SudoerUser(lns.Name, "longer-sudoer"), sudo}} {
		if err := write(w, list, longer); err != nil {
			t.Errorf("%s prolongs: %v", w.name, err)
		}
		if err := write(writer{"root", []string{"system:masters"}}, list, longer); err != nil {
			t.Errorf("the administrator prolongs: %v", err)
		}
	}
}

// TestStrangeEnds checks that the schema refuses ends that Go could not read, so that nobody keeps the
// controller from reading LNamespaces.
//
// Attack: somebody writes an end that the schema takes for a time and the controller can't read, so that it
// reads no LNamespace any more
// Answer: 422; the controller continues
func TestStrangeEnds(t *testing.T) {
	lns := shared.make(t, tenant("strange"))
	for _, end := range []string{
		"tomorrow", "2026-11-27", "2026-11-27T12:00:00", "2026-11-27 12:00:00Z", "2026-11-27t12:00:00z", "2026-11-27T12:00:00.5Z", "2026-11-27T12:00:00+99:00",
		"2026-11-27T12:00:00+0100", "2026-11-27T24:00:00Z", "2026-11-27T12:00:60Z", "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "12026-11-27T12:00:00Z",
		"2026-11-27T12:00:00Z\n", " 2026-11-27T12:00:00Z",
	} {
		content := map[string]any{"spec": map[string]any{"users": []any{map[string]any{"name": "x", "until": end}}}}
		if err := patch(t.Context(), shared.client, lns, types.MergePatchType, content); !apierrors.IsInvalid(err) {
			t.Errorf("%q: %v", end, err)
		}
	}
	for _, end := range []string{"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "2028-02-29T23:59:59+14:00"} {
		shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) {
			s.Users = []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "strange-user", Until: end}}
		})
		if got, want := len(lns.Status.Granted.Users), map[bool]int{true: 1}[end > "2026"]; got != want {
			t.Errorf("%s: %d users", end, got)
		}
	}
}
