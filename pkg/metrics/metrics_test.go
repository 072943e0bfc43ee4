// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
)

var registered = sync.OnceFunc(Register)

// TestNamesAndLabels checks the names, labels and help texts of metrics, which dashboards and
// alerts rely on.
func TestNamesAndLabels(t *testing.T) {
	registered()
	ctx := context.Background()
	Observed(ctx, time.Millisecond)
	Verified(ctx, time.Millisecond, Allowed)
	Verified(ctx, time.Millisecond, Refused)
	Verified(ctx, time.Millisecond, Refused)
	Verified(ctx, time.Millisecond, Error)
	OverBudget(ctx)
	Exclusions(Opened)
	Exclusions(Kept)
	Exclusions(Refused)
	FieldPermissionAudit()
	ProtectedAttributes(Audited)
	Calls(ctx, 3)
	Calls(ctx, 64)
	Compiled(true)
	Compiled(false)
	const want = `
# HELP apiserver_granular_authorization_authorizer_calls [ALPHA] Calls of the authorizer to verify one request.
# TYPE apiserver_granular_authorization_authorizer_calls histogram
apiserver_granular_authorization_authorizer_calls_bucket{le="0"} 0
apiserver_granular_authorization_authorizer_calls_bucket{le="1"} 0
apiserver_granular_authorization_authorizer_calls_bucket{le="2"} 0
apiserver_granular_authorization_authorizer_calls_bucket{le="4"} 1
apiserver_granular_authorization_authorizer_calls_bucket{le="8"} 1
apiserver_granular_authorization_authorizer_calls_bucket{le="16"} 1
apiserver_granular_authorization_authorizer_calls_bucket{le="32"} 1
apiserver_granular_authorization_authorizer_calls_bucket{le="65"} 2
apiserver_granular_authorization_authorizer_calls_bucket{le="+Inf"} 2
apiserver_granular_authorization_authorizer_calls_sum 67
apiserver_granular_authorization_authorizer_calls_count 2
# HELP apiserver_granular_authorization_decisions_total [ALPHA] Writes verified field by field, by result: 'allowed', 'refused' or 'error'. An attempt that the storage repeats counts again.
# TYPE apiserver_granular_authorization_decisions_total counter
apiserver_granular_authorization_decisions_total{result="allowed"} 1
apiserver_granular_authorization_decisions_total{result="error"} 1
apiserver_granular_authorization_decisions_total{result="refused"} 2
# HELP apiserver_granular_authorization_exclusion_updates_total [ALPHA] Updates of custom resource definitions that weaken what the definition excludes, by result: 'opened' (stored as sent), 'kept' (the stored permission extensions stay) or 'refused'.
# TYPE apiserver_granular_authorization_exclusion_updates_total counter
apiserver_granular_authorization_exclusion_updates_total{result="kept"} 1
apiserver_granular_authorization_exclusion_updates_total{result="opened"} 1
apiserver_granular_authorization_exclusion_updates_total{result="refused"} 1
# HELP apiserver_granular_authorization_field_permission_audits_total [ALPHA] Writes that are allowed only because the mode of a FieldPermission is Audit.
# TYPE apiserver_granular_authorization_field_permission_audits_total counter
apiserver_granular_authorization_field_permission_audits_total 1
# HELP apiserver_granular_authorization_over_budget_total [ALPHA] Writes refused because they exceed the limit of permission verbs or the cost limit of parameter expressions of one request.
# TYPE apiserver_granular_authorization_over_budget_total counter
apiserver_granular_authorization_over_budget_total 1
# HELP apiserver_granular_authorization_protected_attribute_decisions_total [ALPHA] Writes that change a label or annotation that a protected attribute names, by result: 'admitted', 'refused', 'audited', 'bypassed' or 'error'. An attempt that the storage repeats counts again.
# TYPE apiserver_granular_authorization_protected_attribute_decisions_total counter
apiserver_granular_authorization_protected_attribute_decisions_total{result="admitted"} 0
apiserver_granular_authorization_protected_attribute_decisions_total{result="audited"} 1
apiserver_granular_authorization_protected_attribute_decisions_total{result="bypassed"} 0
apiserver_granular_authorization_protected_attribute_decisions_total{result="error"} 0
apiserver_granular_authorization_protected_attribute_decisions_total{result="refused"} 0
# HELP apiserver_granular_authorization_trees_compiled_total [ALPHA] Permission trees compiled from schemas, by result: 'compiled' or 'failed'.
# TYPE apiserver_granular_authorization_trees_compiled_total counter
apiserver_granular_authorization_trees_compiled_total{result="compiled"} 1
apiserver_granular_authorization_trees_compiled_total{result="failed"} 1
`
	err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, strings.NewReader(want),
		"apiserver_granular_authorization_authorizer_calls", "apiserver_granular_authorization_decisions_total",
		"apiserver_granular_authorization_exclusion_updates_total", "apiserver_granular_authorization_field_permission_audits_total",
		"apiserver_granular_authorization_protected_attribute_decisions_total",
		"apiserver_granular_authorization_over_budget_total", "apiserver_granular_authorization_trees_compiled_total")
	if err != nil {
		t.Error(err)
	}
	for name, count := range map[string]uint64{"observe": 1, "verify": 4} {
		vec, err := testutil.GetHistogramVecFromGatherer(legacyregistry.DefaultGatherer, "apiserver_granular_authorization_"+name+"_duration_seconds", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := vec.GetAggregatedSampleCount(); got != count {
			t.Errorf("%s: %d observations, wanted %d", name, got, count)
		}
	}
}

// TestReset checks that writes are still counted after an administrator resets the metrics
// (DELETE /metrics, with profiling on).
func TestReset(t *testing.T) {
	registered()
	ctx := context.Background()
	Verified(ctx, time.Millisecond, Refused)
	legacyregistry.Reset()
	Verified(ctx, time.Millisecond, Refused)
	const want = `
# HELP apiserver_granular_authorization_decisions_total [ALPHA] Writes verified field by field, by result: 'allowed', 'refused' or 'error'. An attempt that the storage repeats counts again.
# TYPE apiserver_granular_authorization_decisions_total counter
apiserver_granular_authorization_decisions_total{result="refused"} 1
`
	if err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, strings.NewReader(want), "apiserver_granular_authorization_decisions_total"); err != nil {
		t.Error(err)
	}
}
