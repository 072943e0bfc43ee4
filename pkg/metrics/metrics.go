// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts and times the work of the Gate (package gate):
//
//	apiserver_granular_authorization_decisions_total{result}           allowed, refused or error
//	apiserver_granular_authorization_authorizer_calls                  calls of the authorizer for one request
//	apiserver_granular_authorization_observe_duration_seconds          comparing the caller's change
//	apiserver_granular_authorization_verify_duration_seconds           verifying the object to be stored
//	apiserver_granular_authorization_trees_compiled_total{result}      compiled or failed
//	apiserver_granular_authorization_over_budget_total                 refused because a limit is exceeded
//	apiserver_granular_authorization_protected_attribute_decisions_total{result}
//
// A request whose fields need no verification is not counted.
//
// The invariant: no label has a value that a caller chooses, so the number of series is fixed.
// The package registers no metric by itself; package wiring calls Register.
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

// Result is the result of a verification.
type Result string

// The results of a verification. Error means that the request failed with an internal error.
const (
	Allowed Result = "allowed"
	Refused Result = "refused"
	Error   Result = "error"
)

// The results for changes of protected labels and annotations, besides Refused and Error.
const (
	// Admitted means that the caller holds the role or the verb, or that the values are not
	// protected.
	Admitted Result = "admitted"
	// Bypassed means that the change would have been refused or reported, but the caller may
	// bypass protected attributes.
	Bypassed Result = "bypassed"
	// Audited means that the change would have been refused if all protected attributes were
	// enforced.
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
		Help: "Calls of the authorizer to verify one request.",
		// A request checks at most 64 verbs, and one call reads the caller's rules.
		Buckets:        []float64{0, 1, 2, 4, 8, 16, 32, 65},
		StabilityLevel: metrics.ALPHA,
	})

	// buckets range from 4 µs, for a small object, to 4 s, for a failing authorizer.
	buckets = metrics.ExponentialBuckets(4e-6, 4, 11)

	observing = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "observe_duration_seconds",
		Help:           "Time to find the permissions that cover the caller's own change.",
		Buckets:        buckets,
		StabilityLevel: metrics.ALPHA,
	})

	verifying = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "verify_duration_seconds",
		Help:           "Time to verify the object to be stored, including calls of the authorizer.",
		Buckets:        buckets,
		StabilityLevel: metrics.ALPHA,
	})

	trees = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "trees_compiled_total",
		Help:           "Permission trees compiled from schemas, by result: 'compiled' or 'failed'.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	protectedAttributes = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "protected_attribute_decisions_total",
		Help:           "Writes that change a label or annotation that a protected attribute names, by result: 'admitted', 'refused', 'audited', 'bypassed' or 'error'. An attempt that the storage repeats counts again.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	overBudget = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "over_budget_total",
		Help:           "Writes refused because they exceed the limit of permission verbs or the cost limit of parameter expressions of one request.",
		StabilityLevel: metrics.ALPHA,
	})
)

// Register registers the metrics with the server's registry. It must be called only once.
func Register() {
	for _, c := range []metrics.Registerable{decisions, calls, observing, verifying, trees, protectedAttributes, overBudget} {
		legacyregistry.MustRegister(c)
	}
}

// observe adds a value to a histogram. traced is the context whose trace becomes the exemplar. It
// is nil if the request is not traced.
func observe(into *metrics.Histogram, traced context.Context, value float64) {
	if traced == nil {
		into.Observe(value)
	} else {
		into.WithContext(traced).Observe(value)
	}
}

// Observed records how long it took to compare the caller's change. traced is nil if the request
// is not traced.
func Observed(traced context.Context, took time.Duration) {
	observe(observing, traced, took.Seconds())
}

// Verified records the duration and the result of one verification. traced is nil if the request
// is not traced.
func Verified(traced context.Context, took time.Duration, result Result) {
	observe(verifying, traced, took.Seconds())
	decisions.WithLabelValues(string(result)).Inc()
}

// ProtectedAttributes counts one change of protected labels or annotations.
func ProtectedAttributes(result Result) {
	protectedAttributes.WithLabelValues(string(result)).Inc()
}

// OverBudget counts one refusal because the request exceeds a limit.
func OverBudget(ctx context.Context) {
	overBudget.WithContext(ctx).Inc()
}

// Calls records the authorizer calls of one request, whatever its result. traced is nil if the
// request is not traced.
func Calls(traced context.Context, made int) {
	observe(calls, traced, float64(made))
}

// Compiled counts one compiled permission tree, or one that failed to compile.
func Compiled(ok bool) {
	result := "compiled"
	if !ok {
		result = "failed"
	}
	trees.WithLabelValues(result).Inc()
}
