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

// newEtcd makes the member to start, nil if there is an etcd to use, and gives the URLs.
func (c *cluster) newEtcd() (*etcd.Member, []string, error) {
	if len(c.EtcdServers) > 0 {
		return nil, c.EtcdServers, nil
	}
	log := c.etcdLog()
	member, err := etcd.New(etcd.Config{
		DataDir: filepath.Join(c.Dir, "etcd"),
		RunDir:  filepath.Join(c.Dir, "run"),
		LogFile: log,
		Fatal: func(message string) {
			c.say("etcd cannot go on: %s (log: %s)", message, display(log))
			c.say("%s", c.ifDamaged())
		},
	})
	if err != nil {
		return nil, nil, err
	}
	c.onStop(member.Stop)
	return member, []string{member.Endpoint()}, nil
}

// etcdStartTimeout is how long etcd may take to read its data. It is a small cluster's.
const etcdStartTimeout = time.Minute

// ifDamaged says what to do about data that etcd can't read.
func (c *cluster) ifDamaged() string {
	return fmt.Sprintf("if its data is damaged: keep a copy of %s, then remove that directory for an empty cluster, or choose another with --dir", display(filepath.Join(c.Dir, "etcd")))
}

// sayEvery says something again and again until it is stopped.
func (c *cluster) sayEvery(interval time.Duration, what string) (stop func()) {
	ticker, done := time.NewTicker(interval), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.say("%s", what)
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

// startEtcd starts a member, unless there is none.
func (c *cluster) startEtcd(ctx context.Context, member *etcd.Member) error {
	if member == nil {
		return nil
	}
	log := c.etcdLog()
	c.say("starting etcd (log: %s)", display(log))
	within, cancel := context.WithTimeout(ctx, etcdStartTimeout)
	defer cancel()
	stop := c.sayEvery(patience, "waiting for etcd")
	err := member.Start(within)
	stop()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; %s", err, c.ifDamaged())
	}
	if err != nil {
		return err
	}
	go func() {
		if err := <-member.Err(); err != nil {
			c.failed <- fmt.Errorf("etcd failed: %w (its log is %s)", err, display(log))
		}
	}()
	c.onStop(func() { c.say("stopping etcd") })
	return nil
}

// server is a kube-apiserver that is configured.
type server struct {
	*apiserver.Server
	log string
	// serving ends when cancel is called. gaveUp is closed if the server is stopped in the
	// midst of its start.
	serving context.Context
	cancel  func()
	gaveUp  chan struct{}
}

// newServer configures kube-apiserver. It directs the logging of the process, which is
// only safe while nothing else runs that may log.
func (c *cluster) newServer(ctx context.Context, l net.Listener, endpoints []string, files pki.Files) (*server, error) {
	path := filepath.Join(c.Dir, "kube-apiserver.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open kube-apiserver's log: %w", err)
	}
	policy := ""
	if c.AuditLog != "" {
		if policy, err = writeAuditPolicy(c.Dir); err != nil {
			return nil, err
		}
	}
	// The server must outlive ctx by as much as the parts that use it need to end.
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
	c.onStop(cancel)
	return &server{Server: configured, log: path, serving: serving, cancel: cancel, gaveUp: gaveUp}, nil
}

// startServer starts kube-apiserver and returns once it is ready.
func (c *cluster) startServer(ctx context.Context, s *server, client *rest.Config) error {
	c.say("starting kube-apiserver %s (log: %s)", version.Get().GitVersion, display(s.log))
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := s.Run(s.serving)
		if s.serving.Err() == nil {
			if err == nil {
				err = errors.New("it ended by itself")
			}
			c.failed <- fmt.Errorf("kube-apiserver: %w (its log is %s)", err, display(s.log))
		}
	}()
	c.onStop(func() {
		c.say("stopping kube-apiserver")
		s.cancel()
		select {
		case <-done:
		case <-s.gaveUp:
		}
	})
	return c.withFailures(ctx, func(ctx context.Context) error {
		return waitReady(ctx, client, func(last error) { c.say("waiting for kube-apiserver: %v", last) })
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
