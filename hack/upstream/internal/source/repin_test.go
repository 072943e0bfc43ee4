// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/module"
)

// TestRepin checks what a new version changes in go.mod and go.sum: pins, replacements and sums of the pinned modules, and
// no line of another module.
func TestRepin(t *testing.T) {
	const gomod = `module x

go 1.26

require (
	example.com/other v0.37.1
	k8s.io/api v0.37.1
	k8s.io/gone v0.37.1
	k8s.io/klog/v2 v2.1.0
	k8s.io/kubernetes v1.37.1
)

replace k8s.io/api v0.0.0 => k8s.io/api v0.37.1

replace k8s.io/gone v0.0.0 => k8s.io/gone v0.37.1
`
	const gosum = `example.com/other v0.37.1 h1:other
k8s.io/api v0.36.0/go.mod h1:required-by-another
k8s.io/api v0.37.1 h1:old
k8s.io/api v0.37.1/go.mod h1:old
k8s.io/gone v0.37.1 h1:old
k8s.io/klog/v2 v2.1.0 h1:klog
k8s.io/kubernetes v1.37.1 h1:old
`
	source := func(version, staging string) *Source {
		return &Source{Modules: []*Module{
			{Version: module.Version{Path: Kubernetes, Version: version}},
			{Version: module.Version{Path: "k8s.io/api", Version: staging}},
			{Version: module.Version{Path: "k8s.io/kube-openapi", Version: "v0.1.0"}},
		}}
	}
	newMod, newSum, err := Repin([]byte(gomod), []byte(gosum), source("v1.37.2", "v0.37.2"), []string{"k8s.io/api v0.37.2 h1:new", "k8s.io/kubernetes v1.37.2 h1:new"})
	if err != nil {
		t.Fatal(err)
	}
	const wantMod = `module x

go 1.26

require (
	example.com/other v0.37.1
	k8s.io/api v0.37.2
	k8s.io/klog/v2 v2.1.0
	k8s.io/kubernetes v1.37.2
)

replace k8s.io/api v0.0.0 => k8s.io/api v0.37.2
`
	const wantSum = `example.com/other v0.37.1 h1:other
k8s.io/api v0.36.0/go.mod h1:required-by-another
k8s.io/api v0.37.2 h1:new
k8s.io/klog/v2 v2.1.0 h1:klog
k8s.io/kubernetes v1.37.2 h1:new
`
	if diff := cmp.Diff(wantMod+wantSum, string(newMod)+string(newSum)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	// The same version again keeps the sums, also those of a module that was not downloaded.
	kept, sums, err := Repin(newMod, newSum, source("v1.37.2", "v0.37.2"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantMod+wantSum, string(kept)+string(sums)); diff != "" {
		t.Errorf("again: (-want +got)\n%s", diff)
	}
}
