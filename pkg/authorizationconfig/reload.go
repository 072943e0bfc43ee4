// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"context"
	"fmt"
	"slices"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// plainReload is the granular.Reload of a server that reloads as upstream's does. It checks the configuration.
type plainReload struct {
	file string
	dial utilnet.DialFunc
}

func (plainReload) Due() bool { return false }

func (r plainReload) Check(_ context.Context, config *apiserverapi.AuthorizationConfiguration, err error) (reconnects bool, _ error) {
	return false, Checks{}.Check(r.file, config, err)
}

func (plainReload) Use() {}

func (r plainReload) Dial() utilnet.DialFunc { return r.dial }

// reload is the granular.Reload of a server that watches the connections of webhooks.
type reload struct {
	file string
	dial utilnet.DialFunc

	// inForce are the connections of the webhooks in force.
	inForce []connection
	// checked is the configuration that was checked last. It is nil if upstream refused it: then the
	// server loads the file again only when the file changes.
	checked *apiserverapi.AuthorizationConfiguration
	// connections are those of checked.
	connections []connection
	// failed is set if the last check failed, and unanswered if the only reason was a webhook that did
	// not answer.
	failed, unanswered bool
}

// NewReload implements granular.Configurations. With watch, the connections of config are in force.
func (Checks) NewReload(file string, config *apiserverapi.AuthorizationConfiguration, dial utilnet.DialFunc, watch bool) granular.Reload {
	if !watch {
		return plainReload{file: file, dial: dial}
	}
	r := &reload{file: file, dial: separateDial(dial), checked: config, connections: connectionsOf(config)}
	r.Use()
	return r
}

// Due implements granular.Reload. It reports whether a webhook did not answer, or a file that a
// webhook needs has changed since the last check.
func (r *reload) Due() bool {
	return r.checked != nil && (r.unanswered || !slices.Equal(connectionsOf(r.checked), r.connections))
}

// Check implements granular.Reload. After a check that failed it reports a change in any case: so the
// server loads the configuration in force again if the file has it again, and counts a success.
func (r *reload) Check(ctx context.Context, config *apiserverapi.AuthorizationConfiguration, err error) (reconnects bool, _ error) {
	before := r.failed
	r.checked, r.connections, r.failed, r.unanswered = config, nil, true, false
	if config != nil {
		r.connections = connectionsOf(config)
	}
	if err := (Checks{}).Check(r.file, config, err); err != nil {
		return false, err
	}
	if err := probe(ctx, r.added(config)); err != nil {
		r.unanswered = true
		return false, fmt.Errorf("--authorization-config %s: %w", r.file, err)
	}
	r.failed = false
	return before || !slices.Equal(r.connections, r.inForce), nil
}

// added returns what to probe of a configuration: the webhooks whose connections are not in force.
func (r *reload) added(config *apiserverapi.AuthorizationConfiguration) []probed {
	var out []probed
	connections := r.connections
	for i, a := range config.Authorizers {
		if a.Webhook == nil {
			continue
		}
		if !slices.Contains(r.inForce, connections[0]) {
			out = append(out, probed{index: i, name: a.Name, webhook: a.Webhook, dial: r.dial})
		}
		connections = connections[1:]
	}
	return out
}

// Use implements granular.Reload.
func (r *reload) Use() { r.inForce = r.connections }

// Dial implements granular.Reload.
func (r *reload) Dial() utilnet.DialFunc { return r.dial }
