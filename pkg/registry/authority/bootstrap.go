// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
)

const (
	// rolesPatience is how long the server is not ready because the bootstrap roles are not written yet.
	rolesPatience = 10 * time.Second
	// roleTimeout is the longest time that one request for a role may take. A webhook may take 30 seconds.
	roleTimeout = 40 * time.Second
)

// rolesBackoff returns the times between attempts to write the bootstrap roles: from a second to a minute.
func rolesBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 10, Cap: time.Minute}
}

// startRoles writes the bootstrap roles and bindings, until they are written or ctx ends, and returns once they are or after
// patience. A webhook or policy that refuses a role, or is down, does not stop the server, unlike with upstream's roles: who
// needs the role is refused meanwhile.
func startRoles(ctx context.Context, policy func() *rbacrest.PolicyData, self *restclient.Config, patience time.Duration) error {
	config := restclient.CopyConfig(self)
	config.Timeout = roleTimeout
	client, err := rbacv1client.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for bootstrap roles: %w", err)
	}
	written := repeat(ctx, rolesBackoff(), func() error { return writeRoles(policy(), client) })
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-written:
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// repeat calls write on a goroutine until it succeeds or ctx ends. It logs each failure once. The channel is closed when write
// has succeeded.
func repeat(ctx context.Context, backoff wait.Backoff, write func() error) <-chan struct{} {
	written := make(chan struct{})
	go func() {
		for ctx.Err() == nil {
			err := write()
			if err == nil {
				close(written)
				return
			}
			pause := backoff.Step()
			utilruntime.HandleErrorWithContext(ctx, err, "Bootstrap roles are not written, will retry", "after", pause)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
	return written
}

// writeRoles creates or updates the roles and bindings of a policy, as upstream's server does with its own. It tries all of them, and
// returns the errors of those that failed.
func writeRoles(policy *rbacrest.PolicyData, client rbacv1client.RbacV1Interface) error {
	var failed []error
	attempt := func(kind, name string, write func() error) {
		again := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsServiceUnavailable(err) }
		if err := retry.OnError(retry.DefaultBackoff, again, write); err != nil {
			failed = append(failed, fmt.Errorf("write %s %s: %w", kind, name, err))
		}
	}
	for i := range policy.ClusterRoles {
		role := &policy.ClusterRoles[i]
		attempt("ClusterRole", role.Name, func() error {
			_, err := (&reconciliation.ReconcileRoleOptions{
				Role:   reconciliation.ClusterRoleRuleOwner{ClusterRole: role},
				Client: reconciliation.ClusterRoleModifier{Client: client.ClusterRoles()}, Confirm: true,
			}).Run()
			return err
		})
	}
	for i := range policy.ClusterRoleBindings {
		binding := &policy.ClusterRoleBindings[i]
		attempt("ClusterRoleBinding", binding.Name, func() error {
			_, err := (&reconciliation.ReconcileRoleBindingOptions{
				RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding},
				Client:      reconciliation.ClusterRoleBindingClientAdapter{Client: client.ClusterRoleBindings()}, Confirm: true,
			}).Run()
			return err
		})
	}
	return errors.Join(failed...)
}
