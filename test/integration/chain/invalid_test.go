// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kube-granular.dev/pkg/localcluster/pki"
	"kube-granular.dev/test/integration/cluster"
)

// expensive is a match condition that exceeds the cost limit: it nests four loops over the
// groups of the caller.
const expensive = "request.groups.exists(a, request.groups.exists(b, request.groups.exists(c, request.groups.exists(d, a + b + c + d == 'never'))))"

// starts are the two programs that can start a server, and how each is run with an invalid
// configuration.
var starts = []struct {
	name string
	// refuses runs the program with flags of kube-apiserver and returns its output. The program
	// must refuse to start.
	refuses func(t *testing.T, config string, flags ...string) string
}{
	{"up", upRefuses},
	{"kube-apiserver", serverRefuses},
}

// TestInvalid checks that an invalid authorization configuration stops either program at its
// start, and that the message names the file, the field and the reason.
func TestInvalid(t *testing.T) {
	h := newHook(t, &asking{}, "hook", "")
	good := h.in(settings{match: []string{aboutObjects}})
	for _, tc := range []struct {
		name, config string
		says         []string
	}{
		{"an unknown type",
			chained("- {type: Magic, name: magic}\n"),
			[]string{"authorizers[0].type: Unsupported value: \"Magic\"", "supported values:"}},
		{"duplicate names", chained(good, good), []string{"authorizers[1].name: Duplicate value: \"hook\""}},
		{"two of a type", chained(rbac, rbac), []string{"authorizers[1].type: Duplicate value: \"RBAC\""}},
		{"a name that is not its type's",
			chained("- {type: RBAC, name: roles}\n"),
			[]string{"expected name rbac for authorizer RBAC instead of roles"}},
		{"no authorizers", chained(), []string{"authorizers: Required value"}},
		{"a field that is not known",
			chained(good + "  deny: true\n"),
			[]string{`unknown field "authorizers[0].deny"`}},
		{"no YAML", "authorizers: [", []string{"failed to load AuthorizationConfiguration"}},
		{"CEL that does not compile",
			chained(rbac, h.in(settings{match: []string{"request.verb == 'update'"}})),
			[]string{"authorizers[1].matchConditions[0].expression: Invalid value", "undefined field 'verb'"}},
		{"CEL that is no condition",
			chained(h.in(settings{match: []string{"request.user"}})),
			[]string{"authorizers[0].matchConditions[0].expression", "must evaluate to bool"}},
		{"CEL that costs too much",
			chained(rbac, h.in(settings{match: []string{aboutObjects, expensive}})),
			[]string{"authorizers[1].matchConditions[1].expression", "exceeds the cost limit of a match condition"}},
		{"no failure policy",
			chained(strings.Replace(good, "failurePolicy: Deny", "failurePolicy: Maybe", 1)),
			[]string{"authorizers[0].failurePolicy: Unsupported value"}},
		{"no name",
			chained(strings.Replace(good, `name: "hook"`, `name: ""`, 1)),
			[]string{"authorizers[0].name: Required value"}},
		{"no timeout",
			chained(strings.Replace(good, "timeout: 10s", "timeout: 0s", 1)),
			[]string{"authorizers[0].timeout: Required value"}},
		{"a timeout that is too long",
			chained(strings.Replace(good, "timeout: 10s", "timeout: 31s", 1)),
			[]string{"authorizers[0].timeout: Invalid value"}},
		{"no version of reviews",
			chained(strings.Replace(good, "    subjectAccessReviewVersion: v1\n", "", 1)),
			[]string{"authorizers[0].subjectAccessReviewVersion: Required value"}},
		{"no version of conditions",
			chained(strings.Replace(good, "    matchConditionSubjectAccessReviewVersion: v1\n", "", 1)),
			[]string{"authorizers[0].matchConditionSubjectAccessReviewVersion: Required value"}},
		{"a connection inside the cluster",
			chained(inCluster(good)),
			[]string{`authorizers[0].connectionInfo.type: Unsupported value: "InClusterConfig": supported values: "KubeConfigFile"`}},
		{"65 match conditions",
			chained(h.in(settings{match: slices.Repeat([]string{aboutObjects}, 65)})),
			[]string{"authorizers[0].matchConditions: Too many: 65"}},
		{"a kubeconfig that is not there",
			chained(strings.Replace(good, h.kubeconfig, "/no/such/kubeconfig", 1)),
			[]string{"authorizers[0].connectionInfo.kubeConfigFile", "/no/such/kubeconfig"}},
		{"a kubeconfig that is none",
			chained(strings.Replace(good, h.kubeconfig, h.policy, 1)),
			[]string{"authorizers[0].connectionInfo.kubeConfigFile", h.policy}},
	} {
		for _, start := range starts {
			t.Run(start.name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "authorization.yaml")
				replace(t, file, tc.config)
				said := strings.ReplaceAll(start.refuses(t, file), `\"`, `"`)
				for _, what := range append(tc.says, "--authorization-config "+file+": ") {
					if !strings.Contains(said, what) {
						t.Errorf("%q is not in %s", what, said)
					}
				}
			})
		}
	}
	for _, start := range starts {
		t.Run(start.name+"/no file", func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "missing.yaml")
			if said := start.refuses(t, file); !strings.Contains(said, file+": no such file or directory") {
				t.Errorf("said %s", said)
			}
		})
		for _, flag := range []string{
			"--authorization-mode=RBAC", "--authorization-webhook-config-file=" + h.kubeconfig, "--authorization-webhook-version=v1",
			"--authorization-webhook-cache-authorized-ttl=1s", "--authorization-webhook-cache-unauthorized-ttl=1s",
		} {
			name, _, _ := strings.Cut(flag, "=")
			t.Run(start.name+"/beside "+name, func(t *testing.T) {
				t.Parallel()
				said := start.refuses(t, configuration, flag)
				if !strings.Contains(said, "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined") {
					t.Errorf("said %s", said)
				}
			})
		}
	}
	// With the gate off, kube-apiserver prints the message of upstream.
	t.Run("kube-apiserver with the gate off", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "authorization.yaml")
		replace(t, file, chained("- {type: Magic, name: magic}\n"))
		said := serverRefuses(t, file, "--feature-gates=GranularAuthorization=false")
		if !strings.Contains(said, `err="authorizers[0].type: Unsupported value: \"Magic\"`) || strings.Contains(said, file) {
			t.Errorf("said %s", said)
		}
	})
}

