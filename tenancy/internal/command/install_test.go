// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestManifestsOfSudo checks that the command manifests prints those of the mode of sudo that the
// flag names, and refuses a mode that does not exist: a misspelled one would install the other.
func TestManifestsOfSudo(t *testing.T) {
	print := func(args ...string) (string, error) {
		show := newManifestsCommands()[0]
		var out bytes.Buffer
		show.SetOut(&out)
		show.SetErr(&out)
		show.SilenceUsage = true
		show.SetArgs(args)
		err := show.Execute()
		return out.String(), err
	}
	impersonation, err := print()
	if err != nil {
		t.Fatal(err)
	}
	delegation, err := print("--sudo=Delegation")
	if err != nil {
		t.Fatal(err)
	}
	if impersonation == delegation {
		t.Error("both modes of sudo have the same manifests")
	}
	for _, mode := range []string{"delegation", "Delegate", ""} {
		if out, err := print("--sudo=" + mode); err == nil || !strings.Contains(err.Error(), "want Impersonation or Delegation") {
			t.Errorf("--sudo=%s: %v, %d bytes of manifests", mode, err, len(out))
		}
	}
}

// TestAwaitForce checks that install ends only when the policy wrote down a creator, or when what decides after the policy
// refused the attempt.
func TestAwaitForce(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	unknown := func(client.Object) error { return nil } // the server knows nothing of the policy
	unready := func(client.Object) error { return apierrors.NewServiceUnavailable("no schema yet") }
	applied := func(o client.Object) error { o.SetAnnotations(map[string]string{names.Creator: "a"}); return nil }
	refused := func(client.Object) error { return apierrors.NewInternalError(errors.New("no webhook")) }
	for name, tc := range map[string]struct {
		answers []func(client.Object) error
		tries   int
		fails   bool
	}{
		"applied at once":       {[]func(client.Object) error{applied}, 1, false},
		"unknown, then unready": {[]func(client.Object) error{unknown, unready, unknown, applied}, 4, false},
		"a webhook is away":     {[]func(client.Object) error{unready, refused}, 2, false},
		"never":                 {[]func(client.Object) error{unknown}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			api := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if len(opts) != 1 || opts[0] != client.DryRunAll {
						t.Error("the attempt is stored")
					}
					tries++
					return tc.answers[min(tries, len(tc.answers))-1](o)
				},
			}).Build()
			ctx, cancel := context.WithCancel(t.Context())
			if tc.fails {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
			}
			defer cancel()
			err := awaitForce(ctx, api)
			if tc.fails != (err != nil) || tc.fails && !strings.Contains(err.Error(), "lnamespace-creation: not in force") {
				t.Errorf("error %v", err)
			}
			if !tc.fails && tries != tc.tries {
				t.Errorf("%d tries, want %d", tries, tc.tries)
			}
		})
	}
}
