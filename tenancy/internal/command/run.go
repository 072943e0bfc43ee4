// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing"
	"kube-granular.dev/tenancy/internal/billing/store"
	"kube-granular.dev/tenancy/internal/controller"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/naming"
)

// runOptions are the flags of the command run.
type runOptions struct {
	controller.Options
	billing                         store.Config
	kubeconfig, namespace, pattern  string
	metricsAddress, healthAddress   string
	pprofAddress                    string
	leaderElect, untilStdin         bool
	webhook                         webhookOptions
	leaseDuration, renew, retryWait time.Duration
}

func newRunCommand() *cobra.Command {
	o := runOptions{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controllers",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd, o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.kubeconfig, "kubeconfig", "",
		"kubeconfig to use; empty means the service account of the pod, or else the default kubeconfig")
	fs.StringVar(&o.namespace, "namespace", "tenancy-system", "namespace of the controller; no tenant may have this name")
	fs.StringVar(&o.UserRole, "user-role", "edit", "ClusterRole that the users of a tenant are bound to in its namespace")
	fs.BoolVar(&o.FieldPermissions, "field-permissions", false,
		"the API server authorizes single fields: grant managers and sudo the verb granular on LNamespaces instead of update and patch")
	fs.StringVar((*string)(&o.Sudo), "sudo", string(grants.Impersonation),
		"how sudoers use sudo: Impersonation, which works on any cluster, or Delegation, which needs a server that serves AuthorityDelegations")
	fs.StringSliceVar(&o.Names.Reserved, "reserved", nil, "names that no tenant may have, in addition to default and kube-*")
	fs.StringVar(&o.pattern, "reserved-pattern", naming.AddOns,
		"regular expression for names that only administrators may use, in addition to public top-level domains, words of DNS and *-system; empty means none")
	fs.StringSliceVar(&o.Names.Allowed, "allowed-names", nil,
		"names that everybody may use, although they are public top-level domains, words of DNS, *-system or match --reserved-pattern")
	o.Surveys = &naming.Surveys{}
	fs.IntVar(&o.PerCreator, "lnamespaces-per-creator", 20,
		"how many LNamespaces one person may create; administrators are not limited; 0 means any number")
	fs.DurationVar(&o.DiscoveryEvery, "discovery-every", time.Minute,
		"interval at which the permissions of sudo are updated from discovery, in addition to changes of CustomResourceDefinitions and APIServices")
	fs.IntVar(&o.Workers, "workers", 8, "number of tenants that are reconciled at the same time")
	fs.StringVar(&o.metricsAddress, "metrics-address", "127.0.0.1:8080", "address that serves metrics; 0 disables them")
	fs.StringVar(&o.healthAddress, "health-address", "127.0.0.1:8081", "address that serves /healthz and /readyz; 0 disables them")
	fs.StringVar(&o.pprofAddress, "pprof-address", "0", "address that serves /debug/pprof, the profiles of the process; 0 disables them")
	fs.BoolVar(&o.leaderElect, "leader-elect", true, "reconcile only while holding the lease, so that only one replica works")
	fs.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second,
		"how long other replicas wait after the last renewal of the lease before they take it over")
	fs.DurationVar(&o.renew, "lease-renew-deadline", 10*time.Second, "how long a leader tries to renew its lease before it gives up")
	fs.DurationVar(&o.retryWait, "lease-retry-period", 2*time.Second, "interval between attempts to get or renew the lease")
	fs.BoolVar(&o.untilStdin, "until-stdin-ends", false,
		"exit when standard input is closed, for example because the parent process has ended")
	addWebhookFlags(fs, &o.webhook)
	addBillingFlags(fs, &o.billing)
	return cmd
}

func run(cmd *cobra.Command, o runOptions) error {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))))
	if err := validateSudo(o.Sudo); err != nil {
		return err
	}
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := errors.Join(v1alpha1.AddToScheme(scheme), authority.AddToScheme(scheme)); err != nil {
		return err
	}
	o.Names.Reserved = append(o.Names.Reserved, o.namespace)
	if o.pattern != "" {
		if o.Names.Pattern, err = regexp.Compile(o.pattern); err != nil {
			return fmt.Errorf("--reserved-pattern: %w", err)
		}
	}
	hooks, err := newWebhooks(cmd.Context(), config, scheme, o)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		WebhookServer:           hooks.server,
		Scheme:                  scheme,
		Cache:                   controller.Cache(o.Options),
		Metrics:                 metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:  o.healthAddress,
		PprofBindAddress:        o.pprofAddress,
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        "tenancy-controller",
		LeaderElectionNamespace: o.namespace,
		// The process exits as soon as the manager stops. So the manager can release the lease
		// when it stops, and a new leader need not wait until the lease expires.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renew,
		RetryPeriod:                   &o.retryWait,
	})
	if missing := (&meta.NoKindMatchError{}); errors.As(err, &missing) {
		err = fmt.Errorf("--sudo %s needs a server with the feature gate AuthorityDelegation: %w", o.Sudo, err)
	}
	if err != nil {
		return err
	}
	if err := hooks.add(mgr); err != nil {
		return err
	}
	if o.billing.Source != "" {
		o.Finalizers = []string{billing.Finalizer}
		table, err := store.Open(o.billing)
		if err != nil {
			return err
		}
		defer table.Close()
		if err := billing.Add(mgr, table); err != nil {
			return err
		}
	}
	if err := controller.Add(mgr, o.Options); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	ctx := cmd.Context()
	if o.untilStdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			defer cancel()
			_, _ = io.Copy(io.Discard, os.Stdin)
		}()
	}
	return mgr.Start(ctx)
}

// restConfig returns the client configuration of the file kubeconfig. If kubeconfig is empty,
// restConfig returns the configuration for the pod's service account or, outside a pod, of the
// default kubeconfig. The client has no rate limit of its own, because the server limits requests
// by API Priority and Fairness.
func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if kubeconfig != "" || err != nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = kubeconfig
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// newClient returns a client for the kinds of Kubernetes and of tenants. If warnings is nil, the client logs
// the warnings of the server.
func newClient(kubeconfig string, warnings rest.WarningHandler) (client.Client, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.WarningHandler = warnings
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// validateSudo returns an error if the value of the flag --sudo is not a mode of sudo.
func validateSudo(mode grants.SudoMode) error {
	if mode != grants.Impersonation && mode != grants.Delegation {
		return fmt.Errorf("--sudo %s: want %s or %s", mode, grants.Impersonation, grants.Delegation)
	}
	return nil
}
