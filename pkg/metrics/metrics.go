// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts and times what the Gate does:
//
//	apiserver_granular_authorization_decisions_total{result}           allowed, refused or error
//	apiserver_granular_authorization_authorizer_calls                  calls of the authorizer for one request
//	apiserver_granular_authorization_observe_duration_seconds          seeing the caller's change
//	apiserver_granular_authorization_verify_duration_seconds           judging what is about to be stored
//	apiserver_granular_authorization_trees_compiled_total{result}      compiled or failed
//	apiserver_granular_authorization_over_budget_total                 refused for asking or evaluating too much
//
// A request that needs no verification is not counted, and costs nothing here.
//
// The invariant: no label holds anything that a caller chooses, so the number of
// series is fixed. The package registers nothing by itself; package wiring does.
package metrics

import (
	"context"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const (
	namespace = "apiserver"
	subsystem = "granular_authorization"
)

// Result is what came of a verification.
type Result string

// The results. An Error is neither an allowance nor a refusal: the request ended
// with an internal error.
const (
	Allowed Result = "allowed"
	Refused Result = "refused"
	Error   Result = "error"
)

// The results of a change of a protected label or annotation, beside Refused and Error.
const (
	// Admitted: the caller holds what admits to it, or it is not protected whatever it is.
	Admitted Result = "admitted"
	// Bypassed: it would have been refused or reported, and its caller may bypass that.
	Bypassed Result = "bypassed"
	// Audited: it would have been refused if all attributes were enforced.
	Audited Result = "audited"
)

var (
	decisions = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "decisions_total",
		Help:           "Writes verified field by field, by result: 'allowed', 'refused' or 'error'. An attempt that the storage repeats counts again.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	calls = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "authorizer_calls",
		Help: "Calls of the authorizer that the verification of one request took.",
		// 64 verbs and one look at the caller's rules are the most there can be.
		Buckets:        []float64{0, 1, 2, 4, 8, 16, 32, 65},
		StabilityLevel: metrics.ALPHA,
	})

	// From 4 µs, which is a small object, to 4 s, which is an authorizer in trouble.
	buckets = metrics.ExponentialBuckets(4e-6, 4, 11)

	observing = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "observe_duration_seconds",
		Help:           "Time it took to see which permissions the caller's own change touches.",
		Buckets:        buckets,
		StabilityLevel: metrics.ALPHA,
	})

	verifying = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "verify_duration_seconds",
		Help:           "Time it took to judge what is about to be stored, calls of the authorizer included.",
		Buckets:        buckets,
		StabilityLevel: metrics.ALPHA,
	})

	trees = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "trees_compiled_total",
		Help:           "Permission trees made of schemas, by result: 'compiled' or 'failed'.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	protectedAttributes = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "protected_attribute_decisions_total",
		Help:           "Writes that change a label or annotation which some protected attribute names, by result: 'admitted', 'refused', 'audited', 'bypassed' or 'error'. An attempt that the storage repeats counts again.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	overBudget = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "over_budget_total",
		Help:           "Writes refused because more permission verbs would have to be asked, or parameter expressions cost more, than one request may.",
		StabilityLevel: metrics.ALPHA,
	})
)

// Register makes the metrics known to the server's registry. It is called once.
func Register() {
	for _, c := range []metrics.Registerable{decisions, calls, observing, verifying, trees, protectedAttributes, overBudget} {
		legacyregistry.MustRegister(c)
	}
}

// observe counts into a histogram. traced is the context of the trace to name with what is
// counted; where nobody records one it is nil, and not looked for.
func observe(into *metrics.Histogram, traced context.Context, value float64) {
	if traced == nil {
		into.Observe(value)
	} else {
		into.WithContext(traced).Observe(value)
	}
}

// Observed counts one observation. traced is nil if the request is not recorded.
func Observed(traced context.Context, took time.Duration) {
	observe(observing, traced, took.Seconds())
}

// Verified counts one verification. traced is nil if the request is not recorded.
func Verified(traced context.Context, took time.Duration, result Result) {
	observe(verifying, traced, took.Seconds())
	decisions.WithLabelValues(string(result)).Inc()
}

// ProtectedAttributes counts what a change of labels or annotations came to.
func ProtectedAttributes(result Result) {
	protectedAttributes.WithLabelValues(string(result)).Inc()
}

// OverBudget counts one refusal for asking too much.
func OverBudget(ctx context.Context) {
	overBudget.WithContext(ctx).Inc()
}

// Calls counts one request, whatever became of it. traced is nil if it is not recorded.
func Calls(traced context.Context, made int) {
	observe(calls, traced, float64(made))
}

// Compiled counts one permission tree.
func Compiled(ok bool) {
	result := "compiled"
	if !ok {
		result = "failed"
	}
	trees.WithLabelValues(result).Inc()
}
