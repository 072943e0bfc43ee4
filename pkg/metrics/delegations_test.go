// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
)

// TestDelegations holds the names and labels of the metrics of delegations: no number before the server knows
// all of them, then one for each state, and a zero before the first request.
func TestDelegations(t *testing.T) {
	var known *Delegations
	RegisterDelegations(func() *Delegations { return known })
	const names = "apiserver_granular_authorization_delegation"
	compare := func(want string) {
		t.Helper()
		err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, strings.NewReader(want), names+"s", names+"_requests_total")
		if err != nil {
			t.Error(err)
		}
	}
	const requests = `
# HELP apiserver_granular_authorization_delegation_requests_total [ALPHA] Finished requests under a delegation, by result: 'allowed' or 'refused'. The reason of a refusal is that of the audit event. A request that the delegation allows counts as allowed even if it fails later, for example in admission.
# TYPE apiserver_granular_authorization_delegation_requests_total counter
`
	compare(requests + `apiserver_granular_authorization_delegation_requests_total{reason="",result="allowed"} 0
`)
	known = &Delegations{Valid: 3, Ending: 2, Ended: 1}
	DelegationAllowed()
	DelegationRefused("NotHeld")
	DelegationRefused("NotHeld")
	compare(requests + `apiserver_granular_authorization_delegation_requests_total{reason="",result="allowed"} 1
apiserver_granular_authorization_delegation_requests_total{reason="NotHeld",result="refused"} 2
# HELP apiserver_granular_authorization_delegations [ALPHA] Stored delegations, by state: 'valid', 'ending' (valid, and the delegation or an ancestor expires within an hour) or 'ended'. Each server has the numbers of the whole cluster.
# TYPE apiserver_granular_authorization_delegations gauge
apiserver_granular_authorization_delegations{state="ended"} 1
apiserver_granular_authorization_delegations{state="ending"} 2
apiserver_granular_authorization_delegations{state="valid"} 3
`)
}
