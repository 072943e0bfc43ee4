// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/pkg/cli/ui/model"
)

// soon is the time before its end in which an entry is marked.
const soon = 7 * 24 * time.Hour

// model returns what the page shows of a tenant at a time.
func (t *lnamespace) model(now time.Time, open []model.SudoRequest) model.Tenant {
	s := &t.Spec
	out := model.Tenant{
		Name: t.Name, Ready: t.ready(), Account: s.Billing.Account, Facts: t.facts(), People: []model.Person{},
		Members:  count(len(s.Users), "user") + ", " + count(len(s.Managers), "manager") + ", " + count(len(s.Sudoers), "sudoer"),
		Requests: open, Leftovers: t.Status.Leftovers,
	}
	granted := t.Status.Granted
	for _, list := range []struct {
		name          string
		have, granted []member
	}{{"users", s.Users, granted.Users}, {"managers", s.Managers, granted.Managers}, {"sudoers", s.Sudoers, granted.Sudoers}} {
		for _, m := range list.have {
			isSame := func(other member) bool { return other.bare() == m.bare() }
			word, name := m.subject()
			out.People = append(out.People, model.Person{List: list.name, Word: word, Name: name, Until: m.Until,
				Granted: slices.ContainsFunc(list.granted, isSame), End: ending(m.Until, now)})
		}
	}
	for _, p := range t.Status.Billing.Pending {
		out.Periods = append(out.Periods, p.model())
	}
	if p := t.Status.Billing.Open; p != nil {
		out.Periods = append(out.Periods, p.model())
	}
	return out
}

// ending returns what the end of an entry means. An end that can't be read has passed.
func ending(until string, now time.Time) string {
	if until == "" {
		return ""
	}
	end, err := time.Parse(time.RFC3339, until)
	switch left := end.Sub(now); {
	case err != nil || left <= 0:
		return model.Ended
	case left <= soon:
		return model.Soon
	}
	return ""
}

func (p *period) model() model.Period {
	out := model.Period{Account: p.Account, Start: p.Start.UTC().Format(time.RFC3339)}
	if p.End != nil {
		out.End = p.End.UTC().Format(time.RFC3339)
	}
	return out
}

// ready returns the condition Ready, or the reason why it is not True.
func (t *lnamespace) ready() string {
	i := slices.IndexFunc(t.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Ready" })
	switch {
	case t.DeletionTimestamp != nil:
		return "being deleted"
	case i < 0:
		return "unknown"
	}
	c := t.Status.Conditions[i]
	switch {
	case c.Status != metav1.ConditionTrue:
		return "no: " + c.Reason
	case c.ObservedGeneration != t.Generation:
		return "not yet"
	}
	return "yes"
}

// facts returns what is said about a tenant in one line each, in the words of kubectl lns.
func (t *lnamespace) facts() [][2]string {
	namespace, sudo := "belongs to the tenant", "everything in the namespace"
	switch {
	case t.Status.NamespaceUID == "":
		namespace = "none belongs to the tenant"
	case t.Status.Adopted:
		namespace = "was handed over, and stays when the LNamespace is deleted"
	case t.Spec.DeletionPolicy == "Retain":
		namespace = "stays when the LNamespace is deleted"
	}
	if len(t.Spec.Sudo.Allow) > 0 {
		sudo += ", and " + strings.Join(t.Spec.Sudo.Allow, ", ")
	}
	out := [][2]string{{"Ready", t.ready()}, {"Namespace", namespace}, {"Sudo", sudo}}
	if s := t.Spec.Sudo; s.Approval != "" || s.MaxDuration != "" {
		text := "on request, for " + cmp.Or(s.MaxDuration, "8h") + " at most"
		if s.Approval != "" {
			text += ", and somebody else approves"
		}
		out = append(out, [2]string{"Sudo is", text})
	}
	out = append(out, [2]string{"Account", cmp.Or(t.Spec.Billing.Account, "none")})
	for _, c := range t.Status.Conditions {
		if c.Status != metav1.ConditionTrue && c.Message != "" {
			out = append(out, [2]string{c.Type, c.Reason + ": " + c.Message})
		}
	}
	if creator := t.Annotations[tenancyGroup+"/creator"]; creator != "" {
		out = append(out, [2]string{"Creator", creator})
	}
	return out
}
