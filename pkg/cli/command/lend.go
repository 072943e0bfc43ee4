// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityclient "kube-granular.dev/api/client/clientset/versioned/typed/authority/v1alpha1"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/cli/lend"
	"kube-granular.dev/pkg/cli/output"
)

// lendFlags are the flags of lend.
type lendFlags struct {
	format                              output.Flag
	role, to, reason, file              string
	list                                bool
	show, revoke, renew                 string
	duration                            time.Duration
	everywhere, createNamespace         bool
	printToken, dryRun, evenIfOthersCan bool
}

func newLend(s *options) *cobra.Command {
	o := &lendFlags{}
	cmd := &cobra.Command{
		Use:   "lend (--role ROLE --to NAMESPACE/NAME | --list | --show NAMESPACE/NAME | --renew NAMESPACE/NAME | --revoke NAMESPACE/NAME)",
		Short: "Lend a role for a time, as a kubeconfig that any client can use",
		Long: `Lend a role for a time, as a kubeconfig that any client can use.

The command makes a service account, a delegation of the role to it, and a kubeconfig with a token of
the account. Each request of the account has the authority of the delegation, and no other: at most
what the role allowed when it was lent, and never more than you may do at the moment of the request.
When the delegation ends, the account has discovery and reviews about itself, and nothing else. The
audit log names you behind each request.

Before it makes anything, the command prints what the account will be able to do, and who else could
use the account: everybody who can get its token, or run or enter pods that run as it, by bindings or
delegations. If there are such subjects, it makes nothing without --yes. Kubernetes' own components,
system:masters and the service accounts of kube-system are counted, but not listed. Not looked at is who
may grant rights (bind, escalate) or approve certificates, and who gets the verb granular and a
permission by different subjects, such as two groups. If a step fails, the command removes what it made
before.

The namespace of the account is that of --to. The role is lent in the namespace of -n, or in the whole
cluster with --everywhere. You need the role's permissions yourself, and create on authoritydelegations
and serviceaccounts, update on the account, and create on serviceaccounts/token.

The server refuses some requests to every such account: impersonation, tokens, certificates, and
connections to pods, services and nodes (exec, attach, port-forward, proxy), because what is started
there would not end with the delegation.

To renew means a new delegation of the same role, with the rules that it has now, and a new token. It
prints the same, and makes nothing without --yes if there are others. All who lent to the account before
you are among them, and have a token. To revoke removes the delegation and the account: running watches
end within two seconds. The server removes an ended delegation and its account after a day. An account
that was not made for the delegation is left alone: it gets no other delegation, and to revoke ends only
the delegation. With --dry-run, each of them prints what it would do; so does -o yaml, with the objects
that would be made.`,
		Example: indentExamples(`
			# What would be made, and who could use it?
			kubectl granular lend --role clusterrole/view -n default --to default/agent --for 2h --dry-run

			# The objects, for review
			kubectl granular lend --role clusterrole/view -n default --to default/agent --for 2h -o yaml

			# Lend for two hours
			kubectl granular lend --role clusterrole/view -n default --to default/agent --for 2h --reason TICKET-7 --output agent.kubeconfig --yes

			# What is lent?
			kubectl granular lend --list

			# What may this account do, and until when?
			kubectl granular lend --show default/agent

			# One hour more
			kubectl granular lend --renew default/agent --for 1h --output agent-2.kubeconfig --yes

			# End it now
			kubectl granular lend --revoke default/agent`),
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			l, err := s.lender()
			if err != nil {
				return err
			}
			switch {
			case o.list:
				return s.listLent(cmd.Context(), l, o)
			case o.show != "":
				return s.showLent(cmd.Context(), l, o)
			case o.revoke != "":
				return s.revokeLent(cmd.Context(), l, o)
			case o.renew != "":
				return s.renewLent(cmd.Context(), l, o)
			}
			return s.lend(cmd.Context(), l, o)
		},
	}
	o.addTo(cmd)
	return cmd
}

