// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// valid is a test without mistakes. Each case of a table below changes it.
const valid = `apiVersion: test.kube-granular.dev/v1alpha1
kind: RoleTest
given:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
cases:
- as: {user: jane}
  scale: {resource: deployments, name: shop/web, replicas: 3}
  expect: allowed
`

// written writes the files of an archive into a new folder and returns the folder.
func written(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read reads the test in an archive. Errors name files without the folder.
func read(t *testing.T, archive string, allowNetwork bool) (*Test, string) {
	t.Helper()
	dir := written(t, archive)
	test, err := Read(filepath.Join(dir, "a.test.yaml"), allowNetwork)
	if err == nil {
		return test, ""
	}
	return nil, strings.ReplaceAll(err.Error(), dir+"/", "")
}

func TestReadNamesFileLineAndField(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"a valid test":            {"", "", ""},
		"an unknown field":        {"  expect", "  expct", "a.test.yaml:8: cases[0].expct: no such field, did you mean expect?"},
		"a missing field":         {"  expect: allowed", "", "a.test.yaml:6: cases[0]: the field expect is missing"},
		"a wrong type":            {"replicas: 3", `replicas: "3"`, "a.test.yaml:7: cases[0].scale.replicas: must be a whole number, but is a text"},
		"a wrong case":            {"replicas: 3", "Replicas: 3", "a.test.yaml:7: cases[0].scale.Replicas: no such field, did you mean replicas?"},
		"a key twice":             {"replicas: 3", "replicas: 3, replicas: 4", `a.test.yaml:7: key "replicas" occurs twice`},
		"another kind":            {"kind: RoleTest", "kind: Role", "a.test.yaml:1: not a test"},
		"another version":         {"v1alpha1", "v1", "a.test.yaml:1: not a test"},
		"two documents":           {"cases:", "---\ncases:", "a.test.yaml: a test is one document, but there are 2"},
		"not YAML":                {"cases:", "cases: [", "a.test.yaml:"},
		"no request":              {"  scale: {resource: deployments, name: shop/web, replicas: 3}\n", "", "a.test.yaml:6: cases[0]: has no request"},
		"two requests":            {"  expect", "  get: {resource: pods}\n  expect", "a.test.yaml:6: cases[0]: has several requests (scale, get)"},
		"no subject":              {"user: jane", "", "a.test.yaml:6: cases[0].as: needs either user or serviceAccount"},
		"two subjects":            {"user: jane", "user: jane, serviceAccount: a/b", "a.test.yaml:6: cases[0].as: needs either"},
		"a master":                {"user: jane", "user: jane, groups: [dev, \"system:masters\"]", "a.test.yaml:6: cases[0].as.groups[1]: a member of system:masters"},
		"an assigned group":       {"user: jane", "user: jane, groups: [\"system:serviceaccounts:a\"]", "cases[0].as.groups[0]: only the server"},
		"an account by its user":  {"user: jane", "user: \"system:serviceaccount:a:b\"", "cases[0].as.user: name a service account by"},
		"nobody":                  {"user: jane", "user: \"system:anonymous\"", "cases[0].as.user: requests without a user"},
		"an account without name": {"user: jane", "serviceAccount: ci", "a.test.yaml:6: cases[0].as.serviceAccount: must have the form"},
		"groups of an account":    {"user: jane", "serviceAccount: ci/robot, groups: [a]", "cases[0].as.groups: the server gives"},
		"a bad selection":         {"user: jane", "user: jane, selects: {kind: Pod, name: a}", "cases[0].as.selects: kind must be"},
		"a role without namespace": {"user: jane", "user: jane, selects: {kind: Role, name: a}",
			"cases[0].as.selects: namespace must be"},
		"another expectation":    {"allowed", "denied", "a.test.yaml:8: cases[0].expect: must be allowed, or"},
		"a refusal of anything":  {"allowed", "{refused: {}}", "a.test.yaml:8: cases[0].expect: a refusal names the field or the verb"},
		"a refusal of a field":   {"allowed", "{refused: {field: spec.replicas}}", "cases[0].expect.refused.field: a path begins with a dot"},
		"an empty patch":         {"scale: {resource: deployments, name: shop/web, replicas: 3}", "patch: {resource: deployments, name: shop/web}", "cases[0].patch: needs exactly one of"},
		"metadata of a part":     {"scale: {resource: deployments, name: shop/web, replicas: 3}", "get: {resource: pods/status, name: a/b, metadata: true}", "cases[0].get: the metadata alone is read of whole resources"},
		"a name and a list":      {"scale: {resource: deployments, name: shop/web, replicas: 3}", "get: {resource: pods, name: a/b, watch: true}", "cases[0].get: a name is for"},
		"an object of no kind":   {"scale: {resource: deployments, name: shop/web, replicas: 3}", "create: {object: {apiVersion: v1}}", "cases[0].create.object.kind: is missing"},
		"no name":                {"name: shop/web", `name: ""`, "cases[0].scale: resource and name must not be empty"},
		"no cases":               {"cases:\n", "cases: []\nx:\n", "cases: there are no cases"},
		"an object of a list":    {"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "{apiVersion: v1, kind: List, items: [{apiVersion: v1}]}", "a.test.yaml:4: given[0].items[0]: the object has no apiVersion or no kind"},
		"a name that is no text": {"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "7", "a.test.yaml:4: given[0]: must be a name of files"},
		"a word of YAML 1.1":     {"user: jane", "user: yes", "cases[0].as.user: must be a text, but is true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(valid, tc.old, tc.new, 1)
			test, got := read(t, "-- a.test.yaml --\n"+text, false)
			if tc.want == "" && (got != "" || len(test.Objects) != 1 || len(test.Cases) != 1 || test.Cases[0].Line != 6) {
				t.Fatalf("%s, %+v", got, test)
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestReadFindsAllMistakes holds that a file with several mistakes needs one run, and that a line of
// another file is one of that file.
func TestReadFindsAllMistakes(t *testing.T) {
	text := strings.NewReplacer("user: jane", "usr: jane", "allowed", "no", "- {api", "- roles.yaml\n- {api").Replace(valid)
	_, got := read(t, "-- a.test.yaml --\n"+text+"-- roles.yaml --\n\n---\nkind: Role\n", false)
	for _, want := range []string{"a.test.yaml:7: cases[0].as.usr: ", "a.test.yaml:9: cases[0].expect: ", "roles.yaml:3: the object has no"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

// TestReadGiven holds which files an entry of given reads, in which order.
func TestReadGiven(t *testing.T) {
	object := func(name string) string { return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}\n" }
	archive := "-- rbac/b.yaml --\n" + object("b") + "---\n" + object("c") + "-- rbac/a.yaml --\n" + object("a") +
		"-- rbac/deep/x.yaml --\n" + object("x") + "-- rbac/notes.txt --\nno YAML: [\n-- crds/d.json --\n" + object("d") +
		"-- a.test.yaml --\n"
	for entries, want := range map[string]string{
		"rbac/*.yaml":    "a b c",
		"rbac":           "a b c",
		"./rbac/":        "a b c",
		"crds/":          "d",
		"rbac/b.yaml":    "b c",
		"crds, rbac":     "d a b c",
		"rbac/deep/*":    "x",
		"*/a.yaml":       "a",
		"rbac/[ab].yaml": "a b c",
		"rbac/none.yaml": `"rbac/none.yaml" matches no file`,
		"rbac/x[":        "syntax error",
		"rbac/notes.txt": "notes.txt:",
		"../a.test.yaml": "is not a path below",
		"/etc/hosts":     "is not a path below",
		"rbac/../crds":   "is not a path below",
		"rbac\\..\\..":   "is not a path below",
		`""`:             "is not a path below",
	} {
		quoted := entries
		if !strings.Contains(entries, ",") && !strings.HasPrefix(entries, `"`) {
			quoted = "'" + entries + "'"
		}
		text := strings.Replace(valid, "- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "- "+strings.ReplaceAll(quoted, ", ", "\n- "), 1)
		test, got := read(t, archive+text, false)
		if test != nil {
			var names []string
			for i := range test.Objects {
				names = append(names, test.Objects[i].GetName())
			}
			got = strings.Join(names, " ")
		}
		if got != want && (test != nil || !strings.Contains(got, want)) {
			t.Errorf("%s: got %s, want %s", entries, got, want)
		}
	}
}

// TestReadHostileFiles holds what the file of a pull request can't do.
//
// Attack: a pull request whose test of a role has YAML aliases, deep or large values, thousands of objects, webhooks,
// an APIService, a path outside of its folder, or a delegation without its delegator
// Answer: an error with the file and the line; nothing is started
func TestReadHostileFiles(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'k'; c++ {
		bomb.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n")
	}
	namespaces := strings.Repeat("---\n{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n", maxObjects+1)
	for name, tc := range map[string]struct{ file, want string }{
		"a bomb of aliases":        {bomb.String(), "anchors and aliases are not supported"},
		"a merge":                  {"<<: {a: b}\n", "the key is not a text"},
		"a deep file":              {strings.Repeat("[", 200) + strings.Repeat("]", 200), "inside each other"},
		"a very deep file":         {strings.Repeat("[", 1<<19), "x.yaml"},
		"a large file":             {"a: " + strings.Repeat("x", maxFile), "too large"},
		"many objects":             {namespaces, "a test may have 1000 objects"},
		"a webhook":                {"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}}", "x.yaml:1: a ValidatingWebhookConfiguration makes the server connect"},
		"another webhook":          {"{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingWebhookConfiguration, metadata: {name: a}}", "needs --allow-network"},
		"an aggregated API":        {"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}", "needs --allow-network"},
		"a conversion":             {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {strategy: Webhook}}}", "x.yaml:1: spec.conversion: a conversion webhook"},
		"a hidden kind":            {"{apiVersion: v1, kind: List, items: [{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}]}", "needs --allow-network"},
		"an authorization webhook": {"{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{type: Webhook, name: a}, {type: RBAC, name: b}]}", "only authorizers of the types RBAC and Node"},
		"no RBAC":                  {"{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{type: Node, name: a}]}", "there must be an authorizer of the type RBAC"},
		"a policy":                 {"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: a}}", "does not judge admission policies"},
		"a test as an object":      {"{apiVersion: test.kube-granular.dev/v1alpha1, kind: RoleTest, metadata: {name: a}}", "a RoleTest is a file"},
		"a UID":                    {"{apiVersion: v1, kind: Namespace, metadata: {name: a, uid: x}}", "metadata.uid: the server sets this field"},
		"a delegation of nobody":   {"{apiVersion: authority.kube-granular.dev/v1alpha1, kind: AuthorityDelegation, metadata: {name: a}}", "a delegation needs its delegator"},
		"not UTF-8":                {"a: \xff\n", "x.yaml"},
		"a value in an error":      {"a: b\nc: d: secret\n", "x.yaml:2"},
	} {
		text := strings.Replace(valid, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "x.yaml", 1)
		test, got := read(t, "-- x.yaml --\n"+tc.file+"\n-- a.test.yaml --\n"+text, false)
		if test != nil || !strings.Contains(got, tc.want) || strings.Contains(got, "secret") || len(got) > 10_000 {
			t.Errorf("%s: got %.300q, want %q", name, got, tc.want)
		}
		if strings.Contains(tc.want, "--allow-network") {
			if test, got := read(t, "-- x.yaml --\n"+tc.file+"\n-- a.test.yaml --\n"+text, true); test == nil {
				t.Errorf("%s: refused with --allow-network: %s", name, got)
			}
		}
	}
}

// TestReadFollowsNoLink holds that a link can't lead out of the folder of the test, and that a pipe is
// not opened.
//
// Attack: a pull request with a link to a file of the CI machine, which a test of a role names
// Answer: an error, the file is not read
func TestReadFollowsNoLink(t *testing.T) {
	outside := written(t, "-- secret.yaml --\n{apiVersion: v1, kind: Namespace, metadata: {name: secret}}\n")
	for name, tc := range map[string]struct {
		link        func(path string) error
		given, want string
	}{
		"a file":             {func(path string) error { return os.Symlink(filepath.Join(outside, "secret.yaml"), path) }, "x.yaml", ""},
		"a file, by pattern": {func(path string) error { return os.Symlink(filepath.Join(outside, "secret.yaml"), path) }, "x*", "escapes"},
		"a folder":           {func(path string) error { return os.Symlink(outside, path) }, "x.yaml", ""},
		"a file in a folder": {func(path string) error { return os.Symlink(outside, path) }, "x.yaml/secret.yaml", ""},
		"all of a folder":    {func(path string) error { return os.Symlink(outside, path) }, "x.yaml/*", ""},
		"a pipe":             {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "x.yaml", "not a regular file"},
		"a file inside": {func(path string) error {
			return errors.Join(os.Rename(filepath.Join(filepath.Dir(path), "b.yaml"), path+"2"), os.Symlink("x.yaml2", path))
		}, "x.yaml", "allowed"},
	} {
		dir := written(t, "-- a.test.yaml --\n"+strings.Replace(valid, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", `"`+tc.given+`"`, 1)+
			"-- b.yaml --\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n")
		if err := tc.link(filepath.Join(dir, "x.yaml")); err != nil {
			t.Fatal(err)
		}
		test, err := Read(filepath.Join(dir, "a.test.yaml"), false)
		if tc.want == "allowed" {
			if err != nil || len(test.Objects) != 1 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, wanted an error with %q", name, err, tc.want)
		}
	}
}

// TestReadDelegation is the twin of the delegation of nobody: with a delegator it is accepted, unless the
// delegator is a master.
func TestReadDelegation(t *testing.T) {
	const delegation = "{apiVersion: authority.kube-granular.dev/v1alpha1, kind: AuthorityDelegation, metadata: {name: a}}"
	for given, want := range map[string]string{
		"{as: {user: alice}, object: " + delegation + "}":                               "",
		"{as: {user: alice}, files: x.yaml}":                                            "",
		"{as: {user: alice, groups: [\"system:masters\"]}, object: " + delegation + "}": "given[0].as.groups[0]: a member of system:masters",
		"{as: {user: alice}}":                                                           "given[0]: needs either files or object",
		"{as: {user: alice}, files: x.yaml, object: " + delegation + "}":                "given[0]: needs either files or object",
		"{as: {}, object: " + delegation + "}":                                          "given[0].as: needs either user",
		"{as: {user: alice}, objekt: " + delegation + "}":                               "given[0].objekt: no such field",
	} {
		text := strings.Replace(valid, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", given, 1)
		test, got := read(t, "-- x.yaml --\n"+delegation+"\n-- a.test.yaml --\n"+text, false)
		if want == "" && (test == nil || len(test.Objects) != 1 || test.Objects[0].As == nil || test.Objects[0].As.User != "alice") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}

// TestReadWebhooks holds that a webhook configuration is accepted if the server can't call any of its webhooks,
// because none has rules. One rule, or a value that is no list of rules, makes it a configuration that needs
// --allow-network.
//
// Attack: a pull request whose test of a role has a webhook with rules, beside webhooks without rules or in a list
// Answer: an error with the file and the line; nothing is started
func TestReadWebhooks(t *testing.T) {
	const none, rule = "{name: a, clientConfig: {url: \"https://192.0.2.1\"}}", "{name: b, rules: [{resources: [pods]}]}"
	for webhooks, accepted := range map[string]bool{
		"[" + none + "]":               true,
		"[{name: a, rules: []}]":       true,
		"[" + none + ", {name: b}]":    true,
		"[" + rule + "]":               false,
		"[" + none + ", " + rule + "]": false,
		"[{name: a, rules: [{}]}]":     false,
		"[{name: a, rules: [null]}]":   false,
		"[{name: a, rules: null}]":     false,
		"[{name: a, rules: {}}]":       false,
		"[{name: a, rules: \"\"}]":     false,
		"[a]":                          false,
		"[null]":                       false,
		"[]":                           false,
		"null":                         false,
		"{a: " + none + "}":            false,
	} {
		for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
			object := "{apiVersion: admissionregistration.k8s.io/v1, kind: " + kind + ", metadata: {name: a}, webhooks: " + webhooks + "}"
			for _, file := range []string{object, "{apiVersion: v1, kind: List, items: [" + object + "]}"} {
				text := strings.Replace(valid, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "x.yaml", 1)
				test, got := read(t, "-- x.yaml --\n"+file+"\n-- a.test.yaml --\n"+text, false)
				if refused := strings.Contains(got, "x.yaml:1: ") && strings.Contains(got, "needs --allow-network"); accepted != (test != nil) || accepted == refused {
					t.Errorf("%s: accepted %t, wanted %t: %s", file, test != nil, accepted, got)
				}
			}
		}
	}
}
