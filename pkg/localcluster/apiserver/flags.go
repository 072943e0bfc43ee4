// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"kube-granular.dev/pkg/features"
)

// reservedFlags maps the kube-apiserver flags that users can't set, because kube-granular sets
// them, to the reason or to the flag to use instead.
var reservedFlags = map[string]string{
	"bind-address":         "a local cluster listens on loopback only",
	"secure-port":          "use --port in front of --",
	"etcd-servers":         "use --etcd-servers in front of --",
	"tls-cert-file":        "the kubeconfigs trust the local cluster's own authority",
	"tls-private-key-file": "the kubeconfigs trust the local cluster's own authority",
}

type setting struct{ name, value string }

// settings returns the kube-apiserver flags for a Config, except --feature-gates.
func (c Config) settings() []setting {
	s := []setting{
		{"etcd-servers", strings.Join(c.EtcdServers, ",")},
		{"client-ca-file", c.Files.CA},
		{"tls-cert-file", c.Files.ServingCert},
		{"tls-private-key-file", c.Files.ServingKey},
		{"service-account-issuer", "https://kubernetes.default.svc"},
		{"service-account-signing-key-file", c.Files.ServiceAccountSigningKey},
		{"service-account-key-file", c.Files.ServiceAccountPublicKey},
		{"service-cluster-ip-range", "10.0.0.0/16"},
		{"bind-address", "127.0.0.1"},
		{"secure-port", strconv.Itoa(c.port())},
		{"advertise-address", "127.0.0.1"},
		// The endpoints of the service kubernetes can't have loopback addresses, so there is
		// nothing to reconcile.
		{"endpoint-reconciler-type", "none"},
		// With the default, a single open watch delays the shutdown by a minute.
		{"shutdown-watch-termination-grace-period", "2s"},
	}
	if c.AuthorizationConfig != "" {
		s = append(s, setting{"authorization-config", c.AuthorizationConfig})
	}
	if c.AuditLog != "" {
		s = append(s, setting{"audit-log-path", c.AuditLog}, setting{"audit-policy-file", c.AuditPolicy})
	}
	return s
}

// parse returns kube-apiserver's options for the Config and the user's flags in ExtraArgs.
func (c Config) parse() (*options.ServerRunOptions, error) {
	s := options.NewServerRunOptions()
	fs := flagSet(s)

	// --feature-gates adds to earlier values and overrides them, so it must be set before the user's
	// flags are parsed.
	if err := fs.Set("feature-gates", featureGates(c.FeatureGates)); err != nil {
		return nil, fmt.Errorf("--feature-gates: %w", err)
	}
	if err := fs.Parse(c.ExtraArgs); err != nil {
		return nil, fmt.Errorf("kube-apiserver's flags: %w", err)
	}
	if fs.NArg() != 0 {
		return nil, fmt.Errorf("kube-apiserver's flags: %q is not a flag", fs.Arg(0))
	}
	for _, name := range slices.Sorted(maps.Keys(reservedFlags)) {
		if fs.Changed(name) {
			return nil, fmt.Errorf("kube-apiserver's flags: --%s cannot be given: %s", name, reservedFlags[name])
		}
	}
	if c.AuthorizationConfig != "" && fs.Changed("authorization-config") {
		return nil, fmt.Errorf("--authorization-config: given in front of -- and after it")
	}
	chosen := fs.Changed("authorization-config") || fs.Changed("authorization-mode")
	if !chosen && c.AuthorizationConfig == "" {
		if err := fs.Set("authorization-mode", "RBAC"); err != nil {
			return nil, fmt.Errorf("--authorization-mode: %w", err)
		}
	}
	for _, f := range c.settings() {
		if fs.Changed(f.name) {
			continue
		}
		if err := fs.Set(f.name, f.value); err != nil {
			return nil, fmt.Errorf("--%s: %w", f.name, err)
		}
	}
	s.SecureServing.Listener = c.Listener
	return s, nil
}

// featureGates returns the value of --feature-gates: the user's gates, and
// GranularAuthorization=true unless the user sets it.
func featureGates(user map[string]bool) string {
	gates := maps.Clone(user)
	if gates == nil {
		gates = map[string]bool{}
	}
	ours := string(features.GranularAuthorization)
	_, plain := gates[ours]
	// The user may name a gate with its component: kube:GranularAuthorization.
	_, prefixed := gates[basecompatibility.DefaultKubeComponent+":"+ours]
	if !plain && !prefixed {
		gates[ours] = true
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, gates[name]))
	}
	return strings.Join(pairs, ",")
}
