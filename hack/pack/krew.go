// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// manifest is a plugin manifest of krew.googlecontainertools.github.com/v1alpha2.
type manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       plugin   `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type plugin struct {
	Version          string    `json:"version"`
	Homepage         string    `json:"homepage,omitempty"`
	ShortDescription string    `json:"shortDescription"`
	Description      string    `json:"description,omitempty"`
	Caveats          string    `json:"caveats,omitempty"`
	Platforms        []release `json:"platforms"`
}

// release is the archive of one platform.
type release struct {
	Selector selector `json:"selector"`
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Bin      string   `json:"bin"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

const apiVersion = "krew.googlecontainertools.github.com/v1alpha2"

func newManifest(version string, p program) *manifest {
	return &manifest{
		APIVersion: apiVersion, Kind: "Plugin", Metadata: metadata{p.krew.name},
		Spec: plugin{Version: version, ShortDescription: p.krew.short, Description: p.krew.long, Caveats: p.krew.caveats},
	}
}

func (m *manifest) add(p program, platform, uri, sum string) {
	system, processor, _ := strings.Cut(platform, "/")
	m.Spec.Platforms = append(m.Spec.Platforms,
		release{selector{map[string]string{"os": system, "arch": processor}}, uri, sum, p.executable(system)})
}

func (m *manifest) marshal() ([]byte, error) { return yaml.Marshal(m) }

var (
	namePattern    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	versionPattern = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	sumPattern     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// maxShort is the maximum length of a short description in krew's index.
const maxShort = 50

// checkManifest checks the documented rules of krew: no unknown field, a name of lower case
// words, a semantic version with the prefix v, a short description without a full stop, and for
// each platform one archive with an HTTPS URL and a checksum.
func checkManifest(text []byte) error {
	var m manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return err
	}
	var wrong []error
	say := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	say(m.APIVersion != apiVersion, "apiVersion %q is not %s", m.APIVersion, apiVersion)
	say(m.Kind != "Plugin", "kind %q is not Plugin", m.Kind)
	say(!namePattern.MatchString(m.Metadata.Name), "metadata.name %q is not of lower case words", m.Metadata.Name)
	say(!versionPattern.MatchString(m.Spec.Version), "spec.version %q is not a version such as v0.1.0", m.Spec.Version)
	short := m.Spec.ShortDescription
	say(short == "" || len(short) > maxShort || strings.HasSuffix(short, ".") || strings.Contains(short, "\n"),
		"spec.shortDescription must be one line of at most %d characters without a full stop", maxShort)
	say(len(m.Spec.Platforms) == 0, "spec.platforms is empty")
	seen := map[string]bool{}
	for i, p := range m.Spec.Platforms {
		path := fmt.Sprintf("spec.platforms[%d]", i)
		system, processor := p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]
		say(system == "" || processor == "" || len(p.Selector.MatchLabels) != 2, "%s.selector must match os and arch", path)
		say(seen[system+"/"+processor], "%s: %s/%s is duplicate", path, system, processor)
		seen[system+"/"+processor] = true
		link, err := url.Parse(p.URI)
		say(err != nil || link.Scheme != "https" || link.Host == "", "%s.uri must be an https address", path)
		say(!strings.HasSuffix(p.URI, ".tar.gz") && !strings.HasSuffix(p.URI, ".zip"), "%s.uri must be a .tar.gz or .zip", path)
		say(!strings.Contains(p.URI, m.Spec.Version), "%s.uri does not contain the version", path)
		say(!sumPattern.MatchString(p.SHA256), "%s.sha256 must be 64 hexadecimal digits", path)
		say(p.Bin == "" || strings.ContainsAny(p.Bin, `/\`) || (system == "windows") != strings.HasSuffix(p.Bin, ".exe"), "%s.bin must be the file in the archive", path)
	}
	return errors.Join(wrong...)
}
