// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/roletest/format"
	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/cli/ui/snapshot"
)

func answers(t *testing.T) (*Answers, *model.Snapshot) {
	t.Helper()
	a := &Answers{Collect: func(context.Context) (*snapshot.Input, error) {
		return &snapshot.Input{Builtin: true, ClusterRoleBindings: []*rbacv1.ClusterRoleBinding{{
			ObjectMeta: metav1.ObjectMeta{Name: "b"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}},
		}}}, nil
	}}
	s, err := a.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a, s
}

func kindOf(t *testing.T, s *model.Snapshot, resource string) int {
	t.Helper()
	i := slices.IndexFunc(s.Kinds, func(k model.Kind) bool { return k.Resource == resource })
	if i < 0 {
		t.Fatalf("%s is not there", resource)
	}
	return i
}

// TestGrant holds which role a wish gets, and what it allows beyond the wish.
func TestGrant(t *testing.T) {
	a, s := answers(t)
	deployments, nodes := kindOf(t, s, "deployments"), kindOf(t, s, "nodes")
	pick := func(path, parameter string) []Pick { return []Pick{{deployments, path, parameter}} }
	for name, tc := range map[string]struct {
		wish   Wish
		yaml   []string
		beyond string
		fails  string
	}{
		"one field": {Wish{Subjects: []string{"user:jane"}, Namespace: "shop", Picks: pick(".spec.replicas", "")},
			[]string{"kind: Role\n", "- granular:replicas", "- deployments\n", "kind: RoleBinding"}, "the same fields of every other object in namespace shop", ""},
		"of one object": {Wish{Subjects: []string{"group:devs"}, Namespace: "shop", Picks: pick(".spec.replicas", ""), Names: []string{"web"}},
			[]string{"resourceNames:\n  - web"}, "", ""},
		"a status": {Wish{Subjects: []string{"serviceaccount:ci/robot"}, Namespace: "shop", Picks: pick(".status", "")},
			[]string{"- deployments/status\n", "- granular:status"}, "the same fields of every other object in namespace shop", ""},
		"everywhere": {Wish{Subjects: []string{"user:jane"}, Picks: pick(".spec.replicas", "")},
			[]string{"kind: ClusterRole\n", "kind: ClusterRoleBinding"}, "the same fields of every other object in all namespaces", ""},
		"a parameter": {Wish{Subjects: []string{"user:jane"}, Namespace: "shop", Picks: pick(".metadata.labels[*]", "example.com"), Names: []string{"web"}},
			[]string{"granular:label(example.com)"}, "", ""},
		"all labels, for lack of a parameter": {Wish{Subjects: []string{"user:jane"}, Namespace: "shop", Picks: pick(".metadata.labels[*]", ""), Names: []string{"web"}},
			[]string{"- granular:labels\n"}, "Deployment .metadata.labels", ""},
		"a name that is YAML": {Wish{Subjects: []string{"user:a: b\n- c"}, Namespace: "shop", Picks: pick(".spec.replicas", ""), Names: []string{"web"}},
			[]string{`"name": "a: b\n- c"`}, "", ""},
		"nobody":            {Wish{Picks: pick(".spec.replicas", "")}, nil, "", "nobody is chosen"},
		"nothing":           {Wish{Subjects: []string{"user:jane"}}, nil, "", "choose between 1"},
		"another kind":      {Wish{Subjects: []string{"user:jane"}, Picks: []Pick{{Kind: 10_000}}}, nil, "", "is not in the snapshot"},
		"no such field":     {Wish{Subjects: []string{"user:jane"}, Picks: pick(".spec/nonsense", "")}, nil, "", "has no field"},
		"a cluster's kind":  {Wish{Subjects: []string{"user:jane"}, Namespace: "shop", Picks: []Pick{{nodes, ".spec.taints", ""}}}, nil, "", "has no namespace"},
		"a verb without it": {Wish{Subjects: []string{"user:jane"}, Picks: pick(".spec.replicas", "x")}, nil, "", "takes a parameter"},
	} {
		got, err := a.Grant(&tc.wish)
		if tc.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range tc.yaml {
			if !strings.Contains(got.YAML, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, got.YAML)
			}
		}
		if beyond := strings.Join(got.Beyond, ", "); beyond != tc.beyond {
			t.Errorf("%s: beyond %q", name, beyond)
		}
		file := filepath.Join(t.TempDir(), "test.yaml")
		appendTo(t, file, got.Test)
		if _, err := format.Read(file, false); err != nil {
			t.Errorf("%s: the test: %v\n%s", name, err, got.Test)
		}
	}
}