func (o *lendFlags) addTo(cmd *cobra.Command) {
	o.format.AddAs(cmd, "format", output.Formats...)
	flags := cmd.Flags()
	flags.StringVar(&o.role, "role", "", "what to lend: clusterrole/NAME, or role/NAME of the namespace")
	flags.StringVar(&o.to, "to", "", "the NAMESPACE/NAME of the service account to make")
	flags.DurationVar(&o.duration, "for", time.Hour, "for how long, such as 2h or 30m")
	flags.StringVar(&o.reason, "reason", "", "why, for everybody who lists or shows what is lent")
	flags.StringVar(&o.file, "output", "", "the new file for the kubeconfig; only its owner can read it")
	flags.BoolVar(&o.printToken, "print", false, "print the kubeconfig with the token, instead of --output")
	flags.BoolVar(&o.everywhere, "everywhere", false, "lend the role in the whole cluster, not in one namespace")
	flags.BoolVar(&o.createNamespace, "create-namespace", false, "make the namespace of --to if there is none")
	flags.BoolVar(&o.evenIfOthersCan, "yes", false, "lend or renew even if others can use the service account, or if it is not known who can")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be lent, renewed or revoked, and change nothing")
	flags.BoolVar(&o.list, "list", false, "list what is lent")
	flags.StringVar(&o.show, "show", "", "show what is lent to this service account, NAMESPACE/NAME")
	flags.StringVar(&o.renew, "renew", "", "lend the same to this service account, NAMESPACE/NAME, again, until the time that --for gives")
	flags.StringVar(&o.revoke, "revoke", "", "end what is lent to this service account, NAMESPACE/NAME, and remove the account")
	cmd.MarkFlagsMutuallyExclusive("role", "list", "show", "renew", "revoke")
	cmd.MarkFlagsMutuallyExclusive("output", "print")
	// What a flag says must not be ignored: somebody who asks for a dry run must not revoke.
	for action, without := range map[string][]string{
		"list":   {"to", "for", "reason", "output", "print", "everywhere", "create-namespace", "yes", "dry-run"},
		"show":   {"to", "for", "reason", "output", "print", "everywhere", "create-namespace", "yes", "dry-run"},
		"revoke": {"to", "for", "reason", "output", "print", "everywhere", "create-namespace", "yes"},
		"renew":  {"to", "everywhere", "create-namespace"},
	} {
		for _, flag := range without {
			cmd.MarkFlagsMutuallyExclusive(action, flag)
		}
	}
	_ = cmd.MarkFlagFilename("output")
	for _, flag := range []string{"show", "renew", "revoke", "to", "for", "reason"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
}

// makes reports whether the command makes a token.
func (o *lendFlags) makes() bool {
	return !o.list && o.show == "" && o.revoke == "" && !o.dryRun && !o.forPrograms()
}

// forPrograms reports whether the output is objects: what would be made, and nothing is made.
func (o *lendFlags) forPrograms() bool { return o.format.Is("yaml") || o.format.Is("json") }

func (o *lendFlags) validate() error {
	if err := o.format.Validate(); err != nil {
		return err
	}
	switch {
	case o.revoke != "" && o.forPrograms() && !o.dryRun:
		return errors.New("--revoke prints no objects; with --dry-run, it prints what would be removed")
	case o.list || o.show != "" || o.revoke != "":
		return nil
	}
	switch {
	case o.renew == "" && (o.role == "" || o.to == ""):
		return errors.New("--role and --to are missing; kubectl granular lend --help shows the usage")
	case o.duration < time.Minute:
		return errors.New("--for: lend for a minute or longer")
	case o.makes() && o.file == "" && !o.printToken:
		return errors.New("name a new file for the kubeconfig with --output, or print the token with --print")
	}
	if o.reason != "" {
		if err := selection.CheckReason(o.reason); err != nil {
			return fmt.Errorf("--reason: %w", err)
		}
	}
	return nil
}

func (s *options) lender() (*lend.Lender, error) {
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	authority, err := authorityclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &lend.Lender{Client: client, Authority: authority, Config: config, Now: time.Now}, nil
}

// terms returns what the flags ask for.
func (s *options) terms(l *lend.Lender, o *lendFlags) (*lend.Terms, error) {
	role, err := lend.ParseRole(o.role)
	if err != nil {
		return nil, fmt.Errorf("--role: %w", err)
	}
	account, err := lend.ParseAccount(o.to)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	scope := v1alpha1.DelegationScope{Cluster: o.everywhere}
	if !o.everywhere {
		if scope.Namespace, _, err = s.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, err
		}
	} else if role.Kind == "Role" {
		return nil, errors.New("--everywhere needs a clusterrole: a role is of one namespace")
	}
	return &lend.Terms{Role: role, Scope: scope, Account: account, Until: l.Now().Add(o.duration), Reason: o.reason, CreateNamespace: o.createNamespace}, nil
}

