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

// expensive exceeds the cost limit of a match condition: each of the loops goes over the groups of
// the caller.
const expensive = "request.groups.exists(a, request.groups.exists(b, request.groups.exists(c, request.groups.exists(d, a + b + c + d == 'never'))))"

// starts are the two programs that are a server, with what they need beside a configuration.
var starts = []struct {
	name string
	// refuses runs it with flags of kube-apiserver; it has to refuse. What it says is returned.
	refuses func(t *testing.T, config string, flags ...string) string
}{
	{"up", upRefuses},
	{"kube-apiserver", serverRefuses},
}

// TestInvalid holds that a configuration that can't be used stops the server at its start, with
// the file, the field and the reason, whichever program it is.
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
	// The server alone with its gate off says what upstream says.
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

// inCluster makes a webhook one that is reached from inside the cluster, which upstream's
// validation accepts, and its server panics of.
func inCluster(webhook string) string {
	return regexp.MustCompile(`type: KubeConfigFile, kubeConfigFile: [^}]*`).ReplaceAllString(webhook, "type: InClusterConfig")
}

// upRefuses runs `kube-granular up`, which has to refuse before etcd is started.
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

// serverRefuses runs kube-apiserver, which has to refuse before it looks for etcd: there is none.
// The gate is on unless a flag says otherwise.
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

// refused runs a program of bin, or at a path, which has to end with 1, and returns what it says.
func refused(t *testing.T, program string, args ...string) string {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(bin, program)
	}
	// One that starts is ended, and has not refused.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestExpensiveConditionFails holds what becomes of a granular request where a configuration was
// loaded into the running server, which finds only with a request that a condition costs too
// much: about the verb of the request that is a failure under both policies, as when the
// webhook itself fails, and the metric counts it.
func TestExpensiveConditionFails(t *testing.T) {
	asked := &asking{}
	allow(t, "expensive", "", []string{"configmaps"}, own...)
	path := made(t, "default")
	h := newHook(t, asked, "expensive", "")
	// A loop for each digit, and no value for which they end early; not for reads.
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
