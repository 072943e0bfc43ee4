// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	// kube-apiserver's main package imports these packages too, because they register themselves.
	_ "time/tzdata"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	"kube-granular.dev/pkg/localcluster/pki"
)

// Config configures kube-apiserver. Paths are absolute.
type Config struct {
	// Listener is the TCP listener of the server. The server closes it.
	Listener net.Listener
	// EtcdServers are etcd's URLs.
	EtcdServers []string
	// Files are the paths of the certificates and keys.
	Files pki.Files
	// FeatureGates are the user's gates. GranularAuthorization is on unless this map turns it off.
	FeatureGates map[string]bool
	// AuthorizationConfig is the file for --authorization-config. Empty means RBAC.
	AuthorizationConfig string
	// AuditLog and AuditPolicy are the audit log and its policy file. Empty means no audit log.
	AuditLog, AuditPolicy string
	// ExtraArgs are further flags of kube-apiserver. They override the flags from other fields.
	ExtraArgs []string
	// Log receives the server's log.
	Log io.Writer
	// Fatal is called at most once, before the process exits because the server can't continue.
	Fatal func()
}

func (c Config) port() int {
	if addr, ok := c.Listener.Addr().(*net.TCPAddr); ok {
		return addr.Port
	}
	return 0
}

// Server is a configured kube-apiserver that is not running yet.
type Server struct {
	options options.CompletedOptions
	rbac    bool
}

// New validates the configuration as kube-apiserver does, and directs the logs of the process to
// the configured log. It must be called at most once in a process.
func New(ctx context.Context, c Config) (*Server, error) {
	s, err := c.parse()
	if err != nil {
		return nil, err
	}
	verflag.PrintAndExitIfRequested()
	registry := s.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := registry.Set(); err != nil {
		return nil, fmt.Errorf("kube-apiserver's feature gates: %w", err)
	}
	// As in upstream's kube-apiserver, warnings that the server's own clients receive are not
	// logged.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	gate := registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	logging := &logsapi.LoggingOptions{ErrorStream: c.Log, InfoStream: c.Log}
	if err := logsapi.ValidateAndApplyWithOptions(s.Logs, logging, gate); err != nil {
		return nil, fmt.Errorf("kube-apiserver's logging: %w", err)
	}
	exit, fatal := klog.OsExit, sync.OnceFunc(c.Fatal)
	klog.OsExit = func(code int) {
		fatal()
		exit(code)
	}

	if err := checkAuthorization(s.Authorization); err != nil {
		return nil, err
	}
	completed, err := s.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("complete kube-apiserver's options: %w", err)
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return nil, fmt.Errorf("kube-apiserver's options: %w", utilerrors.NewAggregate(errs))
	}
	if g, ok := gate.(featuregate.MutableFeatureGate); ok {
		g.AddMetrics()
	}
	registry.AddMetrics()
	rbac, err := usesRBAC(completed.Authorization)
	if err != nil {
		return nil, err
	}
	return &Server{options: completed, rbac: rbac}, nil
}

// RBAC reports whether RBAC is one of the server's authorizers.
func (s *Server) RBAC() bool { return s.rbac }

// Run serves until ctx ends and the requests in flight are answered.
func (s *Server) Run(ctx context.Context) error {
	return app.Run(ctx, s.options)
}

// flagSet returns all flags of the kube-apiserver command.
func flagSet(s *options.ServerRunOptions) *pflag.FlagSet {
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	fs.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	named := s.Flags()
	s.Flagz = flagz.NamedFlagSetsReader{FlagSets: named}
	verflag.AddFlags(named.FlagSet("global"))
	globalflag.AddGlobalFlags(named.FlagSet("global"), fs.Name(), logs.SkipLoggingConfigurationFlags())
	for _, f := range named.FlagSets {
		fs.AddFlagSet(f)
	}
	return fs
}
