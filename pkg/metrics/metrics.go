// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts and times the work of the Gate (package gate), and counts delegations:
//
//	apiserver_granular_authorization_decisions_total{result}           allowed, refused or error
//	apiserver_granular_authorization_authorizer_calls                  calls of the authorizer for one request
//	apiserver_granular_authorization_observe_duration_seconds          comparing the caller's change
//	apiserver_granular_authorization_verify_duration_seconds           verifying the object to be stored
//	apiserver_granular_authorization_trees_compiled_total{result}      compiled or failed
//	apiserver_granular_authorization_over_budget_total                 refused because a limit is exceeded
//	apiserver_granular_authorization_protected_attribute_decisions_total{result}
//	apiserver_granular_authorization_exclusion_updates_total{result}
//	apiserver_granular_authorization_field_permission_audits_total     allowed because a mode is Audit
//	apiserver_granular_authorization_delegations{state}                stored delegations
//	apiserver_granular_authorization_delegation_requests_total{result,reason}
//
// A write for which the Gate has nothing to verify is not counted.
//
// The invariant: the metrics have no label whose value a caller can choose, so the number of
// series is fixed. The package registers no metric by itself; package wiring calls Register.
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
	// Admitted means that the caller holds a role or a verb that the protection requires, or that
	// the protection does not cover the changed values.
	Admitted Result = "admitted"
	// Bypassed means that the caller was not admitted, but holds the verb "bypass", which allows
	// every change of protected labels and annotations.
	Bypassed Result = "bypassed"
	// Audited means that the change is allowed and reported: the objects that protect the label or
	// annotation, and that do not admit the caller, all have the mode Audit, which only reports.
	Audited Result = "audited"
)

// The results of updates that weaken what a definition of a custom resource excludes, besides
// Refused.
const (
	// Opened means that the caller may weaken it, so the update is stored as it was sent.
	Opened Result = "opened"
	// Kept means that the server puts the stored permission extensions back.
	Kept Result = "kept"
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
		// The Gate checks at most 64 verbs for a request, and may read the caller's rules once.
		Buckets:        []float64{0, 1, 2, 4, 8, 16, 32, 65},
		StabilityLevel: metrics.ALPHA,
	})

	// buckets are the limits of both duration histograms. They range from 4 µs, for a small
	// object, to 4 s, for a failing authorizer.
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

	exclusions = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "exclusion_updates_total",
		Help:           "Updates of custom resource definitions that weaken what the definition excludes, by result: 'opened' (stored as sent), 'kept' (the stored permission extensions stay) or 'refused'.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	fieldPermissionAudits = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "field_permission_audits_total",
		Help:           "Writes that are allowed only because the mode of a FieldPermission is Audit.",
		StabilityLevel: metrics.ALPHA,
	})

	overBudget = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "over_budget_total",
		Help:           "Writes refused because they exceed the limit of permission verbs or the cost limit of parameter expressions of one request.",
		StabilityLevel: metrics.ALPHA,
	})
)

// Register registers the metrics with the server's registry, except those of delegations. It must be
// called only once.
func Register() {
	for _, c := range []metrics.Registerable{
		decisions, calls, observing, verifying, trees, protectedAttributes, exclusions, fieldPermissionAudits, overBudget,
	} {
		legacyregistry.MustRegister(c)
	}
	// With a zero before it, the first write of a result is an increase that an alert sees.
	for _, result := range []Result{Admitted, Refused, Bypassed, Audited, Error} {
		protectedAttributes.WithLabelValues(string(result))
	}
}

// observe adds a value to a histogram. If traced is not nil, the trace of that context is added
// as the exemplar of the value. traced is nil if the request is not traced.
func observe(histogram *metrics.Histogram, traced context.Context, value float64) {
	if traced == nil {
		histogram.Observe(value)
	} else {
		histogram.WithContext(traced).Observe(value)
	}
}

// Observed adds the time that it took to find the caller's own change. traced is the context of
// the request, or nil if the request is not traced.
func Observed(traced context.Context, took time.Duration) {
	observe(observing, traced, took.Seconds())
}

// Verified adds the duration of one verification of an object to be stored, and counts its
// result. traced is the context of the request, or nil if the request is not traced.
func Verified(traced context.Context, took time.Duration, result Result) {
	observe(verifying, traced, took.Seconds())
	decisions.WithLabelValues(string(result)).Inc()
}

// ProtectedAttributes counts one write that changes a label or annotation that a protected
// attribute names, by the result of its verification.
func ProtectedAttributes(result Result) {
	protectedAttributes.WithLabelValues(string(result)).Inc()
}

// FieldPermissionAudit counts one write that is allowed only because the mode of a FieldPermission is
// Audit.
func FieldPermissionAudit() {
	fieldPermissionAudits.Inc()
}

// Exclusions counts one update that weakens what a definition excludes.
func Exclusions(result Result) {
	exclusions.WithLabelValues(string(result)).Inc()
}

// OverBudget counts one write that is refused because it needs too many permission verbs, or
// because its parameter expressions cost too much.
func OverBudget(ctx context.Context) {
	overBudget.WithContext(ctx).Inc()
}

// Calls adds the number of authorizer calls for one request, whether the request was allowed or
// not. traced is the context of the request, or nil if the request is not traced.
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
