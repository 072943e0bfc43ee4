// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

import (
	"context"
	"fmt"
	"strings"

	"kube-granular.dev/tenancy/internal/kubectl"
)

// help is what kubectl sudo --help prints.
const help = `Run a command of kubectl with sudo: with nearly all rights in the namespace of a tenant.

You need to be a sudoer of the tenant. The tenant is the namespace of -n, the NAME of a
command such as "edit lns NAME", or else the namespace of the context. Flags of sudo stand
before the command, and flags of the command behind it.

Examples:
  # In which tenants may I use sudo, and how?
  kubectl sudo -l

  # Create a role in the tenant books, with a reason for the audit log
  kubectl sudo --reason TICKET-1 create role reader --verb=get --resource=pods -n books

  # Where sudo is on request: ask for it, and let another sudoer or a manager approve it
  kubectl sudo request --for 1h --reason TICKET-1 -n books
  kubectl sudo requests -n books
  kubectl sudo approve NAME -n books

  # Run the last command again, with sudo (bash and zsh)
  kubectl sudo !!

Flags:
  -l, --list           list the tenants in which you may use sudo
  -o, --output wide    with -l: shorten nothing
      --reason TEXT    why; the audit log has it
  -n, --namespace NAME the tenant
      --shell NAME     print the function ksudo, which repeats the last command, for bash, zsh or fish
  -h, --help           print this text
      --version        print the version of the program

The flags of kubectl that select the cluster and the user, such as --context, may stand at both
places.

Usage:
  kubectl sudo [flags] COMMAND...
  kubectl sudo request|requests|approve|deny --help
`

// maxHint is the number of tenants that a hint names.
const maxHint = 10

// withHint adds to an error about the tenant of the context the tenants in which the caller may use sudo. If
// they can't be found, it returns the error as it is.
func withHint(ctx context.Context, k kubectl.Kubectl, me kubectl.User, tenant string, err error) error {
	rows, failed := tenants(ctx, k, me)
	if failed != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("%w; it is a sudoer of no tenant", err)
	}
	var names []string
	for _, row := range rows {
		names = append(names, row[0])
	}
	more := ""
	if len(names) > maxHint {
		more = fmt.Sprintf(" and %d more", len(names)-maxHint)
		names = names[:maxHint]
	}
	return fmt.Errorf("%w; without -n, the tenant is the namespace of the context, %q; it is a sudoer of %s%s: name one with -n",
		err, tenant, strings.Join(names, ", "), more)
}
