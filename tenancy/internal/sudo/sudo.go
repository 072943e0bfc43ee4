// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/build"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/kubectl"
	"kube-granular.dev/tenancy/internal/names"
)

// Streams are the standard streams of a command.
type Streams struct {
	In          io.Reader
	Out, ErrOut io.Writer
}

// Run runs kubectl sudo with its arguments, and returns the exit code. path is the path of
// kubectl.
func Run(ctx context.Context, path string, args []string, s Streams) (int, error) {
	if len(args) > 0 && args[0] == completeCommand {
		return exitCode(complete(ctx, path, args[1:], s.Out))
	}
	if isAboutRequests(args) {
		return exitCode(requestsCommand(path, args, s).ExecuteContext(ctx))
	}
	a, err := Parse(args)
	if err != nil {
		return exitCode(usageError(err))
	}
	if a.Help {
		return exitCode(printing.Fprintf(s.Out, "%s", printing.Escaped(help)))
	}
	if a.Version {
		return exitCode(printing.Fprintf(s.Out, "%s\n", build.Version()))
	}
	if a.Shell != "" {
		return exitCode(shell(a.Shell, s.Out))
	}
	k := kubectl.Kubectl{Path: path, Global: a.Global}
	me, err := k.WhoAmI(ctx)
	if err != nil {
		return 1, err
	}
	if a.List {
		return exitCode(list(ctx, k, me, printing.NewPage(s.Out, a.Wide)))
	}
	tenant := a.Tenant
	if tenant == "" {
		tenant = a.Namespace
	}
	byContext := tenant == ""
	if byContext {
		if tenant, err = k.Namespace(ctx); err != nil {
			return 1, err
		}
	}
	by, err := delegation(ctx, k, me, tenant)
	if err != nil {
		return 1, err
	}
	if by != nil {
		flags, err := withDelegation(by, a)
		if err != nil {
			return 1, err
		}
		return k.Run(ctx, s.In, s.Out, s.ErrOut, flags...)
	}
	user, err := impersonatedUser(ctx, k, me.Username, tenant)
	if errors.Is(err, errNoSudoer) && byContext {
		err = withHint(ctx, k, me, tenant, err)
	}
	if err != nil {
		return 1, err
	}
	flags := append([]string{}, a.Global...)
	flags = append(flags, "--as="+user, "--as-group="+names.SudoGroup(tenant))
	if a.Reason != "" {
		flags = append(flags, "--as-user-extra="+grants.ReasonExtra+"="+a.Reason)
	}
	return k.Run(ctx, s.In, s.Out, s.ErrOut, append(flags, a.Command...)...)
}

// usageError returns the error for wrong flags or arguments of kubectl sudo itself, as other plugins print it.
func usageError(err error) error {
	return kubectl.UsageError(&cobra.Command{Use: "kubectl-sudo", Annotations: display}, err)
}

// display is how messages and help call the command.
var display = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl sudo"}

// exitCode returns the exit code of the process, which is 1 for an error and 0 for nil, and err.
func exitCode(err error) (int, error) {
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// errNoSudoer is the error if the caller is no sudoer of a tenant.
var errNoSudoer = errors.New("is no sudoer")

// impersonatedUser returns the name of the user to impersonate together with the sudoer group of
// the tenant, because a request can't impersonate only a group. It is the user that exists for the
// caller alone, if the caller may impersonate it. If not, the caller is a service account, or a sudoer
// as a member of a group: then the user is the one that names.SudoUser returns.
func impersonatedUser(ctx context.Context, k kubectl.Kubectl, me, tenant string) (string, error) {
	group := names.SudoGroup(tenant)
	may, err := k.CanI(ctx, "impersonate", "groups", group)
	if err != nil {
		return "", err
	}
	if !may {
		return "", fmt.Errorf("%s %w of %q: nothing is delegated to it, and it may not impersonate the group %s%s",
			me, errNoSudoer, tenant, group, requestHint(ctx, k, tenant))
	}
	for _, user := range []string{names.SudoerUser(tenant, me), names.SudoUser(tenant)} {
		may, err := k.CanI(ctx, "impersonate", "users", user)
		if err != nil {
			return "", err
		}
		if may {
			return user, nil
		}
	}
	return "", fmt.Errorf("%s may impersonate the group %s, but no user together with it: check that the tenancy controller runs, and retry", me, group)
}

// list prints the tenants in which the caller may use sudo.
func list(ctx context.Context, k kubectl.Kubectl, me kubectl.User, page *printing.Page) error {
	rows, err := tenants(ctx, k, me)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return printing.Fprintf(page, "%s is a sudoer of no tenant\n", me.Username)
	}
	if err := page.Table([]string{"TENANT", "ALLOWED", "BY"}, rows); err != nil {
		return err
	}
	return page.Close()
}

// tenants returns a row for each tenant in which the caller may use sudo, by delegation or by impersonation:
// its name, what is allowed, and how. To save requests, it asks the server whether the caller may
// impersonate the sudoer group of a tenant only if the rules of the caller, which it reads once, seem to
// allow this.
func tenants(ctx context.Context, k kubectl.Kubectl, me kubectl.User) ([][]string, error) {
	text, err := k.Output(ctx, "get", "lnamespaces.tenancy.kube-granular.dev", "--output", "json")
	if err != nil {
		return nil, err
	}
	all := v1alpha1.LNamespaceList{}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	rules, err := k.Rules(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for i := range all.Items {
		t := &all.Items[i]
		group := names.SudoGroup(t.Name)
		how := "group " + group
		if d := delegationTo(t, me); d != nil {
			how = "delegation " + d.Delegation
		} else {
			covers := func(r kubectl.Rule) bool { return r.Covers("impersonate", "", "groups", group) }
			if len(t.Status.Granted.Sudoers) == 0 || !slices.ContainsFunc(rules, covers) {
				continue
			}
			may, err := k.CanI(ctx, "impersonate", "groups", group)
			if err != nil {
				return nil, err
			}
			if !may {
				continue
			}
		}
		allowed := ""
		for _, a := range t.Spec.Sudo.Allow {
			allowed += " " + string(a)
		}
		if allowed != "" {
			allowed = " and" + allowed
		}
		rows = append(rows, []string{t.Name, "everything in the namespace" + allowed, how})
	}
	return rows, nil
}

// shell prints the definition of the function ksudo for the shell with this name. Without
// arguments, ksudo runs the last command of the shell again with sudo. In shells that expand !!,
// the command kubectl sudo !! does the same without the function.
func shell(name string, out io.Writer) error {
	text, ok := map[string]string{
		"bash": "ksudo() { if [ $# -eq 0 ]; then eval \"kubectl sudo $(HISTTIMEFORMAT= history 2 | sed -n '1s/^ *[0-9]*[* ]*//p')\"; else kubectl sudo \"$@\"; fi; }\n",
		"zsh":  "ksudo() { if [ $# -eq 0 ]; then eval \"kubectl sudo $(fc -ln -1)\"; else kubectl sudo \"$@\"; fi; }\n",
		"fish": "function ksudo; if test (count $argv) -eq 0; eval kubectl sudo $history[1]; else; kubectl sudo $argv; end; end\n",
	}[name]
	if !ok {
		return usageError(fmt.Errorf("--shell %q: want bash, zsh or fish", name))
	}
	return printing.Fprintf(out, "%s", printing.Escaped(text))
}
