// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/suggest"
)

// ordinary are the verbs of requests, and those that the server asks for besides on built-in resources.
// Other verbs may be those of another authorizer or of a webhook, so they are no mistakes as such.
var ordinary = []string{
	"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
	"impersonate", "bind", "escalate", "approve", "sign", "attest", "use", "readmetadata", rbacv1.VerbAll,
}

// commands are words for requests that are no verbs: commands of kubectl and methods of HTTP. They map to
// what the server asks for instead.
var commands = map[string]string{
	"apply":    "server-side apply needs patch, and create for new objects",
	"edit":     "kubectl edit needs get and patch",
	"label":    "kubectl label needs get and patch",
	"annotate": "kubectl annotate needs get and patch",
	"scale":    "kubectl scale needs get on the resource, and update or patch on its subresource scale",
	"replace":  "kubectl replace needs get and update",
	"describe": "kubectl describe needs get, and list for events",
	"read":     "reads need get, list and watch",
	"write":    "writes need create, update, patch and delete",
	"modify":   "changes need update and patch",
	"remove":   "it is called delete",
	"post":     "it is called create",
	"put":      "it is called update",
}

// ordinaryVerbs adds a finding for each ordinary verb of a rule that no request has, if the word for it
// is similar to a verb or is a command. It checks only rules for built-in resources: an API of somebody
// else may have other verbs.
func (c *checker) ordinaryVerbs(i int, rule *rbacv1.PolicyRule, resources []string) {
	foreign := func(resource string) bool {
		plain, _, _ := strings.Cut(resource, "/")
		return !IsBuiltIn(plain)
	}
	if len(resources) == 0 || slices.ContainsFunc(resources, foreign) {
		return
	}
	for j, verb := range rule.Verbs {
		if len(c.found) >= c.limit {
			return
		}
		if slices.Contains(ordinary, verb) || IsPermission(verb) {
			continue
		}
		if meant, known := commands[verb]; known {
			c.add(i, j, false, "no request has the verb %q: %s", verb, meant)
			continue
		}
		if c.suggestions >= maxSuggestions || len(verb) > maxSuggestionLength {
			continue
		}
		c.suggestions++
		if meant := suggest.Misspelled(verb, ordinary); meant != "" {
			c.add(i, j, false, "no request has the verb %q; did you mean %s?", verb, meant)
		}
	}
}
