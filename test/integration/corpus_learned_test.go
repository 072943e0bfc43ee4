// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/test/integration/harness"
)

// TestCorpusUnderLearnedRoles makes every change of the corpus with callers that may do
// everything, and learns roles from the audit log. It checks that these roles allow all the
// changes, and that each change is refused if its caller lacks one verb of the role.
func TestCorpusUnderLearnedRoles(t *testing.T) {
	scenarios, err := corpus.Load("../corpus")
	if err != nil {
		t.Fatal(err)
	}
	flags, log := harness.LogBodies(t)
	s := harness.StartServer(t, flags...)
	stamps := harness.NewMutatingWebhook(t, s, "stamped-")
	harness.PrepareCorpus(t, s)

	all := func(harness.Question) bool { return true }
	made := map[string]bool{}
	round := func(suffix string, may func(user string) func(harness.Question) bool, each func(id string, got harness.Answer)) {
		for i := range scenarios {
			if scenarios[i].LibraryOnly != "" {
				continue
			}
			for _, way := range waysOf(&scenarios[i]) {
				r := &rehearsal{Server: s, stamps: stamps, s: &scenarios[i], way: way, id: fmt.Sprintf("%d-%s", i, way)}
				r.user = "caller-" + r.id
				if r.s.Final != nil && !r.s.Reset {
					r.user = "stamped-" + r.id
					stamps.SetPatch(r.user, corpus.Diff(r.s.New, r.s.Final))
				}
				id := r.id
				r.id += suffix // each round writes an object of its own
				r.prepare(t)
				s.Callers.AddCallerFunc(r.user, may(r.user))
				each(id, r.send(t, r.request(t)))
			}
		}
	}
	round("-first", func(string) func(harness.Question) bool { return all }, func(id string, got harness.Answer) { made[id] = got.Code < 300 })

	learned := rulesFrom(t, s, log)
	whole, less := outcomes(t, s, log, learned, 0), outcomes(t, s, log, learned, 1)
	for user, found := range whole {
		if found[learn.Refused] > 0 {
			t.Errorf("%s: check refuses requests under the learned rules %v: %v", user, learned[user], found)
		}
	}
	unnoticed := 0
	again, refused := 0, 0
	// RBAC itself asks for these two verbs when a role or binding is written. They grant no
	// field, so learned roles name them only in a comment.
	handed := []string{"bind", "escalate"}
	round("-again", func(user string) func(harness.Question) bool {
		return func(q harness.Question) bool {
			return slices.Contains(handed, q.Verb) || slices.ContainsFunc(learned[user], func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.APIGroups, q.Group) && slices.Contains(r.Resources, q.ResourceWithSubresource()) && slices.Contains(r.Verbs, q.Verb)
			})
		}
	}, func(id string, got harness.Answer) {
		if !made[id] {
			return // the first round was refused for a reason other than rights
		}
		if again++; got.Code >= 300 {
			t.Errorf("%s, under %v: %s", id, append(learned["caller-"+id], learned["stamped-"+id]...), got)
		}
	})
	// The twin: without the last verb of each rule, every change is refused.
	round("-less", func(user string) func(harness.Question) bool {
		return func(q harness.Question) bool {
			return slices.Contains(handed, q.Verb) || slices.ContainsFunc(learned[user], func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.APIGroups, q.Group) && slices.Contains(r.Resources, q.ResourceWithSubresource()) && slices.Contains(r.Verbs[:len(r.Verbs)-1], q.Verb)
			})
		}
	}, func(id string, got harness.Answer) {
		if !made[id] {
			return
		}
		if refused++; got.Code != 403 {
			t.Errorf("%s, without the last verb of %v: %s", id, append(learned["caller-"+id], learned["stamped-"+id]...), got)
		}
		// check must see from the log what the server refuses.
		if found := [2]map[learn.Outcome]int{less["caller-"+id], less["stamped-"+id]}; found[0][learn.Refused]+found[0][learn.Unproven]+found[1][learn.Refused]+found[1][learn.Unproven] == 0 {
			unnoticed++
			t.Errorf("%s, without the last verb of %v, check allows all: %v", id, append(learned["caller-"+id], learned["stamped-"+id]...), found)
		}
	})
	total := map[learn.Outcome]int{}
	for _, found := range whole {
		for outcome, n := range found {
			total[outcome] += n
		}
	}
	t.Logf("%d changes made again under learned roles, %d refused with a verb less, of which check sees all but %d; under the learned roles it says %v", again, refused, unnoticed, total)
	if again < 300 {
		t.Errorf("only %d changes were made", again)
	}
}

// outcomes returns, by user, what check says about the requests of an audit log under rules without
// the last verbs, as many as less.
func outcomes(t *testing.T, s *harness.Server, log string, rules map[string][]rbacv1.PolicyRule, less int) map[string]map[learn.Outcome]int {
	t.Helper()
	out := map[string]map[learn.Outcome]int{}
	read(t, s, log, learn.Options{Each: func(ctx context.Context, d *learn.Demand) {
		var held []string
		for _, r := range rules[d.Subject.Name] {
			if slices.Contains(r.APIGroups, d.Key.Group) && slices.Contains(r.Resources, d.Key.Resource) {
				held = append(held, r.Verbs[:len(r.Verbs)-less]...)
			}
		}
		verdict, err := d.Decide(ctx, held)
		if err != nil {
			t.Fatal(err)
		}
		if out[d.Subject.Name] == nil {
			out[d.Subject.Name] = map[learn.Outcome]int{}
		}
		out[d.Subject.Name][verdict.Outcome]++
	}})
	return out
}

// read reads an audit log.
func read(t *testing.T, s *harness.Server, log string, options learn.Options) *learn.Learner {
	t.Helper()
	found, err := discovery.NewDiscoveryClientForConfig(harness.Config(t, s.Cluster, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	cached := memory.NewMemCacheClient(found)
	learner := learn.New(kinds.New(cached, restmapper.NewDeferredDiscoveryRESTMapper(cached), nil), options)
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := auditlog.Reader{Use: func(line []byte) error { return learner.Use(t.Context(), line) },
		Warn: func(err error) { t.Log(err) }}
	if unread, err := in.Read(log, file); unread > 0 || err != nil {
		t.Fatal(unread, err)
	}
	return learner
}

// rulesFrom returns the rules that are learned from an audit log, by user.
func rulesFrom(t *testing.T, s *harness.Server, log string) map[string][]rbacv1.PolicyRule {
	t.Helper()
	learner := read(t, s, log, learn.Options{})
	out := map[string][]rbacv1.PolicyRule{}
	for _, subject := range learner.Subjects() {
		grants, err := subject.Grants(t.Context(), roles.Options{AnyName: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range grants {
			for _, r := range g.Rules {
				out[subject.Name] = append(out[subject.Name], r.PolicyRule)
			}
		}
	}
	return out
}
