// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/controlplane"
)

// startControllers starts upstream's controller manager with all controllers, those of a kubeadm cluster too, and the
// scheduler.
func startControllers(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	pki := filepath.Join(c.Dir, "pki")
	controlplane.StartManager(t, kubeconfigAs(t, c, "system:kube-controller-manager"),
		"--controllers=*,bootstrap-signer-controller,token-cleaner-controller", "--use-service-account-credentials",
		"--service-account-private-key-file="+filepath.Join(pki, "service-accounts.key"), "--root-ca-file="+filepath.Join(pki, "ca.crt"),
		"--kube-api-qps=500", "--kube-api-burst=1000", "--node-monitor-period=1s", "--node-monitor-grace-period=12s",
		"--pvclaimbinder-sync-period=2s", "--horizontal-pod-autoscaler-sync-period=2s", "--resource-quota-sync-period=2s")
	controlplane.StartScheduler(t, kubeconfigAs(t, c, "system:kube-scheduler"))
}

// kubeconfigAs writes a kubeconfig by which the administrator impersonates a user, and returns its path.
func kubeconfigAs(t *testing.T, c *cluster.Cluster, user string, groups ...string) string {
	t.Helper()
	return harness.KubeconfigWith(t, c, filepath.Join(t.TempDir(), "kubeconfig"), func(config *clientcmdapi.Config) {
		for _, info := range config.AuthInfos {
			info.Impersonate, info.ImpersonateGroups = user, append([]string{"system:authenticated"}, groups...)
		}
	})
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
