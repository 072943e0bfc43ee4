// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app/testing"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"kube-granular.dev/test/integration/cluster"
)

// startControllers starts upstream's controller manager with all controllers, those of a kubeadm cluster too, and the
// scheduler. They do not elect a leader, because upstream's code exits the process when it stops to lead.
func startControllers(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	klog.SetLogger(klog.Logger{}) // they would log thousands of lines
	pki := filepath.Join(c.Dir, "pki")
	manager := controllermanager.StartTestServerOrDie(t, t.Context(), []string{
		"--kubeconfig=" + kubeconfigAs(t, c, "system:kube-controller-manager"), "--leader-elect=false", "--secure-port=0",
		"--controllers=*,bootstrap-signer-controller,token-cleaner-controller", "--use-service-account-credentials",
		"--service-account-private-key-file=" + filepath.Join(pki, "service-accounts.key"), "--root-ca-file=" + filepath.Join(pki, "ca.crt"),
		"--kube-api-qps=500", "--kube-api-burst=1000", "--node-monitor-period=1s", "--node-monitor-grace-period=12s",
		"--pvclaimbinder-sync-period=2s", "--horizontal-pod-autoscaler-sync-period=2s", "--resource-quota-sync-period=2s",
	})
	t.Cleanup(manager.TearDownFn)

	options := scheduleroptions.NewOptions()
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	for _, set := range options.Flags.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse([]string{
		"--kubeconfig=" + kubeconfigAs(t, c, "system:kube-scheduler"), "--leader-elect=false", "--secure-port=0",
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	config, instance, err := scheduler.Setup(ctx, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- scheduler.Run(ctx, config, instance) }()
	t.Cleanup(func() {
		cancel()
		<-ended // it always returns an error
	})
}

// kubeconfigAs writes a kubeconfig by which the administrator impersonates a user, and returns its path.
func kubeconfigAs(t *testing.T, c *cluster.Cluster, user string, groups ...string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig("admin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate, info.ImpersonateGroups = user, append([]string{"system:authenticated"}, groups...)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// configAs is the configuration of a client of kubeconfigAs.
func configAs(t *testing.T, c *cluster.Cluster, user string, groups ...string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigAs(t, c, user, groups...))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}
