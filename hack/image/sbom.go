// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// unknown is the SPDX value for unknown information.
const unknown = "NOASSERTION"

// licence is that of the binary, of Kubernetes' modules and of this project's.
const licence = "Apache-2.0"

// sbom returns the SBOM of a Go binary. It lists the binary and its modules (from
// debug/buildinfo). The checksum of a module is that of go.sum, which is not the hash of a file,
// so it is in the comment of the package and not among its checksums. The SBOM does not state the
// licences of modules, except of those in pins.
//
// pins has the versions of modules that were built from a folder: Kubernetes' own modules, which are patched, and those of
// this project. Go calls such a version (devel), which no scanner finds. All of them have the licence of the binary.
//
// SPDX requires a creation time. It is the Unix epoch, so that builds are reproducible. The
// namespace must be unique for each document, so it contains the SHA-256 of the binary.
func sbom(name, version string, pins map[string]string, binary string) (*spdx.Document, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum, err := sha256File(binary)
	if err != nil {
		return nil, err
	}
	const main = common.ElementID("Package-binary")
	document := &spdx.Document{
		SPDXVersion:       spdx.Version,
		DataLicense:       spdx.DataLicense,
		SPDXIdentifier:    "DOCUMENT",
		DocumentName:      name,
		DocumentNamespace: "https://kube-granular.dev/spdx/" + name + "-" + sum,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "kube-granular-image"}},
			Created:  "1970-01-01T00:00:00Z",
		},
		Packages: []*spdx.Package{{
			PackageName:             filepath.Base(binary),
			PackageSPDXIdentifier:   main,
			PackageFileName:         filepath.Base(binary),
			PackageVersion:          version,
			PackageDownloadLocation: unknown,
			PackageChecksums:        []common.Checksum{{Algorithm: common.SHA256, Value: sum}},
			PackageLicenseConcluded: licence,
			PackageLicenseDeclared:  licence,
			PackageCopyrightText:    unknown,
			PrimaryPackagePurpose:   "APPLICATION",
			PackageComment:          info.Path + " of " + info.GoVersion,
		}},
		Relationships: []*spdx.Relationship{relationship("DOCUMENT", "DESCRIBES", main)},
	}
	modules := append([]*debug.Module{{Path: "stdlib", Version: info.GoVersion}, &info.Main}, info.Deps...)
	for i, m := range modules {
		m = pinned(replaced(m), pins)
		id := common.ElementID(fmt.Sprintf("Package-module-%d", i))
		p := modulePackage(id, m)
		if _, known := pins[m.Path]; known {
			p.PackageLicenseDeclared = licence
		}
		document.Packages = append(document.Packages, p)
		document.Relationships = append(document.Relationships, relationship(main, "CONTAINS", id))
	}
	return document, nil
}

// devel is what Go calls the version of a module that it built from a folder.
const devel = "(devel)"

// replaced returns what a module was built from. A folder has no name that anybody else knows, so the module keeps its own.
func replaced(m *debug.Module) *debug.Module {
	switch {
	case m.Replace == nil:
		return m
	case m.Replace.Version == "" || m.Replace.Version == devel:
		return &debug.Module{Path: m.Path, Version: devel}
	}
	return m.Replace
}

// pinned returns a module with the version that pins has for it, if Go has none.
func pinned(m *debug.Module, pins map[string]string) *debug.Module {
	if version, known := pins[m.Path]; known && m.Version == devel {
		return &debug.Module{Path: m.Path, Version: version}
	}
	return m
}

func modulePackage(id common.ElementID, m *debug.Module) *spdx.Package {
	p := &spdx.Package{
		PackageName:             m.Path,
		PackageSPDXIdentifier:   id,
		PackageVersion:          m.Version,
		PackageDownloadLocation: unknown,
		PackageLicenseConcluded: unknown,
		PackageLicenseDeclared:  unknown,
		PackageCopyrightText:    unknown,
		PrimaryPackagePurpose:   "LIBRARY",
	}
	purl := "pkg:golang/" + m.Path
	if m.Version != "" && m.Version != devel {
		purl += "@" + m.Version
	}
	p.PackageExternalReferences = []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: purl}}
	if m.Sum != "" {
		p.PackageComment = "go.sum " + m.Sum
	}
	return p
}

func relationship(element common.ElementID, kind string, related common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{
		RefA:         common.MakeDocElementID("", string(element)),
		RefB:         common.MakeDocElementID("", string(related)),
		Relationship: kind,
	}
}

func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