// lend lends a role to a new account.
func (s *options) lend(ctx context.Context, l *lend.Lender, o *lendFlags) error {
	t, err := s.terms(l, o)
	if err != nil {
		return err
	}
	plan, err := l.Plan(ctx, t)
	if err != nil {
		return err
	}
	return s.carryOut(l, o, t, plan, t.Objects(), func(store storeLoan) (*lend.Loan, error) { return l.Make(ctx, t, store) })
}

// storeLoan stores the kubeconfig of a loan.
type storeLoan = func(*lend.Loan) error

// carryOut prints a plan, and then makes what it says: objects, unless others can use the account and nobody said that it may be so.
func (s *options) carryOut(
	l *lend.Lender, o *lendFlags, t *lend.Terms, plan *lend.Plan, objects []any, made func(storeLoan) (*lend.Loan, error),
) error {
	if o.forPrograms() {
		return s.printObjects(o, objects...)
	}
	// With --print, standard output is for the kubeconfig alone.
	out := s.streams.Out
	if o.printToken {
		out = s.streams.ErrOut
	}
	page := printing.NewPage(out, o.format.Is("wide"))
	if err := errors.Join(printPlan(page, t, plan), page.Close()); err != nil || o.dryRun {
		return err
	}
	if !o.evenIfOthersCan && (plan.Unknown != "" || len(plan.Others) > 0) {
		return errors.New("nothing was made: others can use the service account, or it is not known who can; " +
			"choose a namespace that is only yours, or lend to it with --yes")
	}
	loan, err := s.storing(l, o, t.Scope.Namespace, made)
	if err != nil {
		return err
	}
	return printing.Fprintf(s.streams.ErrOut, "%s", ends(loan))
}

