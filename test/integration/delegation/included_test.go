// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import "testing"

// TestUseOfIncluded checks that a delegator that holds the verb of a domain delegates that of one key, and that a
// delegate may use it: the delegation allows no other key, and nothing after the delegator has lost the domain.
//
// Attack: using the delegated verb of one key for another key that the delegator holds, or after the delegator has lost the domain
// Answer: 403
func TestUseOfIncluded(t *testing.T) {
	n, binding := stage(t, `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","granular","granular:label(example.com)"]}`)
	apply(t, maps(n), `{"metadata":{"name":"c"}}`)
	d := delegation{scope: n, rules: `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","granular","granular:label(example.com/team)"]}`}.by(t, "alice", "")
	label := func(who, under, key, value string) request {
		return request{as: who, method: "PATCH", path: maps(n) + "/c", under: under, contentType: mergePatch,
			body: `{"metadata":{"labels":{"` + key + `":"` + value + `"}}}`}
	}
	label("bot", d, "example.com/team", "a").want(t, 200)
	label("bot", d, "example.com/tier", "a").want(t, 403)
	label("bot", d, "team", "a").want(t, 403)
	label("alice", "", "example.com/tier", "a").want(t, 200)
	// The reverse: the verb of a domain is wider than that of a key.
	wider := delegation{scope: n, rules: `{"apiGroups":[""],"resources":["configmaps"],"verbs":["granular:labels"]}`}
	request{as: "alice", method: "POST", path: delegations, body: wider.body("wider")}.want(t, 403)
	request{as: "root", method: "DELETE", path: binding}.want(t, 200)
	label("bot", d, "example.com/team", "b").eventually(t, 403)
}
