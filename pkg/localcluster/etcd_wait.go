// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"
)

// etcdTimeout is the time limit for connecting to an external etcd.
const etcdTimeout = 10 * time.Second

// waitForEtcd waits until the external etcd accepts connections, if one is configured. Without
// this wait, kube-apiserver would wait longer itself, and report neither the wait nor the URL.
func (c *cluster) waitForEtcd(ctx context.Context) error {
	for _, endpoint := range c.EtcdServers {
		if err := c.waitFor(ctx, endpoint, etcdTimeout); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) waitFor(ctx context.Context, endpoint string, patience time.Duration) error {
	network, address, err := addressOf(endpoint)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for tries := 0; ; tries++ {
		var dialer net.Dialer
		connection, err := dialer.DialContext(within, network, address)
		if err == nil {
			return connection.Close()
		}
		if tries == 0 {
			c.logf("waiting for etcd at %s", endpoint)
		}
		select {
		case <-within.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("--etcd-servers: no connection to %s within %s: %w; is etcd running there?", endpoint, patience, err)
		case <-time.After(pollInterval):
		}
	}
}

// addressOf returns the network and address to dial for the URL of an etcd.
func addressOf(endpoint string) (network, address string, err error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", "", fmt.Errorf("--etcd-servers: %w", err)
	}
	switch {
	case u.Scheme == "unix":
		return "unix", u.Host + u.Path, nil
	case u.Host == "":
		return "", "", fmt.Errorf("--etcd-servers: %q names no host", endpoint)
	case u.Port() == "":
		return "tcp", net.JoinHostPort(u.Hostname(), "2379"), nil
	}
	return "tcp", u.Host, nil
}
