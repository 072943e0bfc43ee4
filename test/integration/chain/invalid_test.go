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
	"strings"
	"testing"
	"time"

	"kube-granular.dev/test/integration/cluster"
)

// expensive costs more than a match condition may: each of the loops goes over the groups of
// the caller.
const expensive = "request.groups.exists(a, request.groups.exists(b, request.groups.exists(c, request.groups.exists(d, a + b + c + d == 'never'))))"

// TestInvalid holds that a configuration that can't be used stops the server at its start, with
// the file, the field and the reason.
func TestInvalid(t *testing.T) {
	h := newHook(t, &asking{}, "hook", "")
	good := h.in(settings{match: []string{aboutObjects}})
	for _, tc := range []struct {
		name, config string
		flags        []string
		says         []string
	}{
		{"an unknown type", chained("- {type: Magic, name: magic}\n"), nil, []string{"authorizers[0].type: Unsupported value: \"Magic\"", "supported values:"}},
		{"duplicate names", chained(good, good), nil, []string{"authorizers[1].name: Duplicate value: \"hook\""}},
		{"two of a type", chained(rbac, rbac), nil, []string{"authorizers[1].type: Duplicate value: \"RBAC\""}},
		{"no authorizers", chained(), nil, []string{"authorizers: Required value"}},
		{"a field that is not known", chained(good + "  deny: true\n"), nil, []string{`unknown field "authorizers[0].deny"`}},
		{"CEL that does not compile", chained(rbac, h.in(settings{match: []string{"request.verb == 'update'"}})), nil, []string{"authorizers[1].matchConditions[0].expression: Invalid value", "undefined field 'verb'"}},
		{"CEL that is no condition", chained(h.in(settings{match: []string{"request.user"}})), nil, []string{"authorizers[0].matchConditions[0].expression", "must evaluate to bool"}},
		{"CEL that costs too much", chained(rbac, h.in(settings{match: []string{aboutObjects, expensive}})), nil, []string{"authorizers[1].matchConditions[1].expression", "costs more than a match condition may"}},
		{"no failure policy", chained(strings.Replace(good, "failurePolicy: Deny", "failurePolicy: Maybe", 1)), nil, []string{"authorizers[0].failurePolicy: Unsupported value"}},
		{"a kubeconfig that is not there", chained(strings.Replace(good, h.kubeconfig, "/no/such/kubeconfig", 1)), nil, []string{"authorizers[0].connectionInfo.kubeConfigFile", "/no/such/kubeconfig"}},
		{"a kubeconfig that is none", chained(strings.Replace(good, h.kubeconfig, h.policy, 1)), nil, []string{"authorizers[0].connectionInfo.kubeConfigFile", h.policy}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "authorization.yaml")
			replace(t, file, tc.config)
			said := refused(t, "--authorization-config", file)
			for _, what := range append(tc.says, file) {
				if !strings.Contains(said, what) {
					t.Errorf("%q is not in %s", what, said)
				}
			}
		})
	}
	for _, flag := range []string{"--authorization-mode=RBAC", "--authorization-webhook-config-file=" + h.kubeconfig, "--authorization-webhook-version=v1", "--authorization-webhook-cache-authorized-ttl=1s"} {
		name, _, _ := strings.Cut(flag, "=")
		t.Run("beside "+name, func(t *testing.T) {
			t.Parallel()
			said := refused(t, "--authorization-config", configuration, "--", flag)
			if !strings.Contains(said, "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined") {
				t.Errorf("said %s", said)
			}
		})
	}
}

// refused runs `kube-granular up`, which has to refuse, and returns what it says.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(bin, "kube-granular")
	if other := os.Getenv(cluster.ServerEnv); other != "" {
		server = other
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	// One that starts is ended, and has not refused.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, server, append([]string{"up", "--dir", dir, "--port", "0"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd", "member")); err == nil {
		t.Error("etcd was started")
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