// printObjects prints what would be made.
func (s *options) printObjects(o *lendFlags, objects ...any) error {
	if o.format.Is("yaml") {
		return printing.YAML(s.streams.Out, objects...)
	}
	return printing.JSON(s.streams.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
}

// storing opens the file for the kubeconfig before anything is made, and removes it again if making fails.
func (s *options) storing(l *lend.Lender, o *lendFlags, namespace string, made func(storeLoan) (*lend.Loan, error)) (*lend.Loan, error) {
	write, remove := func(content []byte) error { _, err := s.streams.Out.Write(content); return err }, func() error { return nil }
	if o.file != "" {
		file, err := lend.NewFile(o.file)
		if err != nil {
			return nil, err
		}
		write, remove = file.Write, file.Remove
	}
	stored := false
	loan, err := made(func(loan *lend.Loan) error {
		content, err := lend.Kubeconfig(l.Config, namespace, loan)
		if err == nil {
			err = write(content)
		}
		stored = err == nil
		return err
	})
	if err != nil && !stored {
		err = errors.Join(err, remove())
	}
	return loan, err
}

func ends(loan *lend.Loan) printing.Escaped {
	text := printing.Sprintf("%s acts under AuthorityDelegation %s until %s.\n", loan.Account.String(), loan.Delegation, loan.Until.UTC().Format(time.RFC3339))
	if loan.TokenUntil.Before(loan.Until.Add(-time.Second)) {
		text += printing.Sprintf("The server shortened the life of the token: it expires at %s. Get another with --renew.\n", loan.TokenUntil.UTC().Format(time.RFC3339))
	}
	return text
}

func printPlan(page *printing.Page, t *lend.Terms, plan *lend.Plan) error {
	where := "in namespace " + t.Scope.Namespace
	if t.Scope.Cluster {
		where = "in the whole cluster"
	}
	failed := printing.Fprintf(page, "%s will be able to do this %s until %s, as long as you may do it:\n", t.Account.String(), where, t.Until.UTC().Format(time.RFC3339))
	failed = errors.Join(failed, rulesTable(page, plan.Rules))
	for _, note := range plan.Notes {
		failed = errors.Join(failed, printing.Fprintf(page, "%s\n", note))
	}
	if len(plan.Own) > 0 {
		const own = "RBAC gives the service account permissions of its own, which count on a server without the feature gate: %s.\n"
		failed = errors.Join(failed, printing.Fprintf(page, own, strings.Join(plan.Own, ", ")))
	}
	if len(plan.Others) > 0 {
		var rows [][]string
		for _, other := range plan.Others {
			rows = append(rows, []string{other.Subject, other.By, other.Binding})
		}
		failed = errors.Join(failed, printing.Fprintf(page, "These can use the service account, too:\n"), page.Table([]string{"SUBJECT", "BY", "BINDING"}, rows))
	}
	switch {
	case plan.Unknown != "":
		failed = errors.Join(failed, printing.Fprintf(page, "It is not known who else could use the service account: %s\n", plan.Unknown))
	case len(plan.Others) == 0:
		const nobody = "By RBAC and delegations, nobody else can use the service account, except Kubernetes itself, " +
			"who may grant rights (bind, escalate) or approve certificates, " +
			"and who gets the verb granular and a permission by different subjects, such as two groups.\n"
		failed = errors.Join(failed, printing.Fprintf(page, nobody))
	}
	if plan.Unknown == "" {
		failed = errors.Join(failed, printing.Fprintf(page, "Kubernetes itself can, by %d subjects that are not listed: "+
			"system:masters, the control plane, nodes, service accounts of kube-system.\n", plan.Components))
	}
	return failed
}

func rulesTable(page *printing.Page, rules []rbacv1.PolicyRule) error {
	var rows [][]string
	for _, r := range rules {
		what := qualifiedAll(r)
		if len(r.NonResourceURLs) > 0 {
			what = strings.Join(r.NonResourceURLs, ",")
		}
		rows = append(rows, []string{what, orNone(strings.Join(r.ResourceNames, ",")), strings.Join(r.Verbs, " ")})
	}
	return page.Table([]string{"RESOURCES", "NAMES", "VERBS"}, rows)
}

// listLent prints what is lent.
func (s *options) listLent(ctx context.Context, l *lend.Lender, o *lendFlags) error {
	all, err := l.List(ctx)
	if err != nil {
		return err
	}
	return o.format.Print(s.streams.Out, map[string]any{"items": all}, func(page *printing.Page) error {
		var rows [][]string
		for i := range all {
			d := &all[i]
			rows = append(rows, []string{lend.AccountOf(d).String(), d.Status.Delegator.Username, lentRole(d), lentScope(d), lentUntil(d, l.Now()),
				orNone(d.Annotations[selection.ReasonAnnotation]), d.Name})
		}
		return page.Table([]string{"ACCOUNT", "LENDER", "WHAT", "WHERE", "UNTIL", "REASON", "DELEGATION"}, rows)
	})
}

func lentRole(d *v1alpha1.AuthorityDelegation) string {
	if d.Spec.RoleRef == nil {
		return fmt.Sprintf("%d rules", len(d.Spec.Rules))
	}
	return d.Spec.RoleRef.Kind + "/" + d.Spec.RoleRef.Name
}

func lentScope(d *v1alpha1.AuthorityDelegation) string {
	return cmp.Or(d.Spec.Scope.Namespace, "<cluster>")
}

func lentUntil(d *v1alpha1.AuthorityDelegation, now time.Time) string {
	end := d.Status.ExpirationTimestamp
	switch {
	case end == nil:
		return "<no end>"
	case end.Time.Before(now):
		return "ended"
	}
	return end.UTC().Format(time.RFC3339)
}

// findLent returns the delegation that is lent to the account that a flag names. The namespace is part of the name: an account
// of the same name in another namespace is another one.
func findLent(ctx context.Context, l *lend.Lender, flag, name string) (*v1alpha1.AuthorityDelegation, error) {
	account, err := lend.ParseAccount(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return l.Find(ctx, account)
}

// showLent prints what is lent to one account.
func (s *options) showLent(ctx context.Context, l *lend.Lender, o *lendFlags) error {
	d, err := findLent(ctx, l, "show", o.show)
	if err != nil {
		return err
	}
	return o.format.Print(s.streams.Out, d, func(page *printing.Page) error {
		failed := printing.Fprintf(page, "%s lends %s to %s, until %s. It allows this %s, as long as the lender may do it:\n", d.Status.Delegator.Username, lentRole(d),
			lend.AccountOf(d).String(), lentUntil(d, l.Now()), lentScope(d))
		failed = errors.Join(failed, rulesTable(page, d.Status.Rules))
		for _, problem := range d.Status.Problems {
			failed = errors.Join(failed, printing.Fprintf(page, "%s\n", problem))
		}
		return failed
	})
}

// revokeLent ends what is lent to one account.
func (s *options) revokeLent(ctx context.Context, l *lend.Lender, o *lendFlags) error {
	d, err := findLent(ctx, l, "revoke", o.revoke)
	if err != nil {
		return err
	}
	account := lend.AccountOf(d).String()
	if o.dryRun {
		kept, err := l.Kept(ctx, d)
		if err != nil {
			return err
		}
		return o.format.Print(s.streams.Out, d, func(page *printing.Page) error {
			switch kept {
			case "":
				return printing.Fprintf(page, "AuthorityDelegation %s would end, and the service account %s would be removed.\n", d.Name, account)
			case lend.Absent:
				return printing.Fprintf(page, "AuthorityDelegation %s would end. The service account %s is gone already.\n", d.Name, account)
			default:
				const alone = "AuthorityDelegation %s would end. The service account %s was not made for it, and would be left alone: %s.\n"
				return printing.Fprintf(page, alone, d.Name, account, kept)
			}
		})
	}
	kept, err := l.Revoke(ctx, d)
	if err != nil {
		return err
	}
	switch kept {
	case "":
		return printing.Fprintf(s.streams.ErrOut, "%s has no permissions any more, and is removed.\n", account)
	case lend.Absent:
		const gone = "AuthorityDelegation %s has ended. The service account %s was gone already.\n"
		return printing.Fprintf(s.streams.ErrOut, gone, d.Name, account)
	default:
		const alone = "AuthorityDelegation %s has ended. The service account %s was not made for it, and is left alone: %s.\n"
		return printing.Fprintf(s.streams.ErrOut, alone, d.Name, account, kept)
	}
}

// renewLent lends the same to one account until another time.
func (s *options) renewLent(ctx context.Context, l *lend.Lender, o *lendFlags) error {
	d, err := findLent(ctx, l, "renew", o.renew)
	if err != nil {
		return err
	}
	renewal, err := l.Renewal(ctx, d, l.Now().Add(o.duration), o.reason)
	if err != nil {
		return err
	}
	plan, err := l.PlanRenewal(ctx, renewal)
	if err != nil {
		return err
	}
	return s.carryOut(l, o, renewal.Terms, plan, []any{renewal.Delegation}, func(store storeLoan) (*lend.Loan, error) {
		return l.Renew(ctx, renewal, store)
	})
}
