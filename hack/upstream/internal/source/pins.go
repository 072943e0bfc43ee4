// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Kubernetes is the module path of the Kubernetes repository.
const Kubernetes = "k8s.io/kubernetes"

// stagingDir is the folder with which Kubernetes' go.mod replaces its staging modules.
const stagingDir = "./staging/src/"

// Pins are the upstream versions and sums in a project's go.mod and go.sum.
type Pins struct {
	// Version of k8s.io/kubernetes, like v1.37.1.
	Version string
	// Go is the go line of go.mod.
	Go string

	require map[string]string
	replace map[string]string // staging module -> what v0.0.0 is replaced with
	sums    map[module.Version]string
}

// ReadPins reads the pins from a go.mod and a go.sum.
func ReadPins(gomod, gosum []byte) (Pins, error) {
	p := Pins{require: map[string]string{}, replace: map[string]string{}, sums: parseSums(gosum)}
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return p, err
	}
	if f.Go != nil {
		p.Go = f.Go.Version
	}
	for _, r := range f.Require {
		p.require[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range f.Replace {
		if r.Old.Version == "v0.0.0" && r.Old.Path == r.New.Path {
			p.replace[r.Old.Path] = r.New.Version
		}
	}
	if p.Version = p.require[Kubernetes]; p.Version == "" {
		return p, fmt.Errorf("go.mod: does not require %s", Kubernetes)
	}
	if _, err := StagingVersion(p.Version); err != nil {
		return p, fmt.Errorf("go.mod: %w", err)
	}
	return p, nil
}

// StagingVersion returns the version of the staging modules for a version of Kubernetes:
// v0.37.1 for v1.37.1.
func StagingVersion(kubernetes string) (string, error) {
	if !semver.IsValid(kubernetes) || semver.Major(kubernetes) != "v1" || semver.Canonical(kubernetes) != kubernetes {
		return "", fmt.Errorf("%s %s is not a version of the form v1.Y.Z", Kubernetes, kubernetes)
	}
	return "v0" + strings.TrimPrefix(kubernetes, "v1"), nil
}

// Move returns pins for another version of Kubernetes, without sums of the project.
func (p Pins) Move(version string) Pins { return Pins{Version: version, Go: p.Go} }

// Agree returns an error if the pins of staging modules do not fit the version of Kubernetes.
// go.mod must require each staging module at the version that StagingVersion returns. If go.mod
// replaces v0.0.0 of a staging module, the replacement must have that version too.
func (p Pins) Agree(staging []string) error {
	want, err := StagingVersion(p.Version)
	if err != nil || p.require == nil {
		return err
	}
	var wrong []string
	for _, m := range staging {
		switch have, ok := p.require[m]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s is not required, want %s", m, want))
		case have != want:
			wrong = append(wrong, fmt.Sprintf("%s is required at %s, want %s", m, have, want))
		}
		if have, ok := p.replace[m]; ok && have != want {
			wrong = append(wrong, fmt.Sprintf("%s v0.0.0 is replaced with %s, want %s", m, have, want))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("go.mod: pins disagree with %s %s:\n  %s", Kubernetes, p.Version, strings.Join(wrong, "\n  "))
	}
	return nil
}

// Identity returns the part of go.mod and go.sum that the tree depends on, as text.
func (p Pins) Identity() string {
	var lines []string
	for path, version := range p.require {
		if strings.HasPrefix(path, "k8s.io/") {
			lines = append(lines, fmt.Sprintf("%s %s %s", path, version, p.sums[module.Version{Path: path, Version: version}]))
		}
	}
	for path, version := range p.replace {
		lines = append(lines, fmt.Sprintf("replace %s %s", path, version))
	}
	slices.Sort(lines)
	return strings.Join(append(lines, "go "+p.Go), "\n")
}

func parseSums(gosum []byte) map[module.Version]string {
	sums := map[module.Version]string{}
	for line := range strings.Lines(string(gosum)) {
		if f := strings.Fields(line); len(f) == 3 && !strings.HasSuffix(f[1], "/go.mod") {
			sums[module.Version{Path: f[0], Version: f[1]}] = f[2]
		}
	}
	return sums
}

// upstreamFacts is the content of Kubernetes' own go.mod that the tool needs.
type upstreamFacts struct {
	Go         string
	Staging    []string          // the staging modules that it requires
	Generators map[string]string // module -> version
}

func readUpstream(gomod []byte) (u upstreamFacts, err error) {
	const name = "go.mod of " + Kubernetes
	f, err := modfile.Parse(name, gomod, nil)
	if err != nil {
		return u, err
	}
	if f.Go == nil {
		return u, errors.New(name + ": no go line")
	}
	u.Go, u.Generators = f.Go.Version, map[string]string{}
	required := map[string]string{}
	for _, r := range f.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	// Kubernetes replaces some samples that it does not require. No program is built from them, and the module proxy
	// does not always serve them.
	for _, r := range f.Replace {
		if r.New.Path == stagingDir+r.Old.Path && required[r.Old.Path] != "" {
			u.Staging = append(u.Staging, r.Old.Path)
		}
	}
	if len(u.Staging) == 0 {
		return u, errors.New(name + ": requires no module that it replaces with " + stagingDir)
	}
	slices.Sort(u.Staging)
	for path := range generatorDirs {
		if u.Generators[path] = required[path]; u.Generators[path] == "" {
			return u, fmt.Errorf("%s: does not require %s", name, path)
		}
	}
	return u, nil
}
