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

// newEtcd returns the etcd member to start and the URLs of etcd. The member is nil if an external
// etcd is configured.
func (c *cluster) newEtcd() (*etcd.Member, []string, error) {
	if len(c.EtcdServers) > 0 {
		return nil, c.EtcdServers, nil
	}
	log := c.etcdLog()
	member, err := etcd.New(etcd.Config{
		DataDir: filepath.Join(c.Dir, "etcd"),
		RunDir:  filepath.Join(c.Dir, "run"),
		NoSync:  c.NoSync,
		LogFile: log,
		Fatal: func(message string) {
			c.logf("etcd cannot continue: %s (log: %s)", message, relativePath(log))
			c.logf("%s", c.damagedDataHint())
		},
	})
	if err != nil {
		return nil, nil, err
	}
	c.addCleanup(member.Stop)
	return member, []string{member.Endpoint()}, nil
}

// etcdStartTimeout is the time limit for etcd to read the data of a small cluster.
const etcdStartTimeout = time.Minute

// damagedDataHint returns a text on what the user can do if etcd can't read its data.
func (c *cluster) damagedDataHint() string {
	return fmt.Sprintf("if its data is damaged: keep a copy of %s, then remove that directory for an empty cluster, or choose another with --dir", relativePath(filepath.Join(c.Dir, "etcd")))
}

// logEvery logs a message periodically until stop is called.
func (c *cluster) logEvery(interval time.Duration, what string) (stop func()) {
	ticker, done := time.NewTicker(interval), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.logf("%s", what)
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (c *cluster) etcdLog() string { return filepath.Join(c.Dir, "etcd.log") }

// startEtcd starts the embedded etcd member. It does nothing if member is nil, because the etcd is
// external.
func (c *cluster) startEtcd(ctx context.Context, member *etcd.Member) error {
	if member == nil {
		return nil
	}
	log := c.etcdLog()
	c.logf("starting etcd (log: %s)", relativePath(log))
	within, cancel := context.WithTimeout(ctx, etcdStartTimeout)
	defer cancel()
	stop := c.logEvery(progressInterval, "waiting for etcd")
	err := member.Start(within)
	stop()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; %s", err, c.damagedDataHint())
	}
	if err != nil {
		return err
	}
	go func() {
		if err := <-member.Err(); err != nil {
			c.failed <- fmt.Errorf("etcd failed: %w (its log is %s)", err, relativePath(log))
		}
	}()
	c.addCleanup(func() { c.logf("stopping etcd") })
	return nil
}

// server is a configured kube-apiserver.
type server struct {
	*apiserver.Server
	log string
	// ctx is the Go context with which the server runs, and cancel ends ctx. abandoned is closed
	// if the server was stopped before its start was complete. In that case Run never returns.
	ctx       context.Context
	cancel    func()
	abandoned chan struct{}
}

// newServer configures kube-apiserver and does not start it. It redirects the logs of the process,
// so it must be called before anything that writes logs is started.
func (c *cluster) newServer(ctx context.Context, l net.Listener, endpoints []string, files pki.Files) (*server, error) {
	path := filepath.Join(c.Dir, "kube-apiserver.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("can't open the log file of kube-apiserver: %w", err)
	}
	policy := ""
	if c.AuditLog != "" {
		if policy, err = writeAuditPolicy(c.Dir); err != nil {
			return nil, err
		}
	}
	// The server has a Go context of its own, because the server must run until everything that
	// uses it has stopped, which is after the end of ctx.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	gaveUp := make(chan struct{})
	configured, err := apiserver.New(serving, apiserver.Config{
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
				c.logf("kube-apiserver cannot continue (log: %s)", relativePath(path))
				return
			}
			// If kube-apiserver is stopped while it starts, it calls this function and would then
			// exit the process with an error. The function blocks forever to prevent the exit: a
			// stop is not an error, and etcd must be stopped before the process ends.
			close(gaveUp)
			select {}
		},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	c.addCleanup(cancel)
	return &server{Server: configured, log: path, ctx: serving, cancel: cancel, abandoned: gaveUp}, nil
}

// startServer starts kube-apiserver and returns once it is ready.
func (c *cluster) startServer(ctx context.Context, s *server, client *rest.Config) error {
	c.logf("starting kube-apiserver %s (log: %s)", version.Get().GitVersion, relativePath(s.log))
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := s.Run(s.ctx)
		if s.ctx.Err() == nil {
			if err == nil {
				err = errors.New("it ended by itself")
			}
			c.failed <- fmt.Errorf("kube-apiserver: %w (its log is %s)", err, relativePath(s.log))
		}
	}()
	c.addCleanup(func() {
		c.logf("stopping kube-apiserver")
		s.cancel()
		select {
		case <-done:
		case <-s.abandoned:
		}
	})
	return c.withFailures(ctx, func(ctx context.Context) error {
		return waitReady(ctx, "kube-apiserver", client, func(last error) { c.logf("waiting for kube-apiserver: %v", last) })
	})
}

func (c *cluster) startAggregation(client *rest.Config) error {
	ctx, cancel := context.WithCancel(context.Background())
	wait, err := aggregation.Start(ctx, client)
	if err != nil {
		cancel()
		return fmt.Errorf("start the controller of aggregated roles: %w", err)
	}
	c.addCleanup(func() {
		cancel()
		wait()
	})
	return nil
}
