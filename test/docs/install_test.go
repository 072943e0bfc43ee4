// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInstall runs the commands of docs/install.md as an administrator on a kind node. They
// load the image, turn the gate on through kubeadm, and run the server as a systemd unit. The
// test first turns the gate off in the configuration of kubeadm. At the end it restores the
// former setting.
func TestInstall(t *testing.T) {
	bits := os.Getenv("KUBE_GRANULAR_KIND")
	if bits == "" {
		t.Skip("no cluster: KUBE_GRANULAR_KIND is not set, which `make test-kind` does")
	}
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parse(string(page))
	if err != nil {
		t.Fatal(err)
	}
	n := node{t: t, name: os.Getenv("KUBE_GRANULAR_KIND_NODE")}
	n.put("kube-apiserver", filepath.Join(bits, "bits", "kube-apiserver"))
	n.put("kube-apiserver-linux-amd64.tar", filepath.Join(bits, "kube-apiserver.tar"))

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
		n.must("rm -rf " + work + " /usr/local/bin/kube-apiserver-granular /etc/systemd/system/kube-apiserver-granular.service; systemctl daemon-reload")
	})
	server("false")

	for _, s := range steps {
		if s.file != "" {
			n.write(s.file, s.content)
			continue
		}
		got, err := n.run(s.command)
		if (err != nil) != fails(s.want) {
			t.Fatalf("line %d: %s: %v\n%s", s.line, s.command, err, got)
		}
		if !matches(output(got), s.want) {
			t.Errorf("line %d: %s\ngot:\n%s\nwant:\n%s", s.line, s.command, got, strings.Join(s.want, "\n"))
		}
	}
	// The last command of the kubeadm section turns the gate off again.
	n.gate("0")
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
