// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// patience is the timeout of each wait. It is long enough for a busy machine.
const patience = 2 * time.Minute

// cluster is a running API server to which the manifests were applied.
type cluster struct {
	dir, root string
	process   *exec.Cmd
	ended     chan error
	stopped   sync.Once
	output    *buffer
	admin     *rest.Config
	client    client.Client
	// controllerConfig is a kubeconfig of the controller's service account.
	controllerConfig string
	// config is the folder of manifests, if any.
	config string
	// test is the test with which the cluster ends, or nil for a cluster that tests share.
	test testing.TB
}

// shared is the cluster of most tests. It does not authorize single fields, like an API server
// without this project.
var shared *cluster

// auditLog is the audit log of the cluster shared.
var auditLog string

// theController is the controller that runs for the cluster shared.
var theController *controller

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctrl.SetLogger(logr.Discard())
	logs, err := os.MkdirTemp("", "tenancy-audit-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(logs)
	auditLog = filepath.Join(logs, "audit.log")
	if shared, err = startCluster("default", "--feature-gates", "GranularAuthorization=false", "--audit-log", auditLog); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	if theController, err = shared.startController(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := theController.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	defer func() {
		if err := stopDelegating(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

// root returns the top directory of the project.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "patches", "series")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no directory above holds patches/series")
		}
	}
}

// startCluster starts a cluster by bin/kube-granular up, and applies the manifests of a folder.
func startCluster(config string, args ...string) (*cluster, error) {
	top, err := root()
	if err != nil {
		return nil, err
	}
	return startClusterOf(top, config, args...)
}

// startClusterOf is like startCluster, for the version of the project in the folder top.
func startClusterOf(top, config string, args ...string) (*cluster, error) {
	dir, err := os.MkdirTemp("", "tenancy-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, root: top, ended: make(chan error, 1), output: newBuffer("ready: "), config: config}
	c.process = exec.Command(filepath.Join(top, "bin", "kube-granular"), append([]string{"up", "--dir", dir, "--port", "0", "--unsafe-no-fsync", "--demo=false"}, args...)...)
	c.process.Stdout, c.process.Stderr = c.output, c.output
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("run `make build` first: %w", err)
	}
	go func() { c.ended <- c.process.Wait() }()
	select {
	case <-c.output.found:
	case err := <-c.ended:
		return nil, fmt.Errorf("kube-granular up ended: %v\n%s", err, c.output)
	case <-time.After(patience):
		return nil, errors.Join(fmt.Errorf("kube-granular up is not ready\n%s", c.output), c.stop())
	}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// newCluster is like startCluster, but the cluster ends with the test.
func newCluster(t testing.TB, config string, args ...string) *cluster {
	t.Helper()
	top, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return newClusterOf(t, top, config, args...)
}

func newClusterOf(t testing.TB, top, config string, args ...string) *cluster {
	t.Helper()
	c, err := startClusterOf(top, config, args...)
	if err != nil {
		t.Fatal(err)
	}
	c.test = t
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cluster) prepare() error {
	var err error
	if c.admin, err = clientcmd.BuildConfigFromFlags("", filepath.Join(c.dir, "admin.kubeconfig")); err != nil {
		return err
	}
	c.admin.QPS = -1
	scheme := runtime.NewScheme()
	if c.config == "" { // no manifests: the server does not know the kinds of the project
		if err := clientgoscheme.AddToScheme(scheme); err != nil {
			return err
		}
		c.client, err = client.New(c.admin, client.Options{Scheme: scheme})
		return err
	}
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), authority.AddToScheme(scheme)); err != nil {
		return err
	}
	for _, arg := range [][]string{
		{"apply", "--server-side", "-k", filepath.Join(c.root, "tenancy", "config", c.config)},
		{"wait", "--for=condition=Established", "--timeout=120s", "crd", "--all"},
	} {
		if out, err := c.kubectl("admin", arg...); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(arg, " "), err, out)
		}
	}
	if c.client, err = client.New(c.admin, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	// Some seconds after a definition was created, the server does not serve it, or does not have its schema for policies;
	// and it may learn of a policy later than of the definition. Another error comes from what decides after the policy, such
	// as a webhook that does not run yet.
	deadline := time.Now().Add(patience)
	for {
		attempt := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "attempt-"}}
		err := c.client.Create(context.Background(), attempt, client.DryRunAll)
		if err == nil && attempt.Annotations[names.Creator] != "" ||
			err != nil && !apierrors.IsServiceUnavailable(err) && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the policy lnamespace-creation is not in force: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	core, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	token, err := core.CoreV1().ServiceAccounts("tenancy-system").CreateToken(context.Background(), "tenancy-controller", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.controllerConfig = filepath.Join(c.dir, "controller.kubeconfig")
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: c.admin.Host,
			CertificateAuthority: c.admin.CAFile, CertificateAuthorityData: c.admin.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, c.controllerConfig)
}

