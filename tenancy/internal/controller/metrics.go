// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// repairs is the metric that counts how often the controller undid what somebody else did with an
// object of a tenant.
var repairs = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "tenancy_repairs_total",
	Help: "Objects of tenants that differed from what the lists grant and that the controller repaired, by kind.",
}, []string{"kind"})

func init() { metrics.Registry.MustRegister(repairs) }
