// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/printing"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// RestoreOptions are the options of a plan that restores tenants.
type RestoreOptions struct {
	// IsReserved reports whether a name is reserved for everybody.
	IsReserved func(name string) bool
	// OtherNamespaces is true if the namespaces have been restored too, so that they have other UIDs than in the backup. Then
	// their annotations say whose they were.
	OtherNamespaces bool
}

// Restore returns the plan that makes the LNamespaces of a backup again and hands their namespaces over. A backup also has
// LNamespaces that never had a namespace: everybody may create them, with a name of somebody else's namespace. So only
// those count of whose namespace the controller recorded that it was theirs. It changes nothing.
func Restore(ctx context.Context, api client.Client, wishes []Wish, o RestoreOptions) (*Plan, error) {
	s, err := load(ctx, api, wishes)
	if err != nil {
		return nil, err
	}
	plan := &Plan{}
	for _, w := range wishes {
		if w.Backup == nil { // a Namespace of the files
			continue
		}
		n := s.restored(w, o)
		if n.State == Adopt && !n.exists {
			made := n.tenant.DeepCopy()
			if err := api.Create(ctx, made, client.DryRunAll); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				n.State, n.Reason = Refused, "the server refuses the LNamespace: "+err.Error()
			} else if field := mismatch(made.Spec, n.Spec); field != "" { // such as by the webhook of an earlier version
				n.State, n.Reason = Refused, fmt.Sprintf("a webhook gives the LNamespace another %s than the backup has; set it in the file", field)
			}
		}
		plan.Namespaces = append(plan.Namespaces, n)
	}
	return plan, nil
}

// restored returns the plan for one LNamespace of a backup.
func (s *state) restored(w Wish, o RestoreOptions) Namespace {
	t, ns := s.tenants[w.Name], s.namespaces[w.Name]
	n := Namespace{Name: w.Name, State: Refused, Spec: w.Tenant.Spec, tenant: allowed(w.Tenant), exists: t != nil, former: w.Backup.UID}
	if ns != nil && t != nil && t.DeletionTimestamp == nil && ns.DeletionTimestamp == nil && belongs(ns, t) {
		// The LNamespace of the backup may have changed since then. Another one may be anybody's, with a namespace of its own.
		field := mismatch(t.Spec, w.Tenant.Spec)
		if field == "" && len(t.OwnerReferences) > 0 {
			field = "metadata.ownerReferences"
		}
		if field != "" && t.UID != w.Backup.UID {
			n.Reason = fmt.Sprintf("the namespace belongs to another LNamespace, whose %s is not as in the backup; "+
				"look who made it, and restore no contents there", field)
			return n
		}
		n.State, n.tenant, n.Spec = Adopted, t, t.Spec
		return n
	}
	if n.Reason = unrecorded(w.Backup); n.Reason == "" {
		n.Reason = unmatched(w, ns, t, o)
	}
	if n.Reason != "" {
		return n
	}
	if t != nil {
		n.tenant, n.Spec = t, t.Spec
	}
	n.State, n.uid = Adopt, ns.UID
	return n
}

// unrecorded returns why the backup does not say that the namespace belonged to the LNamespace, or an empty string.
func unrecorded(backup *v1alpha1.LNamespace) string {
	ready := meta.FindStatusCondition(backup.Status.Conditions, v1alpha1.ConditionNamespaceReady)
	switch {
	case backup.Status.NamespaceUID == "":
		return "in the backup, it had no namespace: status.namespaceUID is missing"
	case ready != nil && ready.Status != metav1.ConditionTrue: // the controller writes the UID first
		return fmt.Sprintf("in the backup, its namespace was not its own: the condition %s is not True, because of %s",
			ready.Type, ready.Reason)
	case backup.DeletionTimestamp != nil:
		return "in the backup, it was being deleted: metadata.deletionTimestamp is set"
	case backup.UID == "":
		return "the backup is not complete: metadata.uid is missing"
	}
	return ""
}

// unmatched returns why what the cluster has of a tenant is not what the backup has, or an empty string.
func unmatched(w Wish, ns *metav1.PartialObjectMetadata, t *v1alpha1.LNamespace, o RestoreOptions) string {
	switch {
	case o.IsReserved(w.Name):
		return "it is a namespace of the system"
	case ns == nil:
		return "its namespace does not exist: restore it first"
	case ns.DeletionTimestamp != nil:
		return "its namespace is being deleted"
	case ns.UID != w.Backup.Status.NamespaceUID && !o.OtherNamespaces:
		return "the namespace is another one than in the backup; if you restored the namespaces too, give --restored-namespaces"
	}
	if t != nil {
		field := mismatch(t.Spec, w.Tenant.Spec)
		switch {
		case t.DeletionTimestamp != nil:
			return "its LNamespace is being deleted"
		case field != "":
			return fmt.Sprintf("somebody created the LNamespace with another %s than in the backup; delete it", field)
		case len(t.OwnerReferences) > 0:
			return "somebody created the LNamespace with owners, with which the garbage collector would delete it"
		}
	}
	if reason := foreign(ns, t, w.Backup.UID); reason != "" {
		return reason
	}
	if _, uid := owner(ns); ns.UID != w.Backup.Status.NamespaceUID && uid != string(w.Backup.UID) {
		return fmt.Sprintf("the namespace has another UID than in the backup, and neither its annotation %s nor %s has the UID of the "+
			"LNamespace there, so it may be that of somebody else; look at it, and use adopt", names.AdoptedBy, names.CreatedFor)
	}
	return ""
}

// mismatch is like differs for the LNamespace of a backup: if the backup names no account, none pays.
func mismatch(now, backup v1alpha1.LNamespaceSpec) string {
	field := differs(now, backup)
	if field == "" && now.Billing.Account != backup.Billing.Account {
		return "spec.billing.account"
	}
	return field
}

// WriteRestore writes the plan as a table: what each namespace gives to whom, and which ones are refused.
func (p *Plan) WriteRestore(out io.Writer, wide bool) error {
	page := printing.NewPage(out, wide)
	count := map[State]int{}
	table := page.Begin("NAMESPACE", "PLAN", "USERS", "MANAGERS", "SUDOERS", "ALLOWANCES", "REASON")
	for _, n := range p.Namespaces {
		count[n.State]++
		plan := string(n.State)
		if n.State == Adopt {
			plan = "hand over"
		}
		var allowances []string
		for _, a := range n.Spec.Sudo.Allow {
			allowances = append(allowances, string(a))
		}
		if err := table.Row(n.Name, plan, everyone(page, n.Spec.Users), everyone(page, n.Spec.Managers), everyone(page, n.Spec.Sudoers),
			some(page, allowances), n.Reason); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := page.Close(); err != nil {
		return err
	}
	return printing.Fprintf(page, "\nNothing was changed. %d to hand over (--apply), %d adopted, %d refused.\n",
		count[Adopt], count[Adopted], count[Refused])
}

// everyone returns a list of people as the text of a cell.
func everyone(page *printing.Page, list []v1alpha1.Subject) string {
	var all []string
	for _, s := range withKinds(list) {
		all = append(all, strings.TrimPrefix(words(s.Bare()), "User "))
	}
	return some(page, all)
}
