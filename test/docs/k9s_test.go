// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// k9sPlugins is the part of a plugin file of k9s that docs/integrations/k9s.yaml uses.
type k9sPlugins struct {
	Plugins map[string]struct {
		ShortCut, Description, Command string
		Scopes, Args                   []string
		Background, Dangerous          bool
	}
}

// TestK9s runs the commands of docs/integrations/k9s.yaml as k9s does: it replaces the variables
// of k9s in each argument, and starts the command without a shell of its own.
func TestK9s(t *testing.T) {
	var file k9sPlugins
	if err := yaml.UnmarshalStrict([]byte(read(t, "integrations/k9s.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t)
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, tc := range []struct {
		plugin, editor string
		// resource and group are those of the selected object.
		resource, group, namespace, name string
		says                             []string
	}{
		{"granular-explain", "", "deployments", "apps", "default", "web", []string{"spec ", "granular:podTemplate"}},
		{"granular-explain", "", "nodes", "", "", "worker", []string{"granular:schedulability"}},
		{"granular-can-i", "", "deployments", "apps", "default", "web", []string{"granular:label(super.safe.com)"}},
		{"granular-can-i", "", "nodes", "", "", "worker", []string{"No field may be changed."}},
		{"granular-who-can", "", "deployments", "apps", "default", "web", []string{"All fields (update):", "User editor", "ServiceAccount default/supersafe"}},
		// In k9s, the namespace of an object without one is empty. A name is never read as a command.
		{"granular-who-can", "", "nodes", "", "", "$(touch broken)", []string{"system:masters"}},
		{"granular-edit", `sed -i "s|^metadata:$|metadata:\n  finalizers: [super.safe.com/edited]|"`, "deployments", "apps", "default", "web", []string{"deployment.apps/web edited"}},
		{"granular-edit", `sed -i "s|  replicas: .*|  replicas: 7|"`, "deployments", "apps", "default", "web", []string{"cannot change .spec.replicas"}},
	} {
		t.Run(tc.plugin, func(t *testing.T) {
			tried[tc.plugin] = true
			// Only an administrator may read roles, which who-can lists.
			user := "supersafe"
			if tc.plugin == "granular-who-can" {
				user = "admin"
			}
			config, err := clientcmd.LoadFromFile(c.Kubeconfig(user))
			if err != nil {
				t.Fatal(err)
			}
			variables := strings.NewReplacer("$KUBECONFIG", c.Kubeconfig(user), "$CONTEXT", config.CurrentContext,
				"$RESOURCE_NAME", tc.resource, "$RESOURCE_GROUP", tc.group, "$NAMESPACE", tc.namespace, "$NAME", tc.name)
			var args []string
			for _, arg := range file.Plugins[tc.plugin].Args {
				args = append(args, variables.Replace(arg))
			}
			cmd := exec.CommandContext(t.Context(), file.Plugins[tc.plugin].Command, args...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+cmd.Dir,
				"TMPDIR="+t.TempDir(), "PAGER=cat", "EDITOR="+tc.editor, "KUBECONFIG=")
			out, _ := cmd.CombinedOutput()
			for _, want := range tc.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s does not say %q:\n%s", tc.plugin, want, out)
				}
			}
			if _, err := os.Stat(filepath.Join(cmd.Dir, "broken")); err == nil {
				t.Error("a shell ran the name of the object as a command")
			}
		})
	}
	for name := range file.Plugins {
		if !tried[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}
