// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Delegations are the numbers of stored delegations by state.
type Delegations struct {
	// Valid are delegations that do not end soon.
	Valid int
	// Ending are valid delegations that end within an hour.
	Ending int
	// Ended are delegations that allow nothing any more.
	Ended int
}

var (
	delegationRequests = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "delegation_requests_total",
		Help: "Finished requests under a delegation, by result: 'allowed' or 'refused'. The reason of a refusal is that of the audit event." +
			" A request that the delegation allows counts as allowed even if it fails later, for example in admission.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result", "reason"})

	delegations = metrics.NewDesc(metrics.BuildFQName(namespace, subsystem, "delegations"),
		"Stored delegations, by state: 'valid', 'ending' (valid, and the delegation or an ancestor expires within an hour) or 'ended'."+
			" Each server has the numbers of the whole cluster.",
		[]string{"state"}, nil, metrics.ALPHA, "")
)

// RegisterDelegations registers the metrics of delegations. It must be called only once. Each scrape calls
// count, which returns nil while the server does not know all delegations.
func RegisterDelegations(count func() *Delegations) {
	legacyregistry.MustRegister(delegationRequests)
	delegationRequests.WithLabelValues(string(Allowed), "")
	legacyregistry.CustomMustRegister(&delegationCollector{count: count})
}

// DelegationAllowed counts one request that a delegation allows.
func DelegationAllowed() {
	delegationRequests.WithLabelValues(string(Allowed), "").Inc()
}

// DelegationRefused counts one request that is refused because of its delegation. reason is one of a fixed
// set, which no caller chooses.
func DelegationRefused(reason string) {
	delegationRequests.WithLabelValues(string(Refused), reason).Inc()
}

type delegationCollector struct {
	metrics.BaseStableCollector
	count func() *Delegations
}

// DescribeWithStability implements metrics.StableCollector.
func (*delegationCollector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	descriptions <- delegations
}

// CollectWithStability implements metrics.StableCollector.
func (c *delegationCollector) CollectWithStability(collected chan<- metrics.Metric) {
	counted := c.count()
	if counted == nil {
		return
	}
	for state, n := range map[string]int{"valid": counted.Valid, "ending": counted.Ending, "ended": counted.Ended} {
		collected <- metrics.NewLazyConstMetric(delegations, metrics.GaugeValue, float64(n), state)
	}
}
