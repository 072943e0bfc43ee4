// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"cmp"
	"slices"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/roles"
)

// subject returns the user in the form of the flag --subject.
func (d *Denial) subject() string {
	subject, err := roles.ParseSubject("user:" + d.User)
	if err != nil {
		return "user:" + d.User
	}
	return roles.FormatSubject(subject)
}

// isSelection reports whether the reason of a refusal is that the caller selected a role or a
// delegation, as kubectl with does, or is a service account that acts under a delegation.
func isSelection(why string) bool {
	return slices.ContainsFunc([]string{"AuthorityDelegation", "the selected ", "under a delegation", "an authority is selected"},
		func(part string) bool { return strings.Contains(why, part) })
}

// Advice returns what to do about a refusal that no role with a permission verb would lift, or ""
// if Verbs or Roles would lift it, or the ordinary verb of a read. quote quotes an argument for a
// shell.
func (d *Denial) Advice(quote func(string) string) printing.Escaped {
	say := printing.Sprintf
	switch {
	case d.Admission:
		return say("The request was authorized, and then refused by admission: a policy, a webhook, a quota or another check of the server said: %s\nNo role helps. Change the request, or ask whoever maintains that check.", cmp.Or(d.Why, "nothing"))
	case d.Grant && strings.HasPrefix(d.Why, "needs "):
		return say("A protected attribute refers to the role: %s.", d.Why)
	case d.Grant:
		return say("%s wants to grant permissions that it does not hold: %s\nLet somebody who holds them write the role or binding, grant them to %s first, or grant it the verb escalate on the role, or bind on the role of a binding.", d.User, d.Why, d.User)
	case isSelection(d.Why):
		return say("The request was made with a selected role or delegation, and that one refuses it: %s.\n"+
			"A role for the caller does not help. Select another role or delegation, change the selected one, or make the request "+
			"without kubectl with. To a service account that acts under a delegation, lend another role.", d.Why)
	case d.Ordinary != "" && d.Why != "" && !strings.HasPrefix(d.Why, "RBAC: "): // RBAC adds errors, such as missing roles
		return say("An authorizer gave a reason of its own: %s.\nIf it denies the request, no role helps; ask whoever runs that authorizer.", d.Why)
	case d.Write() && !permission.StoresFields(d.Subresource):
		return ""
	case d.Write():
		return say("%s holds neither %s nor granular on the resource, so no field was authorized. The needed verbs depend on the change:\nkubectl granular role --subject %s -- kubectl ...", d.User, d.Ordinary, quote(d.subject()))
	case d.Ordinary != "", len(d.Verbs) > 0, len(d.Roles) > 0:
		return ""
	case d.Protected != "":
		return say("The %s is protected: %s. A protected attribute must be changed to allow this.", d.Protected, d.Why)
	}
	return say("%s. No permission verb allows this change; it needs the verb update or patch.", d.Why)
}
