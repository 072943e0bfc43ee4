// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/localcluster/pki"
)

// startTimeout is the time limit for each step of the start that waits for the server. A step takes
// seconds, or minutes on a busy machine.
const startTimeout = 5 * time.Minute

// ErrStopped is the error of a cluster that was stopped before it was ready.
var ErrStopped = errors.New("stopped before the cluster was ready")

// cluster is a cluster that is starting, running or stopping.
type cluster struct {
	Options
	// cleanups are called in reverse order when the cluster stops.
	cleanups []func()
	// failed receives the error of a component that ended by itself.
	failed chan error
}

// Up starts a cluster, prints a line when the cluster is ready, and runs it until ctx ends. Then
// it stops the cluster and returns nil. It returns ErrStopped if ctx ends before the cluster is
// ready. It returns an error if the options are not valid, the port or the directory is in use, or
// a component fails. It must be called at most once in a process, because kube-apiserver keeps
// state in package variables.
func Up(ctx context.Context, o Options) error {
	return runWith(ctx, o, func(ctx context.Context, c *cluster, access kubeconfigs) error {
		c.printNextSteps(access)
		if err := printing.Fprintf(c.Out, "ready: %s\n", access.url); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
}

// runWith starts a cluster, calls use, and stops the cluster when use returns. The Go context of use
// ends when ctx ends or a component of the cluster fails.
func runWith(ctx context.Context, o Options, use func(context.Context, *cluster, kubeconfigs) error) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	c := &cluster{Options: o, failed: make(chan error, 3)}
	defer c.shutdown()
	access, err := c.start(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ErrStopped
		}
		return err
	}
	return c.untilFailure(ctx, func(ctx context.Context) error { return use(ctx, c, access) })
}

func (c *cluster) start(ctx context.Context) (kubeconfigs, error) {
	controller, err := c.findTenancy()
	if err != nil {
		return kubeconfigs{}, err
	}
	listener, err := listenOn(c.Port)
	if err != nil {
		return kubeconfigs{}, err
	}
	c.addCleanup(func() { _ = listener.Close() })
	release, err := lockDir(c.Dir)
	if err != nil {
		return kubeconfigs{}, err
	}
	c.addCleanup(release)
	c.logf("data, certificates, kubeconfigs and logs: %s", relativePath(c.Dir))

	authority, files, err := pki.Ensure(filepath.Join(c.Dir, "pki"))
	if err != nil {
		return kubeconfigs{}, err
	}
	access := kubeconfigs{dir: c.Dir, url: "https://" + listener.Addr().String(), authority: authority}
	admin, err := access.byCertificate(adminUser, adminGroup)
	if err != nil {
		return kubeconfigs{}, err
	}
	client, err := restConfig(admin)
	if err != nil {
		return kubeconfigs{}, err
	}

	// Everything is configured before anything is started, so that nothing has to be stopped if a
	// flag is invalid.
	member, endpoints, err := c.newEtcd()
	if err != nil {
		return kubeconfigs{}, err
	}
	server, err := c.newServer(ctx, listener, endpoints, files)
	if err != nil {
		return kubeconfigs{}, err
	}
	if err := c.waitForEtcd(ctx); err != nil {
		return kubeconfigs{}, err
	}
	if err := c.startEtcd(ctx, member); err != nil {
		return kubeconfigs{}, err
	}
	if err := c.startServer(ctx, server, client); err != nil {
		return kubeconfigs{}, err
	}
	if err := c.startAggregation(client); err != nil {
		return kubeconfigs{}, err
	}
	if c.Demo {
		if err := c.withFailures(ctx, func(ctx context.Context) error {
			return c.startDemo(ctx, access, client, server.RBAC())
		}); err != nil {
			return kubeconfigs{}, err
		}
	}
	if controller != "" {
		if err := c.startTenancy(ctx, access, controller); err != nil {
			return kubeconfigs{}, err
		}
	}
	return access, nil
}

// withFailures is untilFailure with a time limit, startTimeout.
func (c *cluster) withFailures(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return c.untilFailure(ctx, f)
}

// untilFailure calls f and returns its error. If a component of the cluster fails, it cancels the Go
// context of f, and returns the error of the component.
func (c *cluster) untilFailure(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- f(ctx) }()
	select {
	case err := <-result:
		return err
	case err := <-c.failed:
		cancel()
		<-result
		return err
	}
}

func (c *cluster) addCleanup(f func()) { c.cleanups = append(c.cleanups, f) }

// shutdown calls the cleanups, the last one first.
func (c *cluster) shutdown() {
	for i := len(c.cleanups) - 1; i >= 0; i-- {
		c.cleanups[i]()
	}
}

func (c *cluster) logf(format string, args ...any) {
	_ = printing.Fprintf(c.Progress, "kube-granular: "+format+"\n", args...)
}
