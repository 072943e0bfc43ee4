// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/tracing"
	"k8s.io/klog/v2"

	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/metrics"
)

// slow is the duration from which the span of a step is logged. It is the duration from which
// upstream logs the span of a whole write.
const slow = 500 * time.Millisecond

// notable is the duration from which a step of the verification is mentioned in the log line that
// upstream writes for a slow request.
const notable = 10 * time.Millisecond

// step is one step in the verification of a write.
type step struct {
	name    string
	started time.Time
	span    *tracing.Span
}

// begin starts a step, with a span if spans of the request are recorded.
func (w *write) begin(ctx context.Context, name string) (context.Context, step) {
	s := step{name: name, started: time.Now()}
	if w.recorded {
		ctx, s.span = tracing.Start(ctx, name,
			attribute.String("group", w.target.Resource.Group),
			attribute.String("resource", w.target.Resource.Resource),
			attribute.String("subresource", w.target.Subresource),
			attribute.Bool("marked", w.marked))
	}
	return ctx, s
}

// traced returns ctx if the request is traced, so that a metric can refer to the trace. It returns
// nil if the request is not traced.
func (w *write) traced(ctx context.Context) context.Context {
	if w.recorded {
		return ctx
	}
	return nil
}

// end ends the step and returns the duration of the step.
func (s step) end(ctx context.Context) time.Duration {
	took := time.Since(s.started)
	if s.span != nil {
		s.span.End(slow)
	} else if took >= notable {
		tracing.SpanFromContext(ctx).AddEvent(s.name, attribute.String("took", took.String()))
	}
	return took
}

// verified writes the result of one verification, which is the error of Verify, to the metrics and
// the log. The log gets no value of a field, because the errors of this package contain none.
func (w *write) verified(ctx context.Context, took time.Duration, newObj runtime.Object, err error) {
	traced := w.traced(ctx)
	switch {
	case err == nil:
		metrics.Verified(traced, took, metrics.Allowed)
		if klog.V(5).Enabled() { // cheaper than finding the logger of the request
			klog.FromContext(ctx).V(5).Info("Allowed a write field by field", w.logFields(newObj, "permissions", audit.Listed(w.decider.Used()))...)
		}
	case apierrors.IsForbidden(err):
		metrics.Verified(traced, took, metrics.Refused)
		if klog.V(4).Enabled() {
			klog.FromContext(ctx).V(4).Info("Refused a write field by field",
				w.logFields(newObj, "reason", err.Error(), "missing", audit.Listed(w.missing), "calls", w.adapter.calls)...)
		}
	default:
		metrics.Verified(traced, took, metrics.Error)
	}
}

// errUnanswered replaces an error of the authorizer in the response. The caller must not see the
// error itself: that of an authorization webhook can quote what was sent to the webhook, by whom,
// and from where.
var errUnanswered = errors.New("the authorizer could not say which permissions the caller holds; the log of the server has its error")

// finish is called once at the end of a request; err is the error of the request, or nil. It adds
// the number of authorizer calls to the metrics. It writes to the audit log which permissions
// were used or, if the request was refused for lack of permissions, which were missing.
func (w *write) finish(ctx context.Context, err error) {
	if err == nil {
		audit.Permissions(ctx, w.decider.Used())
		metrics.Calls(w.traced(ctx), w.adapter.calls)
		return
	}
	calls := 0
	if last := w.verdict.Load(); last != nil {
		calls = last.calls
		if len(last.missing) > 0 && errors.Is(err, last.err) {
			audit.Missing(ctx, last.missing...)
		}
	}
	metrics.Calls(w.traced(ctx), calls)
}
