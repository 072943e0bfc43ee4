// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"kube-granular.dev/pkg/localcluster"
)

func newUpCommand() *cobra.Command {
	o := localcluster.Options{}
	cmd := &cobra.Command{
		Use:   "up [flags] [-- any further kube-apiserver flag]",
		Short: "Run a local cluster: etcd and the patched kube-apiserver in one process",
		Long: `Run etcd and the patched kube-apiserver in one process, on 127.0.0.1 only.

All state is in one directory: data, certificates, logs, and a kubeconfig
for each user. DIR/admin.kubeconfig is the administrator's; the users of the demo
are supersafe, editor and viewer. A start with the same directory continues
the same cluster.

When the server is ready and the demo's objects exist, the last line on standard
output is "ready: https://127.0.0.1:PORT". Ctrl-C stops the cluster; a second
Ctrl-C exits at once.

There are no nodes and no controllers: a deployment creates no pods, and a deleted
namespace stays in the phase Terminating. With --tenancy the tenancy controller
runs as a separate process.`,
		Example: `  # A cluster in the directory .kube-granular, on port 16443
  kube-granular up

  # Upstream's behaviour, for comparison
  kube-granular up --feature-gates GranularAuthorization=false

  # With self-service tenants, see docs/tenancy.md
  kube-granular up --tenancy

  # An empty cluster on a free port, with more detailed logs
  kube-granular up --demo=false --dir /tmp/cluster --port 0 -- --v=4`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("%q is not a flag; flags of kube-apiserver come after --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ExtraArgs = args
			o.Out, o.Progress = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return localcluster.Up(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Dir, "dir", localcluster.DefaultDir, "directory of the cluster; it is created if needed")
	fs.IntVar(&o.Port, "port", localcluster.DefaultPort, "port on 127.0.0.1; 0 picks a free one")
	fs.StringSliceVar(&o.EtcdServers, "etcd-servers", nil, "URLs of an etcd to use instead of an embedded one")
	fs.BoolVar(&o.NoSync, "unsafe-no-fsync", false,
		"do not wait until the embedded etcd's data is on disk: faster, but a crash of the machine can damage the data")
	fs.Var(cliflag.NewMapStringBool(&o.FeatureGates), "feature-gates",
		"feature gates of kube-apiserver, K=V,…; GranularAuthorization is on unless set to false here")
	fs.StringVar(&o.AuthorizationConfig, "authorization-config", "", "file with a structured authorization configuration, instead of RBAC")
	fs.StringVar(&o.AuditLog, "audit-log", "",
		"file to write an audit log to, with the objects of changes but not the content of Secrets and ConfigMaps")
	fs.BoolVar(&o.Demo, "demo", true, "create the objects and users of the demo; with false the cluster is empty")
	fs.BoolVar(&o.Tenancy, "tenancy", false,
		"run the tenancy controller, with its webhooks and a bill in a SQLite file; sudo is a delegation if the gates allow it; make tenancy builds it")
	return cmd
}