// kubectl runs bin/kubectl, with the plugins of bin on the path.
func (c *cluster) kubectl(user string, args ...string) (string, error) {
	return c.command(user, nil, "kubectl", args...)
}

func (c *cluster) command(user string, stdin io.Reader, name string, args ...string) (string, error) {
	bin := filepath.Join(c.root, "bin")
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Stdin = stdin
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "KUBECONFIG="+filepath.Join(c.dir, user+".kubeconfig"), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// stop ends the cluster as Ctrl-C does. A second call does nothing.
func (c *cluster) stop() (err error) {
	c.stopped.Do(func() {
		if err = c.process.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return
		}
		if err = <-c.ended; err != nil {
			err = fmt.Errorf("kube-granular up: %w\n%s", err, c.output)
		}
		err = errors.Join(err, os.RemoveAll(c.dir))
	})
	return err
}

// controller is a running tenancy-controller.
type controller struct {
	process *exec.Cmd
	output  *buffer
	ended   chan error
	stopped sync.Once
	health  string
}

// startController runs the controller with the permissions of its service account, and returns
// when its workers have started.
func (c *cluster) startController(args ...string) (*controller, error) {
	return c.startControllerUntil("Starting workers", args...)
}

// run is like startController, but the controller ends with the test of its cluster, even if a subtest starts it. Controllers
// end first.
func (c *cluster) run(t testing.TB, args ...string) *controller {
	t.Helper()
	k, err := c.startController(args...)
	if err != nil {
		t.Fatal(err)
	}
	c.test.Cleanup(func() {
		if err := k.stop(); err != nil {
			c.test.Error(err)
		}
	})
	return k
}

// startControllerUntil is like startController, but returns when the controller has printed word.
func (c *cluster) startControllerUntil(word string, args ...string) (*controller, error) {
	address, err := findAddress()
	if err != nil {
		return nil, err
	}
	k := &controller{output: newBuffer(word), ended: make(chan error, 1), health: "http://" + address}
	k.process = exec.Command(filepath.Join(c.root, "bin", "tenancy-controller"), append([]string{
		"run", "--kubeconfig", c.controllerConfig, "--metrics-address", "0", "--health-address", address,
		// A busy machine may hold the controller up for seconds, and nothing restarts it here when it loses its lease.
		"--lease-duration", "12s", "--lease-renew-deadline", "10s", "--lease-retry-period", "200ms", "--discovery-every", "1s",
		"--lnamespaces-per-creator", "0",
	}, args...)...)
	k.process.Stdout, k.process.Stderr = k.output, k.output
	if err := k.process.Start(); err != nil {
		return nil, fmt.Errorf("run `make tenancy` first: %w", err)
	}
	go func() { k.ended <- k.process.Wait() }()
	select {
	case <-k.output.found:
		return k, nil
	case err := <-k.ended:
		return nil, fmt.Errorf("tenancy-controller ended: %v\n%s", err, k.output)
	case <-time.After(patience):
		return nil, errors.Join(fmt.Errorf("tenancy-controller does not work\n%s", k.output), k.stop())
	}
}

// stop ends the controller by a signal that lets it shut down, as a cluster does. It does nothing after a stop or kill.
func (k *controller) stop() (err error) {
	k.stopped.Do(func() {
		if err = k.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return
		}
		if err = <-k.ended; err != nil {
			err = fmt.Errorf("tenancy-controller: %w\n%s", err, k.output)
		}
	})
	return err
}

// kill ends the controller at once, even in the middle of a reconciliation. It does nothing after a stop or kill.
func (k *controller) kill() (err error) {
	k.stopped.Do(func() {
		if err = k.process.Process.Kill(); err == nil {
			<-k.ended
		}
	})
	return err
}

// get requests a path of the health server, and returns the status of the answer.
func (k *controller) get(path string) (int, error) {
	answer, err := http.Get(k.health + path)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// buffer stores the output of a process, and notices when it contains a word.
type buffer struct {
	found chan struct{}
	pipe  *io.PipeWriter
	mu    sync.Mutex
	text  bytes.Buffer
}

func newBuffer(word string) *buffer {
	r, w := io.Pipe()
	b := &buffer{found: make(chan struct{}), pipe: w}
	go func() {
		once := sync.Once{}
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			if strings.Contains(line, word) {
				once.Do(func() { close(b.found) })
			}
			if err != nil {
				return
			}
		}
	}()
	return b
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p)
	return b.pipe.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
