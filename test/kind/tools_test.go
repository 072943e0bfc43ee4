// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// tools is a folder in place of KIND_DIR, with programs that stand in for kind and docker. A cluster is a file.
type tools struct{ dir, bin string }

func newTools(t *testing.T, clusters ...string) tools {
	t.Helper()
	dir := t.TempDir()
	s := tools{dir, filepath.Join(t.TempDir(), "path")}
	for file, script := range map[string]string{
		filepath.Join(dir, "bits", "kind"): "case $1 in get) ls ../clusters;; delete) rm ../clusters/$4;; esac",
		filepath.Join(s.bin, "docker"):     "echo docker $* >>../log\ncase $1 in ps) [ \"$2\" != --quiet ] || ls ../clusters ../containers;; esac",
	} {
		text := fmt.Sprintf("#!/bin/sh\ncd %s || exit\n%s\n", filepath.Join(dir, "bits"), script)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append([]string{"../containers/other"}, clusters...) {
		file := filepath.Join(dir, "clusters", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// run runs a script of hack/kind, and returns what it prints.
func (s tools) run(variables string, script ...string) (string, error) {
	cmd := exec.Command("bash", append([]string{filepath.Join("..", "..", "hack", "kind", script[0])}, script[1:]...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "KIND_") && !strings.HasPrefix(v, "E2E_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "KIND_DIR="+s.dir, "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, strings.Fields(variables)...)
	// A file, because the sleep between two messages of progress outlives the script, and would hold a pipe open.
	log, err := os.Create(filepath.Join(s.bin, "output"))
	if err != nil {
		return "", err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	out, failed := os.ReadFile(log.Name())
	return string(out), errors.Join(err, failed)
}

// clusters returns the clusters that are left.
func (s tools) clusters(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, "clusters"))
	if err != nil {
		return "no folder"
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestDownEndsOneCluster holds what hack/kind/down ends: the cluster that KIND_NAME names, and the containers of
// the project's own daemon only after the last cluster. It needs no cluster.
func TestDownEndsOneCluster(t *testing.T) {
	for name, test := range map[string]struct {
		variables, left, says string
		fails, containers     bool
	}{
		"one of two":                   {"KIND_NAME=x", "granular", "still there: granular", false, true},
		"one of two, own daemon":       {"KIND_NAME=x KIND_OFFLINE=1", "granular", "still there: granular", false, true},
		"the other":                    {"KIND_OFFLINE=1", "x", "still there: x", false, true},
		"one of two, and purge":        {"KIND_NAME=x KIND_OFFLINE=1 KIND_PURGE=1", "granular", "so nothing is removed", true, true},
		"the last":                     {"KIND_NAME=last KIND_OFFLINE=1", "", "Docker daemon ends", false, false},
		"the last of a foreign daemon": {"KIND_NAME=last", "", "end the cluster last", false, true},
		"the last, and purge":          {"KIND_NAME=last KIND_OFFLINE=1 KIND_PURGE=1", "no folder", "Docker daemon ends", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTools(t, "granular", "x")
			if strings.Contains(test.variables, "last") {
				s = newTools(t, "last")
			}
			out, err := s.run(test.variables, "down")
			if (err != nil) != test.fails || !strings.Contains(out, test.says) {
				t.Errorf("%v: %s, want %q", err, out, test.says)
			}
			if got := s.clusters(t); got != test.left {
				t.Errorf("the clusters %q are left, want %q", got, test.left)
			}
			log, err := os.ReadFile(filepath.Join(s.dir, "log"))
			if removed := strings.Contains(string(log), "docker rm --force"); err == nil && removed == test.containers {
				t.Errorf("containers were removed: %t\n%s", removed, log)
			}
		})
	}
}

// TestConfiguration holds the configuration of a cluster with an audit policy, and without one. It needs no cluster.
func TestConfiguration(t *testing.T) {
	s := newTools(t)
	policy, err := filepath.Abs(filepath.Join("..", "..", "pkg", "localcluster", "audit-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type argument struct{ Name, Value string }
	type volume struct {
		Name, HostPath, MountPath, PathType string
		ReadOnly                            bool
	}
	type mount struct {
		HostPath, ContainerPath string
		ReadOnly                bool
	}
	read := func(variables string) (arguments []argument, volumes []volume, mounts [][]mount) {
		t.Helper()
		out, err := s.run(variables, "up", "configuration")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var cluster struct {
			KubeadmConfigPatches []string
			Nodes                []struct{ ExtraMounts []mount }
		}
		var patch struct {
			APIServer struct {
				ExtraArgs    []argument
				ExtraVolumes []volume
			}
		}
		if err := yaml.Unmarshal([]byte(out), &cluster); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := yaml.Unmarshal([]byte(cluster.KubeadmConfigPatches[0]), &patch); err != nil {
			t.Fatal(err)
		}
		for _, n := range cluster.Nodes {
			mounts = append(mounts, n.ExtraMounts)
		}
		return patch.APIServer.ExtraArgs, patch.APIServer.ExtraVolumes, mounts
	}
	plain := []argument{{"feature-gates", "GranularAuthorization=true"}, {"runtime-config", ""}}
	arguments, volumes, mounts := read("")
	if diff := cmp.Diff([]any{plain, []volume(nil), [][]mount{nil}}, []any{arguments, volumes, mounts}); diff != "" {
		t.Errorf("without a policy (-want +got):\n%s", diff)
	}
	const file = "/etc/kubernetes/audit-policy.yaml"
	one := []mount{{policy, file, true}}
	arguments, volumes, mounts = read("KIND_NODES=3 KIND_AUDIT_POLICY=../../pkg/localcluster/audit-policy.yaml")
	if diff := cmp.Diff([]any{
		append(plain, argument{"audit-policy-file", file}, argument{"audit-log-path", "/var/log/kubernetes/audit.log"}),
		[]volume{{"audit-policy", file, file, "File", true},
			{"audit-log", "/var/log/kubernetes", "/var/log/kubernetes", "DirectoryOrCreate", false}},
		[][]mount{one, one, one},
	}, []any{arguments, volumes, mounts}); diff != "" {
		t.Errorf("with a policy (-want +got):\n%s", diff)
	}
	for variables, want := range map[string]string{
		"KIND_AUDIT_POLICY=none.yaml":              "an audit policy in the file of KIND_AUDIT_POLICY: none.yaml",
		"KIND_AUDIT_POLICY=testdata/tenants.txtar": "an audit policy in the file of KIND_AUDIT_POLICY: testdata/tenants.txtar",
	} {
		if out, err := s.run(variables, "preflight"); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s, want %q", variables, err, out, want)
		}
	}
	if out, _ := s.run("KIND_AUDIT_POLICY="+policy, "preflight"); strings.Contains(out, "audit policy") {
		t.Errorf("the policy is refused: %s", out)
	}
}
