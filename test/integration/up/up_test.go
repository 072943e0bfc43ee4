// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestLifeOfACluster starts a cluster, uses it, stops it and starts it again with the same
// data.
func TestLifeOfACluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	p := launch(t, dir, "--port", "0")

	t.Run("what it says to try does what it says", func(t *testing.T) {
		allowed, refused := 0, 0
		expectRefusal := false
		for _, line := range p.stdout {
			command, ok := strings.CutPrefix(line, "  ")
			switch {
			case !ok && line != "":
				expectRefusal = strings.Contains(line, "refuses")
				continue
			case !ok:
				continue
			}
			said, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
			switch {
			case expectRefusal:
				refused++
				if err == nil || !strings.Contains(string(said), "(Forbidden)") || !strings.Contains(string(said), "granular:") {
					t.Errorf("$ %s\n%sgot error %v, want a refusal that names a granular verb", command, said, err)
				}
			default:
				allowed++
				if err != nil {
					t.Errorf("$ %s\n%sgot error %v", command, said, err)
				}
			}
		}
		if allowed != 6 || refused != 2 {
			t.Errorf("%d commands to succeed and %d to be refused, want 6 and 2:\n%s", allowed, refused, strings.Join(p.stdout, "\n"))
		}
		if last := p.stdout[len(p.stdout)-1]; last != "ready: "+p.url {
			t.Errorf("last line %q", last)
		}
	})
	t.Run("it listens on one port of loopback and nowhere else", func(t *testing.T) {
		want := []string{"127.0.0.1:" + p.port}
		if got := listening(t, p.cmd.Process.Pid); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("listening on %v, want %v", got, want)
		}
	})
	t.Run("its secrets are its owner's", func(t *testing.T) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, error %v; want 0700", dir, info.Mode().Perm(), err)
		}
		for _, pattern := range []string{"*.kubeconfig", "*.log", "pki/*.key"} {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: found nothing, error %v", pattern, err)
			}
			for _, file := range files {
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: mode %v, error %v; want 0600", file, info.Mode().Perm(), err)
				}
			}
		}
	})
	t.Run("its users hold what the story says", func(t *testing.T) {
		for _, tc := range []struct {
			user, verb string
			want       bool
		}{
			{"admin", "delete", true},
			{"editor", "patch", true},
			{"editor", "granular", false},
			{"viewer", "get", true},
			{"viewer", "patch", false},
			{"supersafe", "get", true},
			{"supersafe", "patch", false},
			{"supersafe", "update", false},
			{"supersafe", "granular", true},
			{"supersafe", "granular:label(super.safe.com)", true},
			{"supersafe", "granular:label(example.com)", false},
			{"supersafe", "granular:labels", false},
		} {
			if got := may(t, p.client(tc.user), tc.verb); got != tc.want {
				t.Errorf("%s may %s deployments: %v, want %v", tc.user, tc.verb, got, tc.want)
			}
		}
	})
	t.Run("its port and its directory are taken", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "other")
		said := refuse(t, "--dir", other, "--port", p.port)
		for _, want := range []string{"port " + p.port + " on 127.0.0.1 is taken", "--port"} {
			if !strings.Contains(said, want) {
				t.Errorf("port taken: %q is not in %q", want, said)
			}
		}
		if _, err := os.Stat(other); !os.IsNotExist(err) {
			t.Errorf("port taken: its directory was made nonetheless (error %v)", err)
		}
		said = refuse(t, "--dir", dir, "--port", "0")
		for _, want := range []string{dir, "in use", fmt.Sprintf("process %d", p.cmd.Process.Pid)} {
			if !strings.Contains(said, want) {
				t.Errorf("directory taken: %q is not in %q", want, said)
			}
		}
	})

	admin := p.client("admin")
	keep := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "keep"}}
	if _, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), keep, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scaled := func(c kubernetes.Interface) int32 {
		t.Helper()
		scale, err := c.AppsV1().Deployments("default").GetScale(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return scale.Spec.Replicas
	}
	if n := scaled(admin); n != 3 {
		t.Errorf("web has %d replicas, want the 3 of what was tried", n)
	}
	patch := []byte(`{"spec":{"replicas":4}}`)
	if _, err := p.client("editor").AppsV1().Deployments("default").Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{FieldManager: "editor"}); err != nil {
		t.Fatal(err)
	}
	// An open watch must not delay the stop.
	watch, err := admin.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	before := p.config("admin")
	p.stop(syscall.SIGINT)

	p = launch(t, dir, "--port", "0")
	if after := p.config("admin"); string(after.CAData) != string(before.CAData) || string(after.CertData) != string(before.CertData) {
		t.Error("a restart issued new certificates")
	}
	admin = p.client("admin")
	if _, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "keep", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if n := scaled(admin); n != 4 {
		t.Errorf("after a restart web has %d replicas, want 4, as editor left it", n)
	}
	if !strings.Contains(p.stderr.String(), "Deployment default/web has been changed by others and is kept") {
		t.Errorf("the changed object is not mentioned:\n%s", p.stderr)
	}
	p.stop(syscall.SIGTERM)
}

