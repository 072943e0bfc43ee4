// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

func newShow(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the people of a tenant, the account that pays and for how long, and what is left over",
		Example: `  # Who is in the tenant books, who pays, and what former members left
  kubectl lns show books`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.complete(o.completeName),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		api, err := o.tenants()
		if err != nil {
			return err
		}
		object, err := api.Get(cmd.Context(), args[0], metav1.GetOptions{})
		if err != nil {
			return explained(err)
		}
		if done, err := o.document(cmd, object.UnstructuredContent()); done || err != nil {
			return err
		}
		t, err := typed(object)
		if err != nil {
			return err
		}
		return show(printing.NewPage(cmd.OutOrStdout(), o.output == "wide"), t, time.Now())
	}
	o.addOutput(cmd, true)
	return cmd
}

// show prints one tenant.
func show(page *printing.Page, t *v1alpha1.LNamespace, now time.Time) error {
	for _, row := range facts(t) {
		if err := printing.Fprintf(page, "%-12s %s\n", row[0]+":", row[1]); err != nil {
			return err
		}
	}
	var people [][]string
	for _, list := range lists {
		granted := list.granted(t)
		for _, s := range list.of(t) {
			rights := "not yet"
			if slices.ContainsFunc(granted, s.Same) {
				rights = "yes"
			}
			people = append(people, []string{list.field, string(s.Bare().Kind), inside(s), rights, s.Until})
		}
	}
	if err := part(page, "No list names anybody.", []string{"LIST", "KIND", "NAME", "GRANTED", "UNTIL"}, people); err != nil {
		return err
	}
	if err := part(page, "No account was billed.", []string{"ACCOUNT", "SINCE", "UNTIL", "TIME"}, periods(t.Status.Billing, now)); err != nil {
		return err
	}
	var left [][]string
	for _, l := range t.Status.Leftovers {
		left = append(left, []string{l.Kind, l.Name, l.Maker})
	}
	if err := part(page, "Nothing is left over.", []string{"LEFT OVER", "NAME", "MADE OR CHANGED BY"}, left); err != nil {
		return err
	}
	return page.Close()
}

// facts returns what is said about a tenant in one line each.
func facts(t *v1alpha1.LNamespace) [][2]string {
	account, namespace, sudo := t.Spec.Billing.Account, "belongs to the tenant", "everything in the namespace"
	if account == "" {
		account = "none"
	}
	switch {
	case t.Status.NamespaceUID == "":
		namespace = "none belongs to the tenant"
	case t.Status.Adopted:
		namespace = "was handed over, and stays when the LNamespace is deleted"
	case t.Spec.DeletionPolicy == v1alpha1.RetainNamespace:
		namespace = "stays when the LNamespace is deleted"
	}
	var allowed []string
	for _, a := range t.Spec.Sudo.Allow {
		allowed = append(allowed, string(a))
	}
	if len(allowed) > 0 {
		sudo += ", and " + strings.Join(allowed, ", ")
	}
	out := [][2]string{{"Tenant", t.Name}, {"Ready", ready(t)}, {"Namespace", namespace}, {"Sudo", sudo}, {"Account", account}}
	for _, c := range t.Status.Conditions {
		if c.Status != metav1.ConditionTrue && c.Message != "" {
			out = append(out, [2]string{c.Type, c.Reason + ": " + c.Message})
		}
	}
	if creator := t.Annotations[names.Creator]; creator != "" {
		out = append(out, [2]string{"Creator", creator})
	}
	return out
}

// periods returns for each billing period that the status has how long its account has paid. What the
// billing table has, and the status no more, is missing.
func periods(b *v1alpha1.BillingStatus, now time.Time) [][]string {
	if b == nil {
		return nil
	}
	var rows [][]string
	for _, p := range b.Pending {
		end := now
		if p.End != nil {
			end = p.End.Time
		}
		rows = append(rows, period(p, end.UTC().Format(time.RFC3339), end))
	}
	if b.Open != nil {
		rows = append(rows, period(*b.Open, "now", now))
	}
	return rows
}

func period(p v1alpha1.BillingPeriod, until string, end time.Time) []string {
	account := p.Account
	if account == "" {
		account = "none"
	}
	return []string{account, p.Start.UTC().Format(time.RFC3339), until, duration.HumanDuration(end.Sub(p.Start.Time))}
}

// part prints a table after an empty line, or a line if the table has no rows.
func part(page *printing.Page, none string, header []string, rows [][]string) error {
	if len(rows) == 0 {
		return printing.Fprintf(page, "\n%s\n", printing.Escaped(none))
	}
	if err := printing.Fprintf(page, "\n"); err != nil {
		return err
	}
	return page.Grouped(1, header, rows)
}

// inside returns the name of a subject, with the namespace of a service account.
func inside(s v1alpha1.Subject) string {
	if s.Kind == v1alpha1.ServiceAccountKind {
		return s.Namespace + "/" + s.Name
	}
	return s.Name
}

// text returns a subject as the commands read it.
func text(s v1alpha1.Subject) string {
	switch s.Kind {
	case v1alpha1.GroupKind:
		return "group:" + s.Name
	case v1alpha1.ServiceAccountKind:
		return "serviceaccount:" + s.Namespace + ":" + s.Name
	}
	if strings.Contains(s.Name, ":") {
		return "user:" + s.Name
	}
	return s.Name
}