// inCluster changes a webhook's entry to the connection type InClusterConfig. Upstream's
// validation accepts that type, but then upstream's server panics.
func inCluster(webhook string) string {
	return regexp.MustCompile(`type: KubeConfigFile, kubeConfigFile: [^}]*`).ReplaceAllString(webhook, "type: InClusterConfig")
}

// upRefuses runs `kube-granular up`, which must refuse before it starts etcd.
func upRefuses(t *testing.T, config string, flags ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cluster")
	binary := "kube-granular"
	if other := os.Getenv(cluster.ServerEnv); other != "" {
		binary = other
	}
	said := refused(t, binary, append([]string{"up", "--dir", dir, "--port", "0", "--authorization-config", config, "--"}, flags...)...)
	if _, err := os.Stat(filepath.Join(dir, "etcd", "member")); err == nil {
		t.Error("etcd was started")
	}
	return said
}

// serverRefuses runs kube-apiserver, which must refuse before it connects to etcd, because no
// etcd runs. The gate is on unless a flag says otherwise.
func serverRefuses(t *testing.T, config string, flags ...string) string {
	t.Helper()
	_, files, err := pki.Ensure(filepath.Join(on.Dir, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	return refused(t, "kube-apiserver", append([]string{
		"--feature-gates=GranularAuthorization=true", "--etcd-servers=http://127.0.0.1:1",
		"--client-ca-file=" + files.CA, "--tls-cert-file=" + files.ServingCert, "--tls-private-key-file=" + files.ServingKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + files.ServiceAccountSigningKey, "--service-account-key-file=" + files.ServiceAccountPublicKey,
		"--service-cluster-ip-range=10.0.0.0/24", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--authorization-config=" + config,
	}, flags...)...)
}

// refused runs a program in bin, or at an absolute path, and returns its output. The program
// must exit with code 1.
func refused(t *testing.T, program string, args ...string) string {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(bin, program)
	}
	// A program that does start is killed after a minute, and the test fails.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestExpensiveConditionFails checks a configuration that was loaded into the running server
// and has a match condition whose cost exceeds the limit only at a request. For the verb of the
// request, this counts as a failure of the webhook and gives 500 under both failure policies. A
// metric counts it.
func TestExpensiveConditionFails(t *testing.T) {
	asked := &asking{}
	allow(t, "expensive", "", []string{"configmaps"}, own...)
	path := made(t, "default")
	h := newHook(t, asked, "expensive", "")
	// The seven nested loops never end early. They run only for the verb patch, so reads stay
	// cheap.
	costly := "!request.resourceAttributes.verb.startsWith('patch') || [1,2,3,4,5,6,7,8,9].exists(a, " + strings.Repeat("[1,2,3,4,5,6,7,8,9].exists(a, ", 6) + "a > 9" + strings.Repeat(")", 7)
	for policy, want := range map[string]int{"Deny": 500, "NoOpinion": 500} {
		t.Run(policy, func(t *testing.T) {
			use(t, h.in(settings{failure: policy, match: []string{aboutObjects, "request.user == 'expensive'", costly}}), node, rbac)
			const errors = `apiserver_authorization_match_condition_evaluation_errors_total{name="expensive",type="Webhook"}`
			before := scrape(t, on)[errors]
			if a := send(t, "expensive", http.MethodPatch, path, "merge", label(policy)); a.Code != want {
				t.Errorf("got %s, wanted %d", a, want)
			}
			if after := scrape(t, on)[errors]; after <= before {
				t.Errorf("%v errors were counted, then %v", before, after)
			}
		})
	}
}
