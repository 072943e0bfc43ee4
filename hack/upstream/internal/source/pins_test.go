// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
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

// TestModuleSum compares moduleSum with package dirhash of golang.org/x/mod, which defines the sum.
func TestModuleSum(t *testing.T) {
	dir := t.TempDir()
	sums := map[string]string{}
	for name, data := range map[string]string{"go.mod": "module x\n", "a/b.go": "package a\n", "a.go": "", "B": "b"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(data))
		sums[name] = hex.EncodeToString(sum[:])
	}
	m := Module{Version: module.Version{Path: "x", Version: "v1.0.0"}}
	want, err := dirhash.HashDir(dir, m.String(), dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	if got := moduleSum(m, sums); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
