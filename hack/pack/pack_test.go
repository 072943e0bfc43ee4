// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestPack makes the archive of this platform twice. It holds that both archives are equal, and
// that the plugin in the archive runs.
func TestPack(t *testing.T) {
	t.Chdir("../..")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	var archives [][]byte
	for range 2 {
		o := options{version: "v0.1.0", url: "https://example.com/v0.1.0/", out: t.TempDir(),
			platforms: []string{platform}, programs: []string{"kubectl-granular"}}
		if err := pack(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"granular.yaml", "SHA256SUMS"} {
			data, err := os.ReadFile(filepath.Join(o.out, name))
			if err != nil || !bytes.Contains(data, []byte("kubectl-granular-v0.1.0-"+strings.ReplaceAll(platform, "/", "-"))) {
				t.Errorf("%s: %s %v", name, data, err)
			}
		}
		data, err := os.ReadFile(filepath.Join(o.out, "kubectl-granular-v0.1.0-"+runtime.GOOS+"-"+runtime.GOARCH+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of one tree differ")
	}
	files := untarred(t, archives[0])
	for _, name := range []string{"LICENSE", "kubectl_complete-granular", "man/kubectl-granular-can-i.1"} {
		if len(files[name]) == 0 {
			t.Errorf("%s is not in the archive", name)
		}
	}
	binary := filepath.Join(t.TempDir(), "kubectl-granular")
	if err := os.WriteFile(binary, files["kubectl-granular"], 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), binary, "--help").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("kubectl granular [command]")) {
		t.Errorf("%s %v", out, err)
	}
}

func untarred(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	var names []string
	for in := tar.NewReader(plain); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(modificationTime) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s has the time %s and the owner %s", header.Name, header.ModTime, header.Uname)
		}
		names = append(names, header.Name)
		if out[header.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the files are in the order %v", names)
	}
	return out
}

// TestManifests checks the krew manifest of each plugin that has one, and that a name of a program is refused if
// there is no such program.
func TestManifests(t *testing.T) {
	for _, p := range programs {
		if p.krew.name == "" {
			continue
		}
		m := newManifest("v0.1.0", p)
		m.add(p, "windows/amd64", "https://example.com/v0.1.0/x.zip", strings.Repeat("0a", 32))
		text, err := m.marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := checkManifest(text); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		if want := "kubectl-" + p.krew.name + ".exe"; m.Spec.Platforms[0].Bin != want {
			t.Errorf("%s: the binary is %s, and krew expects %s", p.name, m.Spec.Platforms[0].Bin, want)
		}
	}
	o := options{version: "v0.1.0", url: "https://example.com", out: t.TempDir(), programs: []string{"kubectl-none"}}
	if err := pack(t.Context(), o); err == nil || !strings.Contains(err.Error(), `no "kubectl-none"`) {
		t.Errorf("a program that does not exist: %v", err)
	}
}

// TestZip holds that a zip archive has the files with the mode of executables, and that two
// archives of the same files are equal.
func TestZip(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	if err := os.WriteFile(from, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	var archives [][]byte
	for _, order := range [][]string{{"b.exe", "a"}, {"a", "b.exe"}} {
		to := filepath.Join(dir, "to.zip")
		var files []file
		for _, name := range order {
			files = append(files, file{name, from, 0o755})
		}
		if err := writeArchive(to, files, writeZip); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	in, err := zip.NewReader(bytes.NewReader(archives[0]), int64(len(archives[0])))
	if err != nil || len(in.File) != 2 || in.File[1].Name != "b.exe" || in.File[1].Mode() != 0o755 || !bytes.Equal(archives[0], archives[1]) {
		t.Error(in, err)
	}
}

// TestLint holds that checkManifest accepts a valid manifest, and refuses each manifest that breaks
// one of krew's rules.
func TestLint(t *testing.T) {
	made := newManifest("v0.1.0", programs[0])
	for _, p := range platforms {
		ending := ".tar.gz"
		if strings.HasPrefix(p, "windows") {
			ending = ".zip"
		}
		made.add(programs[0], p, "https://example.com/v0.1.0/x"+ending, strings.Repeat("0a", 32))
	}
	text, err := made.marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkManifest(text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for _, tc := range []struct{ old, new, says string }{
		{"v1alpha2", "v1", "apiVersion"},
		{"kind: Plugin", "kind: Pod", "kind"},
		{"name: granular", "name: Granular", "metadata.name"},
		{"version: v0.1.0", "version: 0.1.0", "spec.version"},
		{"single fields\n  version", "single fields.\n  version", "shortDescription"},
		{"shortDescription:", "unknown: x\n  shortDescription:", "unknown"},
		{"shortDescription: See", "shortDescription: " + strings.Repeat("long ", 12), "shortDescription"},
		{"os: linux", "os: darwin", "duplicate"},
		{"arch: amd64", "cpu: amd64", "selector"},
		{"uri: https", "uri: http", "https"},
		{".tar.gz", ".tgz", ".tar.gz or .zip"},
		{"com/v0.1.0/x", "com/x", "does not contain the version"},
		{"sha256: 0a", "sha256: 0g", "sha256"},
		{"kubectl-granular.exe", "kubectl-granular", "bin"},
		{"bin: kubectl-granular\n", "bin: bin/kubectl-granular\n", "bin"},
	} {
		broken := strings.Replace(string(text), tc.old, tc.new, 1)
		if broken == string(text) {
			t.Fatalf("%q is not in the manifest\n%s", tc.old, text)
		}
		if err := checkManifest([]byte(broken)); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q for %q: %v", tc.new, tc.old, err)
		}
	}
	if err := checkManifest([]byte("apiVersion: " + apiVersion)); err == nil || !strings.Contains(err.Error(), "platforms is empty") {
		t.Error(err)
	}
}
