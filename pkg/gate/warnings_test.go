// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"
)

type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

// TestWarnings checks which warnings reach the caller: all warnings from before Begin, and later
// ones only if the caller may get the object.
func TestWarnings(t *testing.T) {
	tests := map[string]struct {
		allow []string
		end   error
		want  []string
	}{
		"may get it": {allow: []string{"granular", "get"},
			want: []string{"of the body", "of the object", "late"}},
		"may not get it": {allow: []string{"granular"}, want: []string{"of the body"}},
		"is told what is wrong": {allow: []string{"granular", "get"}, end: apierrors.NewBadRequest("no"),
			want: []string{"of the body", "of the object", "late"}},
		"is not told what is wrong": {allow: []string{"granular"}, end: apierrors.NewBadRequest("no"),
			want: []string{"of the body"}},
		"an error nobody is asked about": {allow: []string{"granular", "get"},
			end:  apierrors.NewNotFound(gvk.GroupResource{Group: "example.com", Resource: "things"}, "t"),
			want: []string{"of the body"}},
		"an error without a status": {allow: []string{"granular"}, end: errors.New("quoted"),
			want: []string{"of the body"}},
		"the ordinary verb, nothing to do": {allow: []string{"update"},
			want: []string{"of the body", "of the object", "late"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got recorder
			gate := New(&grants{allow: tc.allow})
			ctx := warning.WithWarningRecorder(requestContext("patch"), &got)
			if slices.Contains(tc.allow, "granular") {
				ctx, _, _, _ = gate.Fallback(ctx, attributes("patch"))
			}
			warning.AddWarning(ctx, "", "of the body")
			w := gate.Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "false", 1)))
			warning.AddWarning(ctx, "", "of the object")
			switch {
			case w == nil:
			case tc.end != nil:
				_ = w.RespondError(ctx, tc.end)
			default:
				w.Respond(ctx, object(t, plain))
			}
			warning.AddWarning(ctx, "", "late")
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, wanted %q", got, tc.want)
			}
		})
	}
}