func TestEmptyClusterWithExistingEtcd(t *testing.T) {
	endpoint := startEtcd(t)
	dir := filepath.Join(t.TempDir(), "cluster")
	p := launch(t, dir, "--port", "0", "--demo=false", "--etcd-servers", endpoint)
	if _, err := os.Stat(filepath.Join(dir, "etcd")); !os.IsNotExist(err) {
		t.Errorf("an etcd of its own has data in %s (error %v)", dir, err)
	}
	admin := p.client("admin")
	deployments, err := admin.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 0 {
		t.Errorf("%d deployments in an empty cluster", len(deployments.Items))
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.kubeconfig")); len(files) != 1 {
		t.Errorf("kubeconfigs: %v, want the administrator's alone", files)
	}
	p.stop(syscall.SIGTERM)
}

const authorizationConfig = `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: RBAC
  name: rbac
`

// TestEveryOtherFlag starts one cluster with all flags that the other tests do not use.
func TestEveryOtherFlag(t *testing.T) {
	base := t.TempDir()
	authz, audit := filepath.Join(base, "authz.yaml"), filepath.Join(base, "audit.log")
	if err := os.WriteFile(authz, []byte(authorizationConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, filepath.Join(base, "cluster"), "--port", "0",
		"--authorization-config", authz, "--audit-log", audit,
		"--feature-gates", "GranularAuthorization=false",
		"--", "--service-account-issuer=https://issuer.example")

	issuer, err := p.client("admin").RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(issuer), `"issuer":"https://issuer.example"`) {
		t.Errorf("a flag after -- did not win: %s, error %v", issuer, err)
	}
	deployments := p.client("supersafe").AppsV1().Deployments("default")
	if _, err := deployments.Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	patch := []byte(`{"metadata":{"labels":{"super.safe.com/level":"high"}}}`)
	_, err = deployments.Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{})
	want := `deployments.apps "web" is forbidden: User "system:serviceaccount:default:supersafe" cannot patch resource "deployments" in API group "apps" in the namespace "default"`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("gate off: got error %v, want upstream's: %s", err, want)
	}
	p.stop(syscall.SIGTERM)

	log, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	// The log is for learning roles: it has reads, and the objects of changes. TestLearningPolicy of
	// the plugin holds what it never has.
	changes, reads := 0, 0
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, "serviceaccount:default:supersafe") {
			continue
		}
		switch {
		case strings.Contains(line, `"verb":"patch"`):
			changes++
		case strings.Contains(line, `"verb":"get"`):
			reads++
		}
	}
	if changes != 1 || reads != 1 {
		t.Errorf("audit log: %d changes and %d reads by supersafe, want 1 and 1", changes, reads)
	}
}

func TestSecondSignalForces(t *testing.T) {
	p := launch(t, filepath.Join(t.TempDir(), "cluster"), "--port", "0", "--demo=false")
	// The signals differ, because the kernel may deliver two equal signals as one.
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		t.Fatalf("still there %v after the second signal", stopTimeout)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1\n%s", code, p.stderr)
	}
}

// TestMistakeStartsNothing checks that an invalid flag of the server is reported before etcd
// starts. The server sets up the logging of the process, and etcd must not use the logging
// before that.
func TestMistakeStartsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	said := refuse(t, "--dir", dir, "--port", "0", "--", "--max-requests-inflight=-1")
	if !strings.Contains(said, "--max-requests-inflight") || strings.Contains(said, "starting") {
		t.Errorf("said %q", said)
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd")); !os.IsNotExist(err) {
		t.Errorf("etcd was started (error %v)", err)
	}
}

func TestStopWhileStarting(t *testing.T) {
	cmd := exec.Command(binary(t, "kube-granular"), "up", "--dir", filepath.Join(t.TempDir(), "cluster"), "--port", "0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "starting kube-apiserver") {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The exit code differs from that of a cluster that was ready, so that scripts can tell
	// them apart.
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v, want exit code 130, as for a start that a signal ended\n%s", err, strings.Join(said, "\n"))
	}
	if last := said[len(said)-1]; last != "error: stopped before the cluster was ready" {
		t.Errorf("the last line is %q", last)
	}
}

func may(t *testing.T, c kubernetes.Interface, verb string) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "default", Verb: verb, Group: "apps", Version: "v1", Resource: "deployments", Name: "web",
		},
	}}
	answer, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}
