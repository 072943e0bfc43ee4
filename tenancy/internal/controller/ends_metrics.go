// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// registerOverdue registers the metric that counts tenants in which somebody has rights that have ended.
func (r *ends) registerOverdue() error {
	return metrics.Registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tenancy_overdue_ends",
		Help: "Tenants in which somebody still has rights although the time of an entry, or of granted sudo, has passed.",
	}, func() float64 {
		list := &v1alpha1.LNamespaceList{}
		if err := r.List(context.Background(), list); err != nil {
			return 0 // does not happen: the list is read from the cache in memory
		}
		overdue, at := 0, time.Now()
		for i := range list.Items {
			if terms.IsOverdue(&list.Items[i], at) {
				overdue++
			}
		}
		return float64(overdue)
	}))
}
