// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/localcluster/tenancy"
)

// controllerUser is the name of the controller's kubeconfig.
const controllerUser = "tenancy-controller"

// startTenancy starts the tenancy controller, a separate process, and returns once it is ready.
func (c *cluster) startTenancy(ctx context.Context, access kubeconfigs, program string) error {
	if _, err := access.byCertificateAs(controllerUser, tenancy.User, tenancy.Groups...); err != nil {
		return err
	}
	config := tenancy.Config{
		Admin: access.path(adminUser), Kubeconfig: access.path(controllerUser), Dir: c.Dir,
		FieldPermissions: c.granular(), SudoByDelegation: c.delegates(),
	}
	c.logf("starting tenancy-controller (log: %s, bill: %s)", relativePath(config.Log()), relativePath(config.Bill()))
	return c.withFailures(ctx, func(ctx context.Context) error {
		k, err := tenancy.Start(ctx, program, config)
		if err != nil {
			return err
		}
		stopping := make(chan struct{})
		go func() {
			select {
			case <-stopping:
			case err := <-k.Ended:
				k.Ended <- err // Stop receives it
				c.failed <- fmt.Errorf("tenancy-controller: %w (its log is %s)", err, relativePath(config.Log()))
			}
		}()
		c.addCleanup(func() {
			c.logf("stopping tenancy-controller")
			close(stopping)
			k.Stop()
		})
		return waitReady(ctx, "tenancy-controller", &rest.Config{Host: k.Health}, func(error) {})
	})
}

// findTenancy returns the path of the tenancy controller, or "" if the controller is not enabled.
// It is called before anything is started, so that nothing has to be stopped if the program is
// missing.
func (c *cluster) findTenancy() (string, error) {
	if !c.Tenancy {
		return "", nil
	}
	program, err := tenancy.Find()
	if err != nil {
		return "", fmt.Errorf("--tenancy: %w", err)
	}
	return filepath.Abs(program)
}
