// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is the longest time that the test waits for a server to come back.
const patience = 4 * time.Minute

// set is the cluster: three nodes, each with a server and an etcd member.
type set struct {
	config *rest.Config // through the load balancer
	nodes  []string
	hosts  []string                // the URL of each node's server
	direct []*kubernetes.Clientset // of each node's server, in the order of nodes
}

// open connects to the cluster, or skips the test if there is none.
func open(t *testing.T) *set {
	t.Helper()
	name := os.Getenv("KUBE_GRANULAR_KIND_HA")
	if name == "" {
		t.Skip("no cluster: KUBE_GRANULAR_KIND_HA is not set, which `make test-kind-ha` does")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Timeout = -1, 10*time.Second
	s := &set{config: config}
	for _, suffix := range []string{"", "2", "3"} {
		node := name + "-control-plane" + suffix
		address := strings.TrimSpace(docker(t, "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", node))
		own := rest.CopyConfig(config)
		own.Host = "https://" + address + ":6443"
		client, err := kubernetes.NewForConfig(own)
		if err != nil {
			t.Fatal(err)
		}
		s.nodes, s.hosts, s.direct = append(s.nodes, node), append(s.hosts, own.Host), append(s.direct, client)
	}
	return s
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	// The commands that restore the cluster run after the test's context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// on runs a bash script on a node.
func (s *set) on(t *testing.T, node int, script string) string {
	t.Helper()
	return docker(t, "exec", s.nodes[node], "bash", "-ec", script)
}

const manifests = "/etc/kubernetes/manifests/"

// edit replaces the manifest of a node's server or etcd in one step, because kubelet reads it
// at once. It fails if the manifest would not change.
func (s *set) edit(t *testing.T, node int, manifest, sed string) {
	t.Helper()
	s.on(t, node, fmt.Sprintf(`sed %q %s%s >/etc/kubernetes/next; ! cmp -s /etc/kubernetes/next %s%s; mv /etc/kubernetes/next %s%s`,
		sed, manifests, manifest, manifests, manifest, manifests, manifest))
}

// gate turns the gate of a node's server on or off, and waits until the running server reports
// that value.
func (s *set) gate(t *testing.T, node int, on bool) {
	t.Helper()
	s.edit(t, node, "kube-apiserver.yaml", fmt.Sprintf("s/GranularAuthorization=[a-z]*/GranularAuthorization=%t/", on))
	want := fmt.Sprintf(`kubernetes_feature_enabled{name="GranularAuthorization",stage="ALPHA"} %d`, map[bool]int{false: 0, true: 1}[on])
	s.until(t, fmt.Sprintf("%s has the gate %t", s.nodes[node], on), func(ctx context.Context) bool {
		data, err := s.direct[node].RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		return err == nil && strings.Contains(string(data), want)
	})
	s.ready(t, node)
}

// ready waits until a node's server was ready five times in a row, because kubelet may restart
// it once more right after its start.
func (s *set) ready(t *testing.T, node int) {
	t.Helper()
	times := 0
	s.until(t, s.nodes[node]+" is ready", func(ctx context.Context) bool {
		if _, err := s.direct[node].RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
			times = 0
			return false
		}
		times++
		return times >= 5
	})
}

func (s *set) until(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		ok := is(ctx)
		cancel()
		if ok {
			return
		}
	}
	t.Fatalf("not within %v: %s", patience, what)
}

// clean deletes a namespace and waits until it is gone.
func (s *set) clean(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	_ = client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{})
	s.until(t, "namespace "+namespace+" is gone", func(ctx context.Context) bool {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return err != nil && strings.Contains(err.Error(), "not found")
	})
}
