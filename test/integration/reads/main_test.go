// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/localcluster/etcd"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

var (
	// on is the shared server, with the gate on, and endpoint is that of its etcd.
	on       *cluster.Cluster
	endpoint string
	auditLog string
)

func TestMain(m *testing.M) {
	harness.Main(m, func(dir string) (stop func() error, err error) {
		member, err := etcd.New(etcd.Config{
			DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(dir, "run"), NoSync: true, LogFile: filepath.Join(dir, "log"),
			Fatal: func(message string) { panic(message) },
		})
		if err != nil {
			return nil, err
		}
		if err := member.Start(context.Background()); err != nil {
			return nil, err
		}
		endpoint = member.Endpoint()
		policy := filepath.Join(dir, "policy.json")
		auditLog = filepath.Join(dir, "audit.log")
		const logged = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
			{"level": "RequestResponse", "namespaces": ["kube-public"], "verbs": ["get", "list", "watch"]}, {"level": "None"}]}`
		if err := os.WriteFile(policy, []byte(logged), 0o600); err != nil {
			return nil, err
		}
		on, err = cluster.Start("--demo=false", "--etcd-servers", endpoint,
			"--feature-gates", "MetadataReads=true,CBORServingAndStorage=true,SelectedAuthority=true,AuthorityDelegation=true,WatchList=true",
			"--", "--runtime-config=api/all=true", "--audit-policy-file="+policy, "--audit-log-path="+auditLog)
		return func() error {
			defer member.Stop()
			return on.Stop()
		}, err
	})
}

// rule is a rule about resources of one group.
func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// allow gives a user rules in the whole cluster.
func allow(t *testing.T, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	harness.Allow(t, harness.Administrator(t, on), user, rules...)
}

// reader is a client that reads as one user.
type reader struct {
	*harness.Client
	user string
}

func as(t *testing.T, user string) reader {
	t.Helper()
	return reader{harness.Connect(t, on, "admin"), user}
}

// get answers a GET of a path.
func (r reader) get(t *testing.T, path, accept string) harness.Answer {
	t.Helper()
	call := harness.Call{Method: "GET", Path: path, Accept: accept}
	if r.user != "" {
		call.As = harness.Impersonating(r.user, "system:unauthenticated")
	}
	answer, err := r.Do(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
