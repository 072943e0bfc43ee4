// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roletest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// recipes is the folder of the recipes.
const recipes = "../../../docs/recipes"

// documented is a role that the documentation shows.
type documented struct {
	// folder is the folder of the test, and of all files that the test names.
	folder string
	// role and test are files in the folder.
	role, test string
}

// documentedRoles returns the recipes, and the role of the README, which make up creates.
func documentedRoles(t *testing.T) []documented {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recipes, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recipes", err)
	}
	out := []documented{{"../../../pkg/localcluster/demo", "manifests/20-supersafe.yaml", "supersafe.test.yaml"}}
	for _, file := range files {
		if name := filepath.Base(file); !strings.HasSuffix(name, ".test.yaml") {
			out = append(out, documented{recipes, name, strings.TrimSuffix(name, ".yaml") + ".test.yaml"})
		}
	}
	return out
}

// TestRecipes runs the tests of the recipes and of the role of the README. Each of these roles has a test, each
// test passes, and no role has a part that no case needs.
func TestRecipes(t *testing.T) {
	var files []string
	for _, d := range documentedRoles(t) {
		file := filepath.Join(d.folder, d.test)
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s has no test of its role: %v", d.role, err)
			continue
		}
		files = append(files, file)
	}
	all, err := filepath.Glob(filepath.Join(recipes, "*.test.yaml"))
	if err != nil || len(all) != len(files)-1 {
		t.Errorf("%d tests of %d recipes: a test has the name of its recipe; %v", len(all), len(files)-1, err)
	}
	reports, code := judge(t, append([]string{"--tight"}, files...)...)
	for i := range reports {
		if len(reports[i].Notes) > 0 {
			t.Errorf("%s: %v", reports[i].File, reports[i].Notes)
		}
		if code != 0 {
			t.Errorf("%s:\n%s", reports[i].File, strings.Join(reports[i].lines(), "\n"))
		}
	}
}

// TestMutatedRecipes holds that the test of a recipe notices a role that allows more, and one that allows
// less: the first by --tight or by a case that must be refused, the second by a case that must be allowed.
func TestMutatedRecipes(t *testing.T) {
	roles := documentedRoles(t)
	for what, change := range map[string]func(verbs []string) []string{
		"more": func(verbs []string) []string { return append(verbs, "deletecollection") },
		"less": func([]string) []string { return []string{"deletecollection"} },
	} {
		reports, code := judge(t, append([]string{"--tight"}, mutated(t, roles, change)...)...)
		if code != 1 || len(reports) != len(roles) {
			t.Fatalf("%s: exit code %d, %d reports", what, code, len(reports))
		}
		for i := range reports {
			failed := len(reports[i].Loose) > 0
			for _, c := range reports[i].Cases {
				failed = failed || c.Outcome == "failed"
			}
			if !failed {
				t.Errorf("%s: a role that allows %s is not noticed:\n%s", reports[i].File, what, strings.Join(reports[i].lines(), "\n"))
			}
		}
	}
}

// mutated returns the tests of copies of the folders, where each role has other verbs in its last rule.
func mutated(t *testing.T, roles []documented, change func(verbs []string) []string) []string {
	t.Helper()
	dir := t.TempDir()
	copies := map[string]string{}
	var out []string
	for _, d := range roles {
		folder, copied := copies[d.folder]
		if !copied {
			folder = filepath.Join(dir, filepath.Base(d.folder))
			if err := os.CopyFS(folder, os.DirFS(d.folder)); err != nil {
				t.Fatal(err)
			}
			copies[d.folder] = folder
		}
		file := filepath.Join(folder, d.role)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, mutate(t, string(text), change), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, filepath.Join(folder, d.test))
	}
	return out
}

// mutate returns a file with other verbs in the last rule of its ClusterRole.
func mutate(t *testing.T, text string, change func(verbs []string) []string) []byte {
	t.Helper()
	documents, roles := strings.Split(text, "\n---\n"), 0
	for i, document := range documents {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		if kind.Kind != "ClusterRole" {
			continue
		}
		roles++
		var role rbacv1.ClusterRole
		err := yaml.UnmarshalStrict([]byte(document), &role)
		rule := &role.Rules[len(role.Rules)-1]
		rule.Verbs = change(rule.Verbs)
		changed, err2 := yaml.Marshal(map[string]any{"apiVersion": role.APIVersion, "kind": role.Kind,
			"metadata": map[string]any{"name": role.Name}, "rules": role.Rules})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		documents[i] = string(changed)
	}
	if roles != 1 {
		t.Fatalf("%d cluster roles, and not one:\n%s", roles, text)
	}
	return []byte(strings.Join(documents, "\n---\n"))
}
