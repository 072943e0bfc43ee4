// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/klog/v2"
)

// TestFailuresAreLogged checks that an error of the authorizer is logged, and that the caller
// sees only that the authorizer failed. It checks each place that calls the authorizer.
func TestFailuresAreLogged(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	for name, fails := range map[string]func(ctx context.Context) error{
		"granular": func(ctx context.Context) error {
			_, _, _, err := New(&grants{fail: []string{"granular"}}).Fallback(ctx, attributes("update"))
			return err
		},
		"granular, for the create of an update": func(ctx context.Context) error {
			_, _, _, err := New(&grants{fail: []string{"granular"}}).AuthorizeCreate(ctx, of, nil, attributes("create"))
			return err
		},
		"a permission": func(ctx context.Context) error {
			ctx, _ = granular.WithMarker(ctx)
			w := New(&grants{fail: []string{"granular:size"}, allow: []string{"get"}}).Begin(ctx, of)
			err := w.Verify(ctx, object(t, larger), object(t, plain))
			if !apierrors.IsInternalError(err) {
				t.Errorf("got %v, wanted a 500", err)
			}
			if answer := w.RespondError(ctx, err); answer != err {
				t.Errorf("a caller that may get the object sees %v", answer)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			ctx := klog.NewContext(requestContext("update"), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
			err := fails(ctx)
			if err == nil || !strings.Contains(err.Error(), errUnanswered.Error()) || strings.Contains(err.Error(), "out of order") {
				t.Errorf("the caller sees %v", err)
			}
			if len(lines) != 1 || !strings.Contains(lines[0], "out of order") || !strings.Contains(lines[0], "things") {
				t.Errorf("logged %q", lines)
			}
		})
	}
}
