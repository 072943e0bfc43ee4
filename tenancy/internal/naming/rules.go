// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"kube-granular.dev/tenancy/internal/names"
)

// AddOns is the default of Rules.Pattern: the namespaces of widespread add-ons.
const AddOns = `^(argo(cd|-.*)?|calico-.*|cattle-.*|cert-manager|cilium.*|crossplane.*|external-(dns|secrets)|flux.*|gatekeeper.*|ingress-.*|istio.*|keda|knative.*|kyverno|linkerd.*|longhorn.*|metallb.*|openshift.*|rook-.*|tekton.*|tigera-.*|traefik|vault|velero)$`

// dnsWords are names that DNS uses, in a cluster, in a local network or for special purposes. Most of
// them are not public top-level domains.
var dnsWords = []string{
	"alt", "cluster", "corp", "dns", "domain", "example", "home", "internal", "intranet", "invalid", "isatap",
	"lan", "local", "localdomain", "localhost", "mail", "onion", "pod", "private", "svc", "test", "wpad", "www",
}

// Rules are the names that tenants can't have.
type Rules struct {
	// Reserved are names that no tenant can have, in addition to default and kube-*.
	Reserved []string
	// Pattern matches further names that only administrators use. It is nil if there are none.
	Pattern *regexp.Regexp
	// Allowed are names that everybody may use, although a rule refuses them.
	Allowed []string
}

// Refused returns an error if only administrators may create an LNamespace of the name. The error
// says why, and proposes another name.
func (r Rules) Refused(name string) error {
	if slices.Contains(r.Allowed, name) {
		return nil
	}
	why := ""
	switch suffix, isPublic := publicsuffix.PublicSuffix(name); {
	case isPublic && suffix == name:
		why = "it is a public top-level domain, and pods would look for the names of this domain in the namespace first"
	case slices.Contains(dnsWords, name):
		why = "DNS uses this word"
	case strings.HasSuffix(name, "-system"):
		why = "names that end with -system belong to parts of the cluster"
	case r.Pattern != nil && r.Pattern.MatchString(name):
		why = "it matches the pattern of reserved names"
	default:
		return nil
	}
	return fmt.Errorf("the name %q is refused: %s; choose another name, such as %q, or %s", name, why, proposal(name), AskAdministrator)
}

// IsReserved reports whether nobody, not even an administrator, can have a tenant of the name.
func (r Rules) IsReserved(name string) bool { return names.Reserved(name, r.Reserved...) }

// AskAdministrator is the end of a refusal: what the creator can do about it.
const AskAdministrator = "ask an administrator, who allows it by the annotation " + names.Allowed + "=true"

func proposal(name string) string { return "team-" + strings.TrimSuffix(name, "-system") }
