// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

const (
	webPath  = "/apis/apps/v1/namespaces/default/deployments/learned"
	mapsPath = "/api/v1/namespaces/default/configmaps"
)

const webObject = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "learned", "namespace": "default", "labels": {"a.example/x": "y"}},
	"spec": {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}},
		"spec": {"containers": [{"name": "web", "image": "one"}, {"name": "side", "image": "one"}]}}}}`

// step is a request that the test learns a role from, and then repeats under that role.
type step struct {
	method, path, contentType, body string
	// edit, if set, changes the stored object for a PUT and replaces body.
	edit func(object map[string]any)
}

var work = []step{
	{method: http.MethodGet, path: webPath},
	{method: http.MethodPatch, path: webPath, contentType: "application/strategic-merge-patch+json",
		body: `{"metadata": {"labels": {"team.example/tier": "front"}}}`},
	{method: http.MethodPatch, path: webPath, contentType: "application/merge-patch+json",
		body: `{"spec": {"replicas": 3}}`},
	{method: http.MethodPatch, path: webPath, contentType: "application/json-patch+json",
		body: `[{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "two"}]`},
	{method: http.MethodPut, path: webPath,
		edit: func(o map[string]any) { harness.SetAt(o, "v", "metadata", "annotations", "ci.example/build") }},
	{method: http.MethodPatch, path: webPath + "/status", contentType: "application/strategic-merge-patch+json",
		body: `{"status": {"conditions": [{"type": "Progressing", "status": "True"}]}}`},
	{method: http.MethodPatch, path: webPath + "/scale", contentType: "application/merge-patch+json",
		body: `{"spec": {"replicas": 2}}`},
	{method: http.MethodPost, path: mapsPath,
		body: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"a": "b"}}`},
	{method: http.MethodPatch, path: mapsPath + "/made?fieldManager=m&force=true", contentType: "application/apply-patch+yaml",
		body: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"c": "d"}}`},
	{method: http.MethodGet, path: mapsPath},
	{method: http.MethodDelete, path: mapsPath + "/made"},
}

// do makes all requests of work as a user and returns the first refusal, or nil.
func do(t *testing.T, c *cluster.Cluster, user string) error {
	t.Helper()
	admin(t, c, http.MethodDelete, webPath, "")
	admin(t, c, http.MethodDelete, mapsPath+"/made", "")
	admin(t, c, http.MethodPost, "/apis/apps/v1/namespaces/default/deployments", webObject)
	var refused error
	for _, s := range work {
		body := s.body
		if s.edit != nil {
			object := map[string]any{}
			if err := json.Unmarshal([]byte(admin(t, c, http.MethodGet, s.path, "")), &object); err != nil {
				t.Fatal(err)
			}
			s.edit(object)
			data, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			body = string(data)
		}
		code, text, err := harness.Request(c, user, s.method, s.path, s.contentType, body)
		switch {
		case err != nil:
			t.Fatal(err)
		case code == http.StatusForbidden && refused == nil:
			refused = fmt.Errorf("%s %s: %s", s.method, s.path, text)
		case code == http.StatusForbidden, code < 300, refused != nil:
		default:
			t.Fatalf("%s %s: %d %s", s.method, s.path, code, text)
		}
	}
	return refused
}

func admin(t *testing.T, c *cluster.Cluster, method, path, body string) string {
	t.Helper()
	code, text, err := harness.Request(c, "", method, path, "", body)
	if err != nil || code >= 300 && code != http.StatusNotFound {
		t.Fatal(method, path, code, text, err)
	}
	return text
}

// TestLearnedRoles checks that the roles learned from an audit log allow all its requests
// again, and that without any one of their verbs a request is refused.
func TestLearnedRoles(t *testing.T) {
	flags, log := harness.LogBodies(t)
	c := harness.Start(t, append([]string{"--demo=false", "--"}, flags...)...)
	client := harness.Administrator(t, c)
	all := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources,
			Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}}
	}
	harness.Allow(t, client, "jane", all("apps", "deployments", "deployments/status", "deployments/scale"), all("", "configmaps", "secrets"))
	if err := do(t, c, "jane"); err != nil {
		t.Fatal(err)
	}
	learned := func(args ...string) string {
		t.Helper()
		out, errs, err := granularAt(t, c.Kubeconfig("admin"), "", append([]string{"role", "--subject", "user:jane"}, args...)...)
		if err != nil || strings.Contains(errs, "warning") {
			t.Fatal(err, errs)
		}
		return out
	}
	text := learned("--from-audit", log)
	for _, want := range []string{
		"# user:jane\n", "# never used: list watch create delete on deployments.apps,deployments.apps/status,deployments.apps/scale, by ClusterRoleBinding",
		" on secrets, by ClusterRoleBinding", "# granular:label(team.example) on deployments.apps learned in default: 1 request,",
		"; .metadata.labels[team.example/tier]", "; .spec.template.spec.containers[name=\"side\"].image",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	rules := harness.RulesIn(t, text)
	var verbs []string
	for _, r := range rules {
		verbs = append(verbs, r.Resources[0]+": "+strings.Join(r.Verbs, " "))
	}
	want := []string{
		"configmaps: create list", "configmaps: delete granular granular:data",
		"deployments: get granular granular:annotation(ci.example) granular:label(team.example) granular:podTemplateImage granular:replicas",
		"deployments/scale: granular granular:replicas", "deployments/status: granular granular:condition(Progressing)",
	}
	if !slices.Equal(verbs, want) {
		t.Errorf("%s\nwanted\n%s", strings.Join(verbs, "\n"), strings.Join(want, "\n"))
	}

	// check agrees that the learned roles suffice for the log.
	check := func(rules []rbacv1.PolicyRule) (string, error) {
		t.Helper()
		role, err := json.Marshal(rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: "learned"}, Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		out, errs, err := granularAt(t, c.Kubeconfig("admin"), string(role), "check", "-o", "wide", "-f", "-", "--subject", "user:jane", "--audit-log", log)
		if errs != "" {
			t.Error(errs)
		}
		return out, err
	}
	if out, err := check(rules); err != nil || !strings.Contains(out, " 0 refused, 0 are not provable") {
		t.Errorf("check of the learned roles: %v\n%s", err, out)
	}

	// The learned roles allow all requests.
	as(t, client, "replay", rules)
	if err := do(t, c, "replay"); err != nil {
		t.Errorf("under the learned roles: %v\n%s", err, text)
	}
	// No verb of the learned roles is superfluous.
	for i, r := range rules {
		for j, verb := range r.Verbs {
			less := slices.Clone(rules)
			less[i].Verbs = slices.Delete(slices.Clone(r.Verbs), j, j+1)
			user := fmt.Sprintf("less-%d-%d", i, j)
			as(t, client, user, less)
			if err := do(t, c, user); err == nil {
				t.Errorf("without %s on %s nothing was refused", verb, r.Resources[0])
			}
			if out, err := check(less); err == nil || !regexp.MustCompile(`(^|[ ,])`+regexp.QuoteMeta(verb)+`($|[ ,\n])`).MatchString(out) {
				t.Errorf("without %s on %s, check does not name it: %v\n%s", verb, r.Resources[0], err, out)
			}
		}
	}

	// The events of the granular caller, at the level Metadata without bodies, must give the
	// same roles, because our server logs the used permissions.
	if got := harness.RulesIn(t, learned("--from-audit", withoutBodies(t, log, "replay"))); len(got) != len(rules) {
		t.Errorf("from the level Metadata %v, from RequestResponse %v", got, rules)
	} else {
		for i := range rules {
			if !slices.Equal(got[i].Verbs, rules[i].Verbs) {
				t.Errorf("from the level Metadata %v, from RequestResponse %v", got[i], rules[i])
			}
		}
	}

	// The report lists rights of jane that are wider than needed, and does not list the user
	// replay, whose rights are just what it used.
	out, errs, err := granularAt(t, c.Kubeconfig("admin"), "", "report", "-o", "wide", log)
	if err != nil || errs != "" {
		t.Fatal(err, errs)
	}
	coarse, _, _ := strings.Cut(out, "NEVER USED")
	for _, want := range []string{"deployments.apps ", "deployments.apps/scale ", "deployments.apps/status "} {
		if strings.Count(coarse, want) != 1 {
			t.Errorf("%q is not once in the report:\n%s", want, coarse)
		}
	}
	if strings.Contains(coarse, "replay") || !strings.Contains(coarse, "granular granular:annotation(ci.example) granular:label(team.example) granular:podTemplateImage granular:replicas") {
		t.Errorf("who may do no more than was done is in the report, or not what would do:\n%s", coarse)
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "user:replay") && !strings.Contains(line, "marks") || strings.Contains(line, " ClusterRoleBinding system:") {
			t.Errorf("in the report: %s", line)
		}
	}

	// Roles are written only with --apply.
	if out := get(t, c, "roles,rolebindings", "-n", "default", "-o", "name"); strings.Contains(out, "learned") {
		t.Errorf("written without --apply: %s", out)
	}
	learned("--apply", "--from-audit", log)
	if out := get(t, c, "roles,rolebindings", "-n", "default", "-o", "name"); strings.Count(out, "learned-jane") != 2 {
		t.Errorf("with --apply: %s", out)
	}
}

// as grants a user rules and waits for the last of them, a right on marks that no request uses.
func as(t *testing.T, client *kubernetes.Clientset, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	harness.Allow(t, client, user, append(slices.Clone(rules),
		rbacv1.PolicyRule{APIGroups: []string{"mark.example"}, Resources: []string{"marks"}, Verbs: []string{"get"}})...)
}

// get runs kubectl get as the administrator and returns its output.
func get(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	return harness.MustKubectl(t, c, "", append([]string{"get"}, args...)...)
}

// withoutBodies writes an audit log with only the events of a user, changed as if the user were
// jane and the audit level were Metadata. It returns the path.
func withoutBodies(t *testing.T, log, user string) string {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, line := range bytes.Split(data, []byte("\n")) {
		if !bytes.Contains(line, []byte(`"impersonatedUser":{"username":"`+user+`"`)) {
			continue
		}
		event := map[string]any{}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		delete(event, "requestObject")
		delete(event, "responseObject")
		event["level"], event["impersonatedUser"] = "Metadata", map[string]any{"username": "jane"}
		line, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	file := filepath.Join(t.TempDir(), "metadata.log")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
