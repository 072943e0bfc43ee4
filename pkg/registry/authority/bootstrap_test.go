// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// nameOfRole returns the name of the role or binding that a request creates or updates.
func nameOfRole(action clienttesting.Action) string {
	object := action.(interface{ GetObject() runtime.Object }).GetObject()
	return object.(metav1.Object).GetName()
}

// TestWriteRoles holds that the server writes all bootstrap roles and bindings that nothing refuses, that the error names the others,
// and that it restores what an administrator removed, unless the annotation says otherwise.
func TestWriteRoles(t *testing.T) {
	p := &Provider{Attributes: true, Delegations: &Delegations{}}
	every := []string{ViewRole, ManageRole, ControllersRole, DelegatorRole}
	refusal := apierrors.NewForbidden(rbacv1.Resource("clusterroles"), "x", errors.New("denied by a policy"))
	for name, tc := range map[string]struct {
		refuses, stored []string
		protected       bool
		conflicts       int
		want            []string // that have rules
		errors          []string
	}{
		"nothing is refused": {want: every},
		"all are there":      {stored: every, want: every},
		"a role is refused": {refuses: []string{ViewRole}, want: every[1:],
			errors: []string{"write ClusterRole " + ViewRole + ": ", "denied by a policy"}},
		"a binding is refused": {refuses: []string{"binding"}, want: every,
			errors: []string{"write ClusterRoleBinding " + ControllersRole + ": "}},
		"an update is refused": {refuses: []string{ViewRole}, stored: every, want: every[1:],
			errors: []string{"write ClusterRole " + ViewRole + ": "}},
		"an administrator's":    {stored: every, protected: true},
		"conflicts are retried": {stored: every, conflicts: 2, want: every},
	} {
		t.Run(name, func(t *testing.T) {
			client, conflicts := fake.NewClientset(), tc.conflicts
			for _, role := range tc.stored {
				bare := &rbacv1.ClusterRole{ObjectMeta: bootstrapMeta(role, map[string]string{})}
				if tc.protected {
					bare.Annotations[rbacv1.AutoUpdateAnnotationKey] = "false"
				}
				if err := client.Tracker().Add(bare); err != nil {
					t.Fatal(err)
				}
			}
			client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				switch {
				case action.GetVerb() == "get":
				case action.GetVerb() == "update" && conflicts > 0:
					conflicts--
					return true, nil, apierrors.NewConflict(rbacv1.Resource("clusterroles"), "x", errors.New("changed"))
				case action.GetResource().Resource == "clusterrolebindings" && slices.Contains(tc.refuses, "binding"),
					action.GetResource().Resource == "clusterroles" && slices.Contains(tc.refuses, nameOfRole(action)):
					return true, nil, refusal
				}
				return false, nil, nil
			})
			err := writeRoles(p.policy(), client.RbacV1())
			if (err != nil) != (len(tc.errors) > 0) {
				t.Fatal(err)
			}
			for _, says := range tc.errors {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q is not in %v", says, err)
				}
			}
			complete := map[string]bool{}
			for _, role := range p.policy().ClusterRoles {
				stored, err := client.RbacV1().ClusterRoles().Get(t.Context(), role.Name, metav1.GetOptions{})
				if err == nil && len(stored.Rules) > 0 {
					complete[role.Name] = true
				}
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(tc.want)), slices.Sorted(maps.Keys(complete))); diff != "" {
				t.Errorf("complete (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRepeat holds that a failure is logged once and the roles are tried again, until they are written or the server ends.
func TestRepeat(t *testing.T) {
	var logged atomic.Int64
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) { logged.Add(1) }}
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	backoff := wait.Backoff{Duration: time.Microsecond}
	attempts := 0
	<-repeat(t.Context(), backoff, func() error {
		if attempts++; attempts < 4 {
			return errors.New("refused")
		}
		return nil
	})
	if attempts != 4 || logged.Load() != 3 {
		t.Errorf("written after %d attempts, %d failures are logged", attempts, logged.Load())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	written := repeat(ctx, backoff, func() error {
		if ctx.Err() == nil {
			stop()
			close(ended)
		}
		return errors.New("refused")
	})
	<-ended
	select {
	case <-written:
		t.Error("a server that ended has written the roles")
	default:
	}
}

// TestRolesBackoff holds that the attempts become rare, and do not end.
func TestRolesBackoff(t *testing.T) {
	backoff, last := rolesBackoff(), time.Duration(0)
	if first := backoff.Step(); first < time.Second || first > 2*time.Second {
		t.Errorf("the second attempt is after %v", first)
	}
	for range 100 {
		last = backoff.Step()
	}
	if last < time.Minute || last > 2*time.Minute {
		t.Errorf("an attempt every %v", last)
	}
}

// TestStartRoles holds that a server starts although its bootstrap roles are refused, and waits for those that are not.
func TestStartRoles(t *testing.T) {
	p := &Provider{Attributes: true}
	for name, refuses := range map[string]bool{"refused": true, "written": false} {
		t.Run(name, func(t *testing.T) {
			var created atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				code := http.StatusNotFound
				if req.Method == http.MethodPost {
					if code = http.StatusForbidden; !refuses {
						created.Add(1)
						code = http.StatusCreated
					}
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				if code == http.StatusCreated {
					_, _ = w.Write([]byte(`{}`))
				}
			}))
			t.Cleanup(server.Close)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			patience := time.Microsecond
			if !refuses {
				patience = time.Hour
			}
			if err := startRoles(ctx, p.policy, &restclient.Config{Host: server.URL}, patience); err != nil {
				t.Error(err)
			}
			if want := map[bool]int64{true: 0, false: 4}[refuses]; created.Load() != want {
				t.Errorf("%d roles and bindings are written, want %d", created.Load(), want)
			}
		})
	}
}
