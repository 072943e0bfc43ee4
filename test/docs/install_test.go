// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// TestInstall runs the commands of pages of docs/install as an administrator on a kind node, or beside it. They
// load the image, turn the gate on through kubeadm or in the manifest, and run the server as a systemd unit. The
// test first turns the gate off in the configuration of kubeadm. At the end it restores the former setting.
func TestInstall(t *testing.T) {
	bits := os.Getenv("KUBE_GRANULAR_KIND")
	if bits == "" {
		t.Skip("no cluster: KUBE_GRANULAR_KIND is not set, which `make test-kind` does")
	}
	n := node{t: t, name: os.Getenv("KUBE_GRANULAR_KIND_NODE")}
	n.put("kube-apiserver", filepath.Join(bits, "bits", "kube-apiserver"))
	n.put(archive, filepath.Join(bits, "kube-apiserver.tar"))

	const kubectl = "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system "
	// server sets the gate in the configuration of kubeadm, writes the static pod manifest of
	// kube-apiserver again, and waits for the new server. It retries, because the steps before
	// may still restart the server.
	server := func(gate string) {
		n.must(`set -o pipefail; again() { for i in $(seq 120); do "$@" && return; sleep 0.5; done; exit 1; }
			tell() { ` + kubectl + `get cm kubeadm-config -o yaml | sed 's/GranularAuthorization=[a-z]*/GranularAuthorization=` + gate + `/' | ` + kubectl + `replace -f -; }
			ask() { ` + kubectl + `get cm kubeadm-config -o jsonpath='{.data.ClusterConfiguration}' >c.yaml; }
			again tell; again ask; kubeadm init phase control-plane apiserver --config c.yaml`)
		n.gate(map[string]string{"true": "1", "false": "0"}[gate])
	}
	before := strings.TrimSpace(n.must(kubectl + `get cm kubeadm-config -o yaml | grep -o 'GranularAuthorization=[a-z]*' | cut -d= -f2`))
	t.Cleanup(func() {
		server(before)
		n.must("rm -rf " + work + " /etc/kubernetes/patches /usr/local/bin/kube-apiserver-granular" +
			" /etc/systemd/system/kube-apiserver-granular.service; systemctl daemon-reload")
	})
	server("false")

	t.Run("kubeadm", func(t *testing.T) {
		n := node{t, n.name}
		// version is what kubeadm keeps in the cluster: the version and the gate.
		version := func() string {
			return n.must(kubectl + "get cm kubeadm-config -o yaml | grep -E 'kubernetesVersion|GranularAuthorization'")
		}
		former := version()
		runPage(t, "kubeadm.md", n.run, n.write)
		// The last commands of the page turn the gate off again, also in the configuration of kubeadm.
		n.gate("0")
		if got := version(); got != former || !strings.Contains(got, "GranularAuthorization=false") {
			t.Errorf("after going back, kubeadm has %s, want %s", got, former)
		}
	})
	t.Run("upgrade", func(t *testing.T) { testUpgrade(t, node{t, n.name}) })
	t.Run("systemd", func(t *testing.T) {
		n := node{t, n.name}
		runPage(t, "systemd.md", n.run, n.write)
	})
	t.Run("cluster-api", func(t *testing.T) { testControlPlane(t, node{t, n.name}) })
	t.Run("kind", func(t *testing.T) {
		if n.name != "granular-control-plane" {
			t.Skipf("the page is about the cluster granular, and the node is %s", n.name)
		}
		n := node{t, n.name}
		// A cluster of kind alone has no gates.
		n.must("sed -i '/--feature-gates=/d' /etc/kubernetes/manifests/kube-apiserver.yaml")
		n.gate("0")
		runPage(t, "kind.md", beside(t, bits, archive, "kube-apiserver.tar"), nil)
		n.gate("0")
	})
}

// TestInstallDocker runs the commands of the page about Docker, which needs no cluster.
func TestInstallDocker(t *testing.T) {
	bits := os.Getenv("KUBE_GRANULAR_KIND")
	if bits == "" {
		t.Skip("no images: KUBE_GRANULAR_KIND is not set, which `make test-kind` does")
	}
	runPage(t, "docker.md", beside(t, bits, local, filepath.Join("image", local)), nil)
}

// beside returns a function that runs a command on this machine, in a folder with an archive of a release, which is
// a file in bits.
func beside(t *testing.T, bits, archive, file string) func(command string) (string, error) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(bits, file), filepath.Join(dir, archive)); err != nil {
		t.Fatal(err)
	}
	return func(command string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Join(bits, "bits")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// archive and local are the names of the images' archives in a release: of kube-apiserver, and of a server with etcd.
const (
	archive = "kube-apiserver-linux-amd64.tar"
	local   = "kube-granular-linux-amd64.tar"
)

// pageSteps returns the steps of a page of docs/install.
func pageSteps(t *testing.T, page string) []step {
	t.Helper()
	steps, err := parse(read(t, "install/"+page))
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) == 0 {
		t.Fatalf("%s has no steps", page)
	}
	return steps
}

