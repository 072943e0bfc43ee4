// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/klog/v2"
)

// reported passes one update through the Gate. It returns the spans of the update, and the lines
// that are logged at the given verbosity.
func reported(t *testing.T, level int, g *grants, final string) (spans, lines []string) {
	t.Helper()
	// Like the flag -v, this sets the level of the process and of the logger in the context.
	var process klog.Level
	if err := process.Set(strconv.Itoa(level)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Set("0") })
	ctx, _ := granular.WithMarker(requestContext("update"))
	ctx = klog.NewContext(ctx, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: level}))
	recorder := tracetest.NewSpanRecorder()
	ctx, parent := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("").Start(ctx, "Update")
	defer parent.End()

	w := New(g).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "false", 1)))
	old := object(t, plain)
	if err := w.Observe(ctx, object(t, final), old); err != nil {
		t.Fatal(err)
	}
	_ = w.Verify(ctx, object(t, final), old)
	for _, span := range recorder.Ended() {
		if span.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("%s is not part of the request's span", span.Name())
		}
		spans = append(spans, span.Name())
	}
	return spans, lines
}

// TestTrace checks that Observe and Verify each have a span below the span of the request.
func TestTrace(t *testing.T) {
	spans, _ := reported(t, 0, &grants{}, larger)
	if want := []string{"Observe granular change", "Verify granular change"}; !slices.Equal(spans, want) {
		t.Errorf("got %q, wanted %q", spans, want)
	}
}

// TestStepWithoutSpan checks that a slow step without a span of its own becomes an event of the
// request's trace.
func TestStepWithoutSpan(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	ctx, request := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("").Start(t.Context(), "Update")
	step{name: "quick", started: time.Now().Add(time.Hour)}.end(ctx)
	step{name: "long", started: time.Now().Add(-notable)}.end(ctx)
	request.End()
	if events := recorder.Ended()[0].Events(); len(events) != 1 || events[0].Name != "long" {
		t.Errorf("the request mentions %v", events)
	}
}

// TestLog checks which lines are logged at which verbosity, and that they contain no value of a
// field.
func TestLog(t *testing.T) {
	const secret = `{"spec":{"size":7654321,"trigger":false},"data":"x"}`
	tests := map[string]struct {
		grants grants
		level  int
		says   string
	}{
		"allowed, quiet": {grants: grants{allow: []string{"granular:size"}}, level: 4},
		"allowed": {grants: grants{allow: []string{"granular:size"}}, level: 5,
			says: "Allowed a write field by field"},
		"refused, quiet": {level: 3},
		"refused":        {level: 4, says: "Refused a write field by field"},
		"the authorizer fails": {grants: grants{fail: []string{"granular:size"}}, level: 0,
			says: "Unable to verify a write field by field"},
		"a field without a grant": {grants: grants{allow: []string{"granular:metadata"}}, level: 4, says: `.spec.size`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, lines := reported(t, tc.level, &tc.grants, secret)
			if tc.says == "" {
				if len(lines) != 0 {
					t.Errorf("logged %q", lines)
				}
				return
			}
			if len(lines) != 1 || !strings.Contains(lines[0], tc.says) {
				t.Fatalf("logged %q, wanted one line with %q", lines, tc.says)
			}
			for _, part := range []string{`"user"="jane"`, "things", `"t"`} {
				if !strings.Contains(lines[0], part) {
					t.Errorf("%q lacks %s", lines[0], part)
				}
			}
			if strings.Contains(lines[0], "7654321") {
				t.Errorf("%q holds a value", lines[0])
			}
		})
	}
}

// TestCreateOnUpdateIsReported checks that the create that an update implies, if only the verb
// "granular" allowed it, is reported although its Respond is not called.
func TestCreateOnUpdateIsReported(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	gate := New(&grants{allow: []string{"granular", "granular:metadata", "granular:specification"}})
	ctx := requestContext("update")
	if begun := gate.Begin(ctx, model); begun != nil {
		t.Fatal("an update by a caller that holds update is verified")
	}
	w, _, _, err := gate.AuthorizeCreate(ctx, model, nil, attributes("create"))
	if err != nil {
		t.Fatal(err)
	}
	annotated := audit.WithAuditContext(ctx)
	if err := w.Verify(annotated, object(t, `{"spec":{"size":1}}`), nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := audit.AuditContextFrom(annotated).GetEventAnnotation("granular.authorization.kube-granular.dev/permissions"); got != "granular:metadata granular:specification" {
		t.Errorf("the audit event says %q", got)
	}
}
