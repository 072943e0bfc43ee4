// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/tenancy/internal/adopt"
)

// TestRead checks which wishes files have, and which files are refused before a request is sent.
//
// Attack: a file names a namespace twice, or one with a name that is none, such as a path or a text with line breaks
// Answer: an error that names the file and the document; nothing is read from the cluster
func TestRead(t *testing.T) {
	const lns = "{apiVersion: tenancy.kube-granular.dev/v1alpha1, kind: LNamespace, metadata: {name: web}, spec: {users: [{name: ada}]}}"
	const ns = "{apiVersion: v1, kind: Namespace, metadata: {name: web}}"
	for name, tc := range map[string]struct{ text, want, says string }{
		"a namespace":             {text: ns, want: "web"},
		"an LNamespace":           {text: lns, want: "web+"},
		"both":                    {text: lns + "\n---\n" + ns, want: "web+"},
		"several":                 {text: ns + "\n---\n\n---\n" + strings.ReplaceAll(ns, "web", "api"), want: "api web"},
		"a list":                  {text: "{apiVersion: v1, kind: List, items: [" + ns + ", " + strings.ReplaceAll(lns, "web", "db") + "]}", want: "db+ web"},
		"other objects":           {text: ns + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: '%'}}\n---\nresources: [a.yaml]", want: "web"},
		"of a backup":             {text: strings.ReplaceAll(lns, "{name: web}", "{name: web, uid: x, resourceVersion: '1', annotations: {tenancy.kube-granular.dev/allowed: 'true'}}"), want: "web+"},
		"twice":                   {text: ns + "\n---\n" + ns, says: `in.yaml, document 2: Namespace "web" is in `},
		"an LNamespace twice":     {text: lns + "\n---\n" + lns, says: `LNamespace "web" is in`},
		"nothing":                 {text: "# empty", says: "no Namespace and no LNamespace"},
		"no name":                 {text: "{apiVersion: v1, kind: Namespace}", says: `Namespace "": metadata.name is no name`},
		"a path":                  {text: "{apiVersion: v1, kind: Namespace, metadata: {name: ../kube-system}}", says: "metadata.name is no name"},
		"a line break":            {text: `{apiVersion: v1, kind: Namespace, metadata: {name: "a\nb"}}`, says: "metadata.name is no name"},
		"an unknown field":        {text: strings.ReplaceAll(lns, "users:", "user:"), says: `LNamespace "web"`},
		"another version":         {text: strings.ReplaceAll(lns, "v1alpha1", "v2"), says: "apiVersion is not"},
		"no YAML":                 {text: "{{ .Values.name }}", says: "in.yaml, document 1"},
		"a namespace of a group":  {text: "{apiVersion: example.com/v1, kind: Namespace, metadata: {name: web}}", says: "no Namespace"},
		"a list of another group": {text: "{apiVersion: example.com/v1, kind: NamespaceList, items: [" + ns + "]}", says: "no Namespace"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "in.yaml"), []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		// Files of other kinds and hidden folders are left out.
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"README.md", ".git/x.yaml"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(ns, "web", "hidden")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for what, read := range map[string]func() ([]adopt.Wish, error){
			"folder": func() ([]adopt.Wish, error) { return adopt.Read([]string{dir}, nil) },
			"file":   func() ([]adopt.Wish, error) { return adopt.Read([]string{filepath.Join(dir, "in.yaml")}, nil) },
			"input":  func() ([]adopt.Wish, error) { return adopt.Read([]string{adopt.Stdin}, strings.NewReader(tc.text)) },
		} {
			wishes, err := read()
			says := tc.says
			if what == "input" {
				says = strings.ReplaceAll(says, "in.yaml", "standard input")
			}
			if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%s, %s: %v, wanted %q", name, what, err, says)
				continue
			}
			var got []string
			for _, w := range wishes {
				text := w.Name
				if w.Tenant != nil {
					text += "+"
					if w.Tenant.UID != "" || w.Tenant.ResourceVersion != "" || len(w.Tenant.Annotations) > 0 || w.Tenant.Spec.Users[0].Kind != "User" {
						t.Errorf("%s: %+v", name, w.Tenant)
					}
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%s, %s: %q, wanted %q", name, what, got, tc.want)
			}
		}
	}
	if _, err := adopt.Read([]string{"no-such-file"}, nil); err == nil {
		t.Error("a missing file was read")
	}
}
