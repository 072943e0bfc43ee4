// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"kube-granular.dev/pkg/localcluster/aggregation"
	"kube-granular.dev/pkg/localcluster/apiserver"
	"kube-granular.dev/pkg/localcluster/etcd"
	"kube-granular.dev/pkg/localcluster/pki"
)

// startTimeout bounds the time from the server's start to readiness. It takes
// seconds; a machine that needs minutes is busy, one that needs longer is stuck.
const startTimeout = 5 * time.Minute

// cluster is one that is being started, running or being stopped.
type cluster struct {
	Options
	// stop holds what to undo, in the order it was done.
	stop []func()
	// failed receives the error of a part that ended on its own.
	failed chan error
}

// Up starts a cluster, says when it is ready, and runs it until ctx is done;
// then it stops it and returns nil. It returns an error when the options make no
// sense, the port or the directory is taken, or a part fails. Call it once in a
// process, as kube-apiserver keeps state in package variables.
func Up(ctx context.Context, o Options) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	c := &cluster{Options: o, failed: make(chan error, 2)}
	defer c.shutdown()
	if err := c.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop while starting
		}
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.failed:
		return err
	}
}

func (c *cluster) start(ctx context.Context) error {
	listener, err := claimPort(c.Port)
	if err != nil {
		return err
	}
	c.onStop(func() { _ = listener.Close() })
	release, err := claimDir(c.Dir)
	if err != nil {
		return err
	}
	c.onStop(release)
	c.say("data, certificates, kubeconfigs and logs: %s", display(c.Dir))

	authority, files, err := pki.Ensure(filepath.Join(c.Dir, "pki"))
	if err != nil {
		return err
	}
	access := access{dir: c.Dir, url: "https://" + listener.Addr().String(), authority: authority}
	admin, err := access.byCertificate(adminUser, adminGroup)
	if err != nil {
		return err
	}
	client, err := restConfig(admin)
	if err != nil {
		return err
	}

	endpoints, err := c.startEtcd(ctx)
	if err != nil {
		return err
	}
	server, err := c.startServer(ctx, listener, endpoints, files, client)
	if err != nil {
		return err
	}
	if err := c.startAggregation(client); err != nil {
		return err
	}
	if c.Demo {
		if err := c.withFailures(ctx, func(ctx context.Context) error {
			return c.startDemo(ctx, access, client, server.RBAC())
		}); err != nil {
			return err
		}
	}
	c.sayNext(access)
	_, err = fmt.Fprintf(c.Out, "ready: %s\n", access.url)
	return err
}

// startEtcd returns the URLs of the etcd to use.
func (c *cluster) startEtcd(ctx context.Context) ([]string, error) {
	if len(c.EtcdServers) > 0 {
		return c.EtcdServers, nil
	}
	log := filepath.Join(c.Dir, "etcd.log")
	c.say("starting etcd (log: %s)", display(log))
	member, err := etcd.Start(ctx, etcd.Config{
		DataDir: filepath.Join(c.Dir, "etcd"),
		RunDir:  filepath.Join(c.Dir, "run"),
		LogFile: log,
		Fatal:   func(message string) { c.say("etcd cannot go on: %s (log: %s)", message, display(log)) },
	})
	if err != nil {
		return nil, err
	}
	go func() {
		if err := <-member.Err(); err != nil {
			c.failed <- fmt.Errorf("etcd failed: %w (its log is %s)", err, display(log))
		}
	}()
	c.onStop(func() {
		c.say("stopping etcd")
		member.Stop()
	})
	return []string{member.Endpoint()}, nil
}

// startServer starts kube-apiserver and returns once it is ready.
func (c *cluster) startServer(ctx context.Context, l net.Listener, endpoints []string, files pki.Files, client *rest.Config) (*apiserver.Server, error) {
	path := filepath.Join(c.Dir, "kube-apiserver.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open kube-apiserver's log: %w", err)
	}
	c.say("starting kube-apiserver %s (log: %s)", version.Get().GitVersion, display(path))
	policy := ""
	if c.AuditLog != "" {
		if policy, err = writeAuditPolicy(c.Dir); err != nil {
			return nil, err
		}
	}
	// The server must outlive ctx by as much as the parts that use it need to end.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	gaveUp := make(chan struct{})
	server, err := apiserver.New(serving, apiserver.Config{
		Listener:            l,
		EtcdServers:         endpoints,
		Files:               files,
		FeatureGates:        c.FeatureGates,
		AuthorizationConfig: c.AuthorizationConfig,
		AuditLog:            c.AuditLog,
		AuditPolicy:         policy,
		ExtraArgs:           c.ExtraArgs,
		Log:                 log,
		Fatal: func() {
			if serving.Err() == nil {
				c.say("kube-apiserver cannot go on (log: %s)", display(path))
				return
			}
			// Asked to stop in the midst of its start, kube-apiserver ends its
			// process with an error. It is none, and etcd has yet to be stopped.
			close(gaveUp)
			select {}
		},
	})
	if err != nil {
		cancel()
		return nil, err
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		err := server.Run(serving)
		if serving.Err() == nil {
			if err == nil {
				err = errors.New("it ended by itself")
			}
			c.failed <- fmt.Errorf("kube-apiserver: %w (its log is %s)", err, display(path))
		}
	}()
	c.onStop(func() {
		c.say("stopping kube-apiserver")
		cancel()
		select {
		case <-done:
		case <-gaveUp:
		}
	})
	return server, c.withFailures(ctx, func(ctx context.Context) error {
		return waitReady(ctx, client)
	})
}

func (c *cluster) startAggregation(client *rest.Config) error {
	ctx, cancel := context.WithCancel(context.Background())
	wait, err := aggregation.Start(ctx, client)
	if err != nil {
		cancel()
		return fmt.Errorf("start the controller of aggregated roles: %w", err)
	}
	c.onStop(func() {
		cancel()
		wait()
	})
	return nil
}

// withFailures calls f and ends it early when a part of the cluster fails, or
// when it takes longer than any start should.
func (c *cluster) withFailures(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
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

func (c *cluster) onStop(f func()) { c.stop = append(c.stop, f) }

// shutdown undoes what was done, last first.
func (c *cluster) shutdown() {
	for i := len(c.stop) - 1; i >= 0; i-- {
		c.stop[i]()
	}
}

func (c *cluster) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Progress, "kube-granular: "+format+"\n", args...)
}
