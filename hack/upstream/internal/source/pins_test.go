// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
)

func TestStagingVersion(t *testing.T) {
	for in, want := range map[string]string{
		"v1.37.1": "v0.37.1", "v1.38.0-rc.1": "v0.38.0-rc.1",
		"1.37.1": "", "v1.37": "", "v2.0.0": "", "latest": "", "": "",
	} {
		got, err := StagingVersion(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestPins(t *testing.T) {
	const head = "module x\n\ngo 1.26\n\n"
	for name, tt := range map[string]struct{ gomod, want string }{
		"agree": {head + "require (\n\tk8s.io/kubernetes v1.37.1\n\tk8s.io/api v0.37.1\n)\n" +
			"replace k8s.io/api v0.0.0 => k8s.io/api v0.37.1\n", ""},
		"no kubernetes": {head + "require k8s.io/api v0.37.1\n", "does not require k8s.io/kubernetes"},
		"other version": {head + "require (\n\tk8s.io/kubernetes v1.37.1\n\tk8s.io/api v0.37.0\n)\n", "k8s.io/api is required at v0.37.0, want v0.37.1"},
		"missing":       {head + "require k8s.io/kubernetes v1.37.1\n", "k8s.io/api is not required"},
		"replaced": {head + "require (\n\tk8s.io/kubernetes v1.37.1\n\tk8s.io/api v0.37.1\n)\n" +
			"replace k8s.io/api v0.0.0 => k8s.io/api v0.37.0\n", "k8s.io/api v0.0.0 is replaced with v0.37.0"},
		"malformed": {"require", "go.mod"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ReadPins([]byte(tt.gomod), nil)
			if err == nil {
				err = p.Agree([]string{"k8s.io/api"})
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestReadUpstream checks that a staging module belongs to the tree only if Kubernetes requires it.
func TestReadUpstream(t *testing.T) {
	generators := ""
	for path := range generatorDirs {
		version := " v0.1.0"
		if _, major, ok := module.SplitPathVersion(path); ok && major != "" {
			version = " " + strings.TrimPrefix(major, "/") + ".0.0"
		}
		generators += "\t" + path + version + "\n"
	}
	const replaced = "replace k8s.io/api => ./staging/src/k8s.io/api\n" +
		"replace k8s.io/sample-controller => ./staging/src/k8s.io/sample-controller\n" +
		"replace k8s.io/other => ../other\n"
	head := "module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n" + generators
	got, err := readUpstream([]byte(head + "\tk8s.io/api v0.0.0\n\tk8s.io/other v0.0.0\n)\n" + replaced))
	if err != nil || !slices.Equal(got.Staging, []string{"k8s.io/api"}) {
		t.Errorf("got %v, %v", got.Staging, err)
	}
	if got, err := readUpstream([]byte(head + ")\n" + replaced)); err == nil || !strings.Contains(err.Error(), "requires no module") {
		t.Errorf("got %v, %v", got.Staging, err)
	}
}
