// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// endsIndex is the name of the cache index of the LNamespaces that HasEnds holds for. Its only value is withEnds.
const (
	endsIndex = "has-ends"
	withEnds  = "true"
)

// indexEnds returns the value of the index endsIndex.
func indexEnds(object client.Object) []string {
	if t, ok := object.(*v1alpha1.LNamespace); ok && terms.HasEnds(t) {
		return []string{withEnds}
	}
	return nil
}

// registerOverdue registers the metric that counts tenants in which somebody has rights that have ended.
func (r *ends) registerOverdue() error {
	return metrics.Registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tenancy_overdue_ends",
		Help: "Tenants in which somebody still has rights although the time of an entry, or of granted sudo, has passed.",
	}, func() float64 { return float64(r.overdue(context.Background(), time.Now())) }))
}

// overdue returns the number of tenants in which somebody has rights that have ended. It looks only at those in which
// something ends, and copies none.
func (r *ends) overdue(ctx context.Context, at time.Time) int {
	list := &v1alpha1.LNamespaceList{}
	if err := r.List(ctx, list, client.MatchingFields{endsIndex: withEnds}, client.UnsafeDisableDeepCopy); err != nil {
		return 0 // does not happen: the list is read from the cache in memory
	}
	count := 0
	for i := range list.Items {
		if terms.IsOverdue(&list.Items[i], at) {
			count++
		}
	}
	return count
}
