// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

var readyLine = regexp.MustCompile(`^ready: (https://127\.0\.0\.1:([0-9]+))$`)

// binary returns the path of a program in bin/, and fails the test if the program is missing.
func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	return path
}

// process is a running `kube-granular up`.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *output
	exited chan struct{}
	dir    string

	stdout []string // up to and including the line "ready:"
	rest   *output  // standard output after that line
	url    string
	port   string
}

// output is a buffer that can be read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// launch starts `kube-granular up --dir dir` with further arguments and waits for its line
// "ready:".
func launch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, dir: dir, stderr: &output{}, rest: &output{}, exited: make(chan struct{})}
	p.cmd = exec.Command(binary(t, "kube-granular"), append([]string{"up", "--dir", dir}, args...)...)
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan []string, 1)
	go func() {
		defer close(p.exited)
		var lines []string
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			if p.url != "" {
				_, _ = p.rest.Write(append(scanner.Bytes(), '\n'))
				continue
			}
			lines = append(lines, scanner.Text())
			if m := readyLine.FindStringSubmatch(scanner.Text()); m != nil {
				p.url, p.port = m[1], m[2]
				ready <- lines
			}
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	select {
	case p.stdout = <-ready:
	case <-p.exited:
		t.Fatalf("ended before it was ready: %v\n%s%s", p.cmd.ProcessState, p.stderr, p.logs())
	case <-time.After(startTimeout):
		t.Fatalf("not ready after %v\n%s%s", startTimeout, p.stderr, p.logs())
	}
	return p
}

// logs returns the last lines of the server's log, for an error message.
func (p *process) logs() string {
	data, err := os.ReadFile(filepath.Join(p.dir, "kube-apiserver.log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(data), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "")
}

// stop sends a signal to the process, which must then exit with 0.
func (p *process) stop(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		p.t.Fatalf("still there %v after %v\n%s%s", stopTimeout, signal, p.stderr, p.logs())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Fatalf("exit code %d after %v, want 0\n%s%s", code, signal, p.stderr, p.logs())
	}
	if rest := p.rest.String(); rest != "" {
		p.t.Errorf("standard output goes on after the line ready: %q", rest)
	}
}

// config returns the client configuration in the kubeconfig of a user.
func (p *process) config(user string) *rest.Config {
	p.t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.dir, user+".kubeconfig"))
	if err != nil {
		p.t.Fatal(err)
	}
	if c.Host != p.url {
		p.t.Errorf("kubeconfig of %s: server %s, want %s", user, c.Host, p.url)
	}
	return c
}

func (p *process) client(user string) *kubernetes.Clientset {
	p.t.Helper()
	c, err := kubernetes.NewForConfig(p.config(user))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// refuse runs `kube-granular up`, which must exit with 1, and returns what it prints on stderr.
func refuse(t *testing.T, args ...string) string {
	t.Helper()
	stdout, err := exec.CommandContext(t.Context(), binary(t, "kube-granular"), append([]string{"up"}, args...)...).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("up %q: got error %v, want it to refuse", args, err)
	}
	if exit.ExitCode() != 1 || len(stdout) != 0 {
		t.Errorf("up %q: exit code %d with %q on standard output, want 1 and nothing", args, exit.ExitCode(), stdout)
	}
	return string(exit.Stderr)
}
