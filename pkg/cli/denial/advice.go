// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"fmt"
	"strings"
)

// isSelection reports whether the reason of a refusal is that the caller selected a role or a
// delegation, as kubectl with does.
func isSelection(why string) bool {
	return strings.Contains(why, "AuthorityDelegation") || strings.Contains(why, "the selected ")
}

// Advice returns what to do about a refusal that no role with a permission verb would lift, or ""
// if Verbs or Roles would lift it, or the ordinary verb of a read. quote quotes an argument for a
// shell.
func (d *Denial) Advice(quote func(string) string) string {
	switch {
	case d.Grant && strings.HasPrefix(d.Why, "needs "):
		return "A protected attribute refers to the role: " + d.Why + "."
	case d.Grant:
		return fmt.Sprintf("%s wants to grant permissions that it does not hold: %s\nLet somebody who holds them write the role or binding, grant them to %s first, or grant it the verb escalate on the role, or bind on the role of a binding.", d.User, d.Why, d.User)
	case isSelection(d.Why):
		return "The request was made with a selected role or delegation, and that one refuses it: " + d.Why + ".\nA role for the caller does not help. Select another role or delegation, change the selected one, or make the request without kubectl with."
	case d.Ordinary != "" && d.Why != "" && !strings.HasPrefix(d.Why, "RBAC: "): // RBAC adds errors, such as missing roles
		return "An authorizer gave a reason of its own: " + d.Why + ".\nIf it denies the request, no role helps; ask whoever runs that authorizer."
	case d.Write() && d.Subresource != "" && !fieldsThrough[d.Subresource]:
		return ""
	case d.Write():
		return fmt.Sprintf("%s holds neither %s nor granular on the resource, so no field was authorized. The needed verbs depend on the change:\nkubectl granular role --subject %s -- kubectl ...", d.User, d.Ordinary, quote("user:"+d.User))
	case d.Ordinary != "", len(d.Verbs) > 0, len(d.Roles) > 0:
		return ""
	case d.Protected != "":
		return "The " + d.Protected + " is protected: " + d.Why + ". A protected attribute must be changed to allow this."
	}
	return d.Why + ". No permission verb allows this change; it needs the verb update or patch."
}

// fieldsThrough are the usual subresources through which fields are written. Writes through others,
// such as pods/eviction, need an ordinary verb.
var fieldsThrough = map[string]bool{"status": true, "scale": true, "resize": true, "ephemeralcontainers": true, "finalize": true, "approval": true}