const refused = `{"auditID":"%s","stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-11-27T10:00:00Z","user":{"username":"jane"},"objectRef":{"resource":"deployments","apiGroup":"apps","namespace":"shop","name":"%s"},"responseStatus":{"code":403,"message":"deployments.apps \"web\" is forbidden: User \"jane\" cannot change .spec.replicas in namespace \"shop\": needs the verb \"granular:replicas\""}}` + "\n"

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestLogGrows holds that a log is followed: complete lines are read once, an incomplete one when it is complete,
// and another file in its place from its beginning.
func TestLogGrows(t *testing.T) {
	a, _ := answers(t)
	path := filepath.Join(t.TempDir(), "audit.log")
	a.Log = &Log{Name: path}
	one, two := fmt.Sprintf(refused, "a", "web"), fmt.Sprintf(refused, "b", "api")
	for i, step := range []struct {
		text string
		want string
	}{
		{one, "web×1"}, {"", "web×1"}, {one, "web×2"}, {two[:100], "web×2"}, {two[100:], "api×1 web×2"}, {"nonsense\n", "api×1 web×2"},
	} {
		appendTo(t, path, step.text)
		got, err := a.Denials(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, d := range got.Denials {
			all = append(all, fmt.Sprintf("%s×%d", d.Name, d.Count))
		}
		if have := strings.Join(all, " "); have != step.want {
			t.Errorf("step %d: %s, want %s", i, have, step.want)
		}
	}
	if got := a.Log.Unread(); got != 1 {
		t.Errorf("%d lines are not read", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Denials(t.Context()); err == nil {
		t.Error("a log that is gone gives no error")
	}
	appendTo(t, path, two)
	if got, err := a.Denials(t.Context()); err != nil || len(got.Denials) != 2 || got.Denials[0].Count != 2 {
		t.Errorf("%v %+v", err, got)
	}
}

// TestExplain holds what a refusal in a text says, and that a text without one is an error.
func TestExplain(t *testing.T) {
	a, s := answers(t)
	const message = `Error from server (Forbidden): deployments.apps "web" is forbidden: User "jane" cannot change .spec.replicas in namespace "shop": needs one of the verbs "granular:replicas", "granular:specification"`
	for name, text := range map[string]string{"of kubectl": message, "of an audit log": fmt.Sprintf(refused, "a", "web")} {
		got, err := a.Explain(t.Context(), text)
		if err != nil || len(got.Denials) != 1 {
			t.Fatalf("%s: %v %+v", name, err, got)
		}
		d := got.Denials[0]
		if d.User != "jane" || s.Subjects[d.Subject].Name != "jane" || s.Kinds[d.Kind].Resource != "deployments" || d.Field != ".spec.replicas" || d.Missing[0] != "granular:replicas" {
			t.Errorf("%s: %+v", name, d)
		}
		if d.Remedy == nil || !strings.Contains(d.Remedy.YAML, "granular:replicas") || !strings.Contains(d.Remedy.Commands[0], "kubectl create role") || d.Remedy.Name == "" {
			t.Errorf("%s: %+v", name, d.Remedy)
		}
	}
	got, err := a.Explain(t.Context(), `pods "a" is forbidden: exceeded quota: x`)
	if err != nil || got.Denials[0].Remedy != nil || !strings.Contains(got.Denials[0].Advice, "No role helps") {
		t.Errorf("%v %+v", err, got)
	}
	for _, text := range []string{"", "not a refusal", `{"kind":"Pod"}`} {
		if got, err := a.Explain(t.Context(), text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestBoundRefusals holds what the page says of refused requests of a service account that acts under a delegation, as the
// audit log has them: a role for the account would not help, so none is suggested, and the person behind the request is named.
func TestBoundRefusals(t *testing.T) {
	a, _ := answers(t)
	path := filepath.Join(t.TempDir(), "audit.log")
	a.Log = &Log{Name: path}
	const event = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":%q,"stage":"ResponseComplete","verb":"create",` +
		`"user":{"username":"system:serviceaccount:agents:scaler","groups":["system:serviceaccounts"]},"objectRef":{"resource":"pods","namespace":"shop","name":"web","apiVersion":"v1","subresource":%q},` +
		`"responseStatus":{"status":"Failure","message":%q,"reason":"Forbidden","code":403},"stageTimestamp":"2026-11-27T10:00:00.000000Z",` +
		`"annotations":{"authority.kube-granular.dev/chain":"[{\"via\":\"Delegation\",\"by\":\"alice\",\"name\":\"d\"},{\"via\":\"Token\",\"by\":\"system:serviceaccount:agents:scaler\"}]",` +
		`"authority.kube-granular.dev/selected":"{\"authorityReference\":{\"kind\":\"AuthorityDelegation\",\"name\":\"d\",\"uid\":\"d\"},\"via\":\"Binding\"}",` +
		`"authority.kube-granular.dev/refused":"Bound","authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":%[4]q}}` + "\n"
	for i, why := range []string{
		"a service account that acts under a delegation can't connect to pods, services or nodes (exec, attach, portforward, proxy): what it starts there would not end with the delegation",
		"no token or certificate can be requested while an authority is selected, because the selection would not restrict its holder",
		`AuthorityDelegation "d" does not allow the request`,
		"another service account of this name, which acted under a delegation, was deleted or replaced; get a token of the present one",
	} {
		message := `pods "web" is forbidden: User "system:serviceaccount:agents:scaler" cannot create resource "pods/exec" in API group "" in the namespace "shop": ` + why
		appendTo(t, path, fmt.Sprintf(event, fmt.Sprint("id-", i), "exec", message, why))
		got, err := a.Denials(t.Context())
		if err != nil || len(got.Denials) != i+1 || got.Unread != 0 {
			t.Fatalf("%v %+v", err, got)
		}
		d := got.Denials[0]
		if d.Remedy != nil || !strings.Contains(d.Advice, "lend another role") || !strings.Contains(d.Advice, why) || d.User != "system:serviceaccount:agents:scaler" {
			t.Errorf("%s: %+v", why, d)
		}
		if !slices.Equal(d.Behalf, []string{"alice by Delegation d"}) {
			t.Errorf("%s: on behalf of %q", why, d.Behalf)
		}
	}
	// The same request on behalf of another person is another refusal.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, strings.ReplaceAll(string(text), `\"by\":\"alice\"`, `\"by\":\"jane\"`))
	if got, err := a.Denials(t.Context()); err != nil || len(got.Denials) != 8 || got.Denials[0].Behalf[0] != "jane by Delegation d" {
		t.Errorf("%v %+v", err, got)
	}
}

// TestQuestion holds which questions a page may ask.
//
// Attack: a page asks with a command that reads or writes files, or that chooses another server or user
// Answer: only commands and flags that change objects pass
func TestQuestion(t *testing.T) {
	for name, tc := range map[string]struct {
		asked Asked
		want  string
	}{
		"a command":           {Asked{Text: `kubectl scale deployment web --replicas=3 -n shop`}, `command ["kubectl" "scale" "deployment" "web" "--replicas=3" "-n" "shop"]`},
		"quotes":              {Asked{Text: `kubectl patch deployment web -p '{"spec": {"replicas": 3}}' --type "merge"`}, `command ["kubectl" "patch" "deployment" "web" "-p" "{\"spec\": {\"replicas\": 3}}" "--type" "merge"]`},
		"two lines":           {Asked{Text: "kubectl label \\\n deployment web a=b c-"}, `command ["kubectl" "label" "deployment" "web" "a=b" "c-"]`},
		"a shell's text":      {Asked{Text: "kubectl label deployment web a=$(id);reboot"}, `command ["kubectl" "label" "deployment" "web" "a=$(id);reboot"]`},
		"a patch":             {Asked{Text: `deployments/web {"spec":{"replicas":3}}`}, `patch deployments/web {"spec":{"replicas":3}}`},
		"a patch in YAML":     {Asked{Text: "deployments.apps/web spec: {replicas: 3}"}, "patch deployments.apps/web spec: {replicas: 3}"},
		"objects":             {Asked{Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"}, "objects"},
		"objects in JSON":     {Asked{Text: `{"apiVersion":"apps/v1"}`}, "objects"},
		"a user":              {Asked{Text: "a: b", As: "user:jane", Groups: []string{"devs"}}, "objects as jane [devs]"},
		"a group":             {Asked{Text: "a: b", As: "group:devs"}, "objects as a-member [devs]"},
		"an account":          {Asked{Text: "a: b", As: "serviceaccount:ci/robot"}, "objects as system:serviceaccount:ci:robot []"},
		"nothing":             {Asked{Text: "  "}, "error the change is missing"},
		"groups alone":        {Asked{Text: "a: b", Groups: []string{"devs"}}, "error groups: the user is missing"},
		"another command":     {Asked{Text: "kubectl exec web -- sh"}, "error the command must be one of"},
		"a file":              {Asked{Text: "kubectl patch -f /etc/x -p {}"}, "error -f is not for a page"},
		"a file, glued":       {Asked{Text: "kubectl patch -f/etc/x -p {}"}, "error -f is not for a page"},
		"a file, long":        {Asked{Text: "kubectl patch --patch-file=/etc/x"}, "error --patch-file is not for a page"},
		"another server":      {Asked{Text: "kubectl scale -s http://evil deployment web --replicas=3"}, "error -s is not for a page"},
		"another kubeconfig":  {Asked{Text: "kubectl scale --kubeconfig=/tmp/x deployment web --replicas=3"}, "error --kubeconfig is not for a page"},
		"another user":        {Asked{Text: "kubectl scale --as=root deployment web --replicas=3"}, "error --as is not for a page"},
		"a file that written": {Asked{Text: "kubectl scale --profile-output=/tmp/x deployment web"}, "error --profile-output is not for a page"},
		"before the command":  {Asked{Text: "kubectl --kubeconfig=/tmp/x scale deployment web"}, "error the command must be one of"},
		"after two dashes":    {Asked{Text: "kubectl label deployment -- web"}, "error -- is not for a page"},
		"a quote":             {Asked{Text: "kubectl label deployment 'web"}, "error a quote of the command is not closed"},
	} {
		q, err := ParseQuestion(&tc.asked)
		got := ""
		switch {
		case err != nil:
			got = "error " + err.Error()
		case q.Command != nil:
			got = fmt.Sprintf("command %q", q.Command)
		case q.Target != "":
			got = "patch " + q.Target + " " + q.Patch
		default:
			got = "objects"
		}
		if err == nil && q.User != "" {
			got += fmt.Sprintf(" as %s %v", q.User, q.Groups)
		}
		if got != tc.want && !(strings.HasPrefix(tc.want, "error ") && strings.HasPrefix(got, tc.want)) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

type judge struct{ asked *Question }

func (j *judge) Judge(_ context.Context, q *Question) ([]*access.Evaluation, string, error) {
	j.asked = q
	return []*access.Evaluation{{Object: "x"}}, "a note", nil
}

// TestAllowed holds that only a page of a server answers, and that nothing is asked that a page may not ask.
func TestAllowed(t *testing.T) {
	a, _ := answers(t)
	if _, err := a.Allowed(t.Context(), &Asked{Text: "a: b"}); err == nil || !strings.Contains(err.Error(), "from files") {
		t.Error(err)
	}
	j := &judge{}
	a.Judge = j
	if _, err := a.Allowed(t.Context(), &Asked{Text: "kubectl delete pod a"}); err == nil || j.asked != nil {
		t.Error(err, j.asked)
	}
	if got, err := a.Allowed(t.Context(), &Asked{Text: "a: b"}); err != nil || got.Note != "a note" || len(got.Evaluations) != 1 {
		t.Error(got, err)
	}
}

func TestBeforeCollecting(t *testing.T) {
	a := &Answers{}
	if _, err := a.Snapshot(); err == nil {
		t.Error("a snapshot of nothing")
	}
}
