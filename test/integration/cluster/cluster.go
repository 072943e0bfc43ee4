// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs the real server for tests: `bin/kube-granular up`, as users start it,
// with etcd in the same process. The server listens on a free port of the loopback interface,
// and its files are in a temporary directory.
//
// The invariant: Stop stops everything that Start started, and returns an error if the server
// did not end cleanly.
package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// timeout is the limit for a start or a stop. It is long enough for a busy machine with two
// cores.
const timeout = 3 * time.Minute

// Cluster is a running server with its etcd.
type Cluster struct {
	// URL is the address of the server, and Dir is the directory with its files.
	URL, Dir string

	process *exec.Cmd
	output  *readyWriter
	ended   chan error
	stop    sync.Once
}

// Root returns the top directory of the project.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "patches", "series")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("this is not inside the project: no directory above holds patches/series")
		}
		dir = parent
	}
}

// Bin returns the directory where `make build` leaves the binaries. It fails if one of the
// binaries that tests use is missing, because a test that needs a binary must not pass without it.
func Bin() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(root, "bin")
	for _, name := range []string{"kube-granular", "kubectl", "kubectl-with"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("bin/%s is missing, run `make build` first: %w", name, err)
		}
	}
	return bin, nil
}

// ServerEnv is the name of an environment variable. If the variable is set, its value is the path
// of a program that Start runs in place of bin/kube-granular, such as a build with the race
// detector.
const ServerEnv = "KUBE_GRANULAR_SERVER"

// Start runs `kube-granular up` with the flags args in addition, and waits until the server is
// ready. Its data ends with the test, so etcd does not wait for the disk, which other tests use.
func Start(args ...string) (*Cluster, error) {
	bin, err := Bin()
	if err != nil {
		return nil, err
	}
	server := filepath.Join(bin, "kube-granular")
	if other := os.Getenv(ServerEnv); other != "" {
		server = other
	}
	dir, err := os.MkdirTemp("", "kube-granular-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, output: newOutput(), ended: make(chan error, 1)}
	c.process = exec.Command(server, append([]string{"up", "--dir", dir, "--port", "0", "--unsafe-no-fsync"}, args...)...)
	c.process.Stdout, c.process.Stderr = c.output, c.output
	if err := c.process.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { c.ended <- c.process.Wait() }()

	select {
	case c.URL = <-c.output.ready:
		return c, nil
	case err := <-c.ended:
		err = fmt.Errorf("kube-granular up ended before it was ready: %v\n%s\n%s", err, c.output, c.serverLog())
		return nil, errors.Join(err, os.RemoveAll(dir))
	case <-time.After(timeout):
		err := fmt.Errorf("kube-granular up was not ready after %s\n%s\n%s", timeout, c.output, c.serverLog())
		return nil, errors.Join(err, c.Stop())
	}
}

// Stop ends the server as Ctrl-C does, and removes its files. A second call does nothing.
func (c *Cluster) Stop() error {
	var err error
	c.stop.Do(func() { err = c.end() })
	return err
}

// Kill ends the server at once, as a crash does, and removes its files.
func (c *Cluster) Kill() error {
	var err error
	c.stop.Do(func() {
		err = c.process.Process.Kill()
		<-c.ended
		err = errors.Join(err, os.RemoveAll(c.Dir))
	})
	return err
}

func (c *Cluster) end() error {
	if err := c.process.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	var err error
	select {
	case err = <-c.ended:
		if err != nil {
			err = fmt.Errorf("kube-granular up exited with an error when it was stopped: %w\n%s", err, c.output)
		}
	case <-time.After(timeout):
		err = errors.Join(fmt.Errorf("kube-granular up was still running %s after Ctrl-C", timeout), c.process.Process.Kill())
	}
	return errors.Join(err, os.RemoveAll(c.Dir))
}

// Kubeconfig returns the path of the kubeconfig of a user: admin, supersafe, editor or viewer.
func (c *Cluster) Kubeconfig(user string) string {
	return filepath.Join(c.Dir, user+".kubeconfig")
}

// Config returns the client configuration of a user, without client-side throttling.
func (c *Cluster) Config(user string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(user))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// serverLog returns the last lines of the server's log, for an error message.
func (c *Cluster) serverLog() string {
	data, err := os.ReadFile(filepath.Join(c.Dir, "kube-apiserver.log"))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// readyWriter keeps the output of the process and finds the line that says that the server is
// ready.
type readyWriter struct {
	ready chan string

	mu   sync.Mutex
	text bytes.Buffer
	pipe *io.PipeWriter
}

func newOutput() *readyWriter {
	r, w := io.Pipe()
	o := &readyWriter{ready: make(chan string, 1), pipe: w}
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), "ready: "); ok {
				select {
				case o.ready <- url:
				default:
				}
			}
		}
	}()
	return o
}

func (o *readyWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	return o.pipe.Write(p)
}

func (o *readyWriter) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
