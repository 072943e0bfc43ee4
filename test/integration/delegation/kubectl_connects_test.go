// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"archive/tar"
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	streaming "k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/cli/lend"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// container is what runs in the pod of newStreamingKubelet.
type container struct{}

// ExecInContainer implements streaming.Executor: echo says a line, wait says one and goes on, tar sends a file.
func (container) ExecInContainer(ctx context.Context, _, _, _ string, cmd []string, in io.Reader, out, _ io.WriteCloser, _ bool,
	_ <-chan streaming.TerminalSize, _ time.Duration,
) error {
	switch cmd[0] {
	case "tar":
		archive := tar.NewWriter(out)
		if err := archive.WriteHeader(&tar.Header{Name: "etc/hosts", Mode: 0o600, Size: 5}); err != nil {
			return err
		}
		if _, err := io.WriteString(archive, "copy\n"); err != nil {
			return err
		}
		return archive.Close()
	case "wait":
		fmt.Fprintln(out, "begun")
		_, err := io.Copy(io.Discard, in)
		return err
	}
	_, err := fmt.Fprintln(out, "said")
	return err
}

// AttachContainer implements streaming.Attacher.
func (container) AttachContainer(_ context.Context, _, _, _ string, _ io.Reader, out, _ io.WriteCloser, _ bool,
	_ <-chan streaming.TerminalSize,
) error {
	_, err := fmt.Fprintln(out, "said")
	return err
}

// PortForward implements portforward.PortForwarder: the port sends back what it receives.
func (container) PortForward(_ context.Context, _, _ string, _ int32, stream io.ReadWriteCloser) error {
	_, err := io.Copy(stream, stream)
	return err
}

// newStreamingKubelet starts a server that speaks the protocols of a kubelet, with a pod web on its node. Its answers
// have the header Authority-Selector with the value lies, unless that is empty.
func newStreamingKubelet(t *testing.T, namespace, lies string) {
	t.Helper()
	newNode(t, namespace, func(w http.ResponseWriter, req *http.Request) {
		if lies != "" {
			w.Header().Set(selection.Header, lies)
		}
		options, _ := streaming.NewOptions(req) // nil for port-forward
		protocols := streaming.SupportedStreamingProtocols
		switch {
		case strings.HasPrefix(req.URL.Path, "/exec/"):
			streaming.ServeExec(w, req, container{}, "web", "", "web", req.URL.Query()["command"], options, time.Minute, time.Minute, protocols)
		case strings.HasPrefix(req.URL.Path, "/attach/"):
			streaming.ServeAttach(w, req, container{}, "web", "", "web", options, time.Minute, time.Minute, protocols)
		case strings.HasPrefix(req.URL.Path, "/portForward/"):
			ports := &portforward.V4Options{}
			portforward.ServePortForward(w, req, container{}, "web", "", ports, time.Minute, time.Minute, portforward.SupportedProtocols)
		}
	})
}

// kubectlAs returns a command of kubectl for a user in a namespace.
func kubectlAs(t *testing.T, user, namespace string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	content, err := lend.Kubeconfig(harness.Config(t, on, "admin"), namespace, &lend.Loan{Token: user})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "kubeconfig"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+filepath.Join(home, "kubeconfig"), "HOME="+home)
	return cmd
}

// TestKubectlConnects checks that the commands of kubectl that connect to a pod work with a selected delegation or role,
// over WebSockets and over SPDY: the API server repeats the selection in an answer that a node gives. A connection ends
// with the delegation.
//
// Attack: a node, or what answers behind a proxy, repeats a selection itself, so that the client trusts a connection that was not restricted
// Answer: the client refuses an answer with a second header; the server adds its own
func TestKubectlConnects(t *testing.T) {
	n, binding := stage(t, connect)
	newStreamingKubelet(t, n, "")
	d := delegation{scope: n, rules: connect}.by(t, "alice", "")
	for _, by := range []struct{ user, authority string }{{"bot", "delegation/" + d}, {"alice", "role/" + n + "/" + path.Base(binding)}} {
		for _, sockets := range []string{"true", "false"} {
			name := by.authority + " with WebSockets " + sockets
			with := func(args ...string) *exec.Cmd {
				t.Helper()
				cmd := kubectlAs(t, by.user, n, append([]string{"with", by.authority}, args...)...)
				cmd.Env = append(cmd.Env, "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+sockets, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+sockets)
				return cmd
			}
			copied := filepath.Join(t.TempDir(), "hosts")
			for _, args := range [][]string{{"exec", "web", "--", "echo"}, {"attach", "web"}, {"cp", "web:/etc/hosts", copied}} {
				if out, err := with(args...).CombinedOutput(); err != nil || args[0] != "cp" && !strings.Contains(string(out), "said") {
					t.Errorf("%s: %q: %v, %s", name, args, err, out)
				}
			}
			if got, err := os.ReadFile(copied); err != nil || string(got) != "copy\n" {
				t.Errorf("%s: copied %q, %v", name, got, err)
			}
			forward := with("port-forward", "pod/web", "0:80")
			out, err := forward.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := forward.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatalf("%s: port-forward: %v", name, err)
			}
			address, _, _ := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
			local, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_ = local.SetDeadline(time.Now().Add(time.Minute))
			fmt.Fprintln(local, "forwarded")
			if got, err := bufio.NewReader(local).ReadString('\n'); err != nil || got != "forwarded\n" {
				t.Errorf("%s: forwarded %q, %v", name, got, err)
			}
			local.Close()
			if err := forward.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = forward.Wait() // the error says only that it was killed
		}
	}
	// The twin: without the permission for connections, nothing connects.
	without := delegation{scope: n, rules: `{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}`}.by(t, "alice", "")
	refused, err := kubectlAs(t, "bot", n, "with", "delegation/"+without, "exec", "web", "--", "echo").CombinedOutput()
	if err == nil || !strings.Contains(string(refused), "does not allow the request") {
		t.Errorf("without pods/exec: %v, %s", err, refused)
	}
	waiting := kubectlAs(t, "bot", n, "with", "delegation/"+d, "exec", "-i", "web", "--", "wait")
	if _, err := waiting.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := waiting.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	request{as: "root", method: "DELETE", path: delegations + "/" + d}.want(t, 200)
	begin := time.Now()
	_, _ = io.Copy(io.Discard, lines)
	if took := time.Since(begin); took > endsAfter {
		t.Errorf("exec ended %s after the delegation", took)
	}
	if err := waiting.Wait(); err == nil {
		t.Error("exec succeeded although its connection was closed")
	}
}

// TestLyingNode checks that a client refuses a connection whose answer has a header Authority-Selector from a node.
func TestLyingNode(t *testing.T) {
	n, _ := stage(t, connect)
	d := delegation{scope: n, rules: connect}.by(t, "alice", "")
	newStreamingKubelet(t, n, named(d))
	cmd := kubectlAs(t, "bot", n, "with", "delegation/"+d, "exec", "web", "--", "echo")
	cmd.Env = append(cmd.Env, "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "did not apply the header") {
		t.Errorf("%v, %s", err, out)
	}
}
