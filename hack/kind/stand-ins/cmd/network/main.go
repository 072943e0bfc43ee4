// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command network replaces kindnetd, the pod network of kind. On each node it writes the CNI
// configuration for the pod CIDR of the node, and maintains a route to the pod CIDR of each other
// node.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const folder = "/etc/cni/net.d"

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	for {
		if err := once(context.Background(), client, os.Getenv("HOST_IP")); err != nil {
			log.Print(err)
		}
		time.Sleep(2 * time.Second)
	}
}

func once(ctx context.Context, client kubernetes.Interface, own string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		address := internalIP(node)
		if node.Spec.PodCIDR == "" || address == "" {
			continue
		}
		if address == own {
			err = writeConfiguration(node.Spec.PodCIDR)
		} else {
			err = route(ctx, node.Spec.PodCIDR, address)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", node.Name, err)
		}
	}
	return nil
}

func internalIP(node corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

func route(ctx context.Context, pods, node string) error {
	if out, err := exec.CommandContext(ctx, "ip", "route", "replace", pods, "via", node).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// writeConfiguration writes the CNI configuration if it does not exist. The container runtime uses
// the first file of the folder, so the name of this file sorts before others.
func writeConfiguration(pods string) error {
	want := fmt.Sprintf(`{"cniVersion": "0.3.1", "name": "kindnet", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": 1500, "ipam": {
    "type": "host-local", "dataDir": "/run/cni-ipam-state",
    "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": %q}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`, pods)
	path := filepath.Join(folder, "10-kindnet.conflist")
	if have, err := os.ReadFile(path); err == nil && string(have) == want {
		return nil
	}
	part := filepath.Join(folder, ".kindnet.part")
	if err := os.WriteFile(part, []byte(want), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