// runPage runs the commands of a page, and compares their output.
func runPage(t *testing.T, page string, run func(command string) (string, error), write func(name, content string)) {
	t.Helper()
	for _, s := range pageSteps(t, page) {
		if s.file != "" {
			write(s.file, s.content)
			continue
		}
		got, err := run(s.command)
		if (err != nil) != fails(s.want) {
			t.Fatalf("%s:%d: %s: %v\n%s", page, s.line, s.command, err, got)
		}
		if !matches(output(got), s.want) {
			t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", page, s.line, s.command, got, strings.Join(s.want, "\n"))
		}
	}
}

// testUpgrade upgrades the control plane to the version that it has, as the page says. The image follows the version,
// and the patch turns the gate on, although another flag of the server turns it off.
func testUpgrade(t *testing.T, n node) {
	for _, s := range pageSteps(t, "kubeadm.md") {
		if s.file != "" {
			n.write(s.file, s.content)
		}
	}
	version := regexp.MustCompile(`v[0-9.]+\+granular\.[0-9.]*[0-9]`).FindString(read(t, "install/kubeadm.md"))
	n.must("kubeadm upgrade apply " + version + " --yes --force --patches /etc/kubernetes/patches" +
		" --etcd-upgrade=false --certificate-renewal=false --ignore-preflight-errors=all")
	n.gate("1")
	want := "image: registry.k8s.io/kube-apiserver:" + strings.Replace(version, "+", "_", 1)
	if got := strings.TrimSpace(n.must("grep image: /etc/kubernetes/manifests/kube-apiserver.yaml")); got != want {
		t.Errorf("after the upgrade %s, want %s", got, want)
	}
}

// testControlPlane checks that kubeadm accepts the configuration of kubeadm in the page about Cluster API,
// and derives our image from it.
func testControlPlane(t *testing.T, n node) {
	var plane struct {
		Spec struct {
			Version           string
			KubeadmConfigSpec struct{ ClusterConfiguration map[string]any }
		}
	}
	if err := yaml.Unmarshal([]byte(pageSteps(t, "cluster-api.md")[0].content), &plane); err != nil {
		t.Fatal(err)
	}
	configuration := plane.Spec.KubeadmConfigSpec.ClusterConfiguration
	configuration["apiVersion"], configuration["kind"] = "kubeadm.k8s.io/v1beta4", "ClusterConfiguration"
	configuration["kubernetesVersion"] = plane.Spec.Version
	text, err := yaml.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	n.write("control-plane.yaml", string(text))
	n.must("kubeadm config validate --config control-plane.yaml")
	want := "registry.example.com/k8s/kube-apiserver:" + strings.Replace(plane.Spec.Version, "+", "_", 1)
	if got := strings.TrimSpace(n.must("kubeadm config images list --config control-plane.yaml | grep apiserver")); got != want {
		t.Errorf("kubeadm derives the image %s, want %s", got, want)
	}
}

// work is the folder on the node in which the commands run.
const work = "/opt/install"

// node is a kind node with a control plane, addressed through docker.
type node struct {
	t    *testing.T
	name string
}

func (n node) docker(in []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.t.Context()), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a command with bash on the node.
func (n node) run(command string) (string, error) {
	return n.docker(nil, "exec", "--workdir", work, n.name, "bash", "-c", command)
}

func (n node) must(command string) string {
	n.t.Helper()
	out, err := n.docker(nil, "exec", n.name, "bash", "-ec", "mkdir -p "+work+"; cd "+work+"; "+command)
	if err != nil {
		n.t.Fatalf("%s: %v: %s", command, err, out)
	}
	return out
}

func (n node) put(name, from string) {
	n.t.Helper()
	n.must("true")
	if out, err := n.docker(nil, "cp", from, n.name+":"+work+"/"+name); err != nil {
		n.t.Fatalf("%s: %v: %s", from, err, out)
	}
}

func (n node) write(name, content string) {
	n.t.Helper()
	n.must("mkdir -p " + filepath.Dir(name))
	if out, err := n.docker([]byte(content), "exec", "--interactive", "--workdir", work, n.name, "tee", name); err != nil {
		n.t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// gate waits until the metrics of the running server show that the gate is on ("1") or off
// ("0").
func (n node) gate(want string) {
	n.t.Helper()
	n.must(`for i in $(seq 240); do kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /metrics 2>/dev/null | ` +
		`grep -q 'name="GranularAuthorization".* ` + want + `$' && exit; sleep 0.5; done; exit 1`)
}
