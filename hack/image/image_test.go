// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// server returns the specification of an image with a small file in place of kube-apiserver. The
// file is in a new folder and has a modification time of its own, neither of which may affect the
// image.
func server(t *testing.T, architecture string) spec {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(binary, []byte("a server for "+architecture), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(binary, time.Now(), time.Unix(int64(len(binary)), 0)); err != nil {
		t.Fatal(err)
	}
	return spec{
		Tags:         []string{"registry.k8s.io/kube-apiserver:v1.37.1_granular"},
		Architecture: architecture,
		Entrypoint:   []string{"/usr/local/bin/kube-apiserver"},
		Command:      []string{"--version"},
		Labels:       map[string]string{"org.opencontainers.image.version": "v1.37.1+granular"},
		Files:        map[string]string{"/usr/local/bin/kube-apiserver": binary},
		Bind:         []string{"/usr/local/bin/kube-apiserver"},
	}
}

func packed(t *testing.T, write func(io.Writer, []built) error, specs ...spec) []byte {
	t.Helper()
	images, err := buildAll(specs)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write(&out, images); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSameFilesMakeTheSameBytes(t *testing.T) {
	for format, write := range map[string]func(io.Writer, []built) error{"docker": writeDocker, "oci": writeOCI} {
		first := packed(t, write, server(t, "amd64"), server(t, "arm64"))
		before := syscall.Umask(0o077)
		second := packed(t, write, server(t, "amd64"), server(t, "arm64"))
		syscall.Umask(before)
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two archives of the same files differ, with another umask", format)
		}
	}
}

func TestDockerArchive(t *testing.T) {
	other := server(t, "amd64")
	other.Tags = []string{"registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10.2", "docker.io/kindest/x:v1"}
	archive := packed(t, writeDocker, server(t, "amd64"), other)
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
	for _, n := range []string{"registry.k8s.io/kube-apiserver:v1.37.1_granular", "registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10.2"} {
		tag, err := name.NewTag(n)
		if err != nil {
			t.Fatal(err)
		}
		image, err := tarball.Image(opener, &tag)
		if err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		if err := validate.Image(image); err != nil {
			t.Errorf("%s: %v", n, err)
		}
		checkServer(t, image, "amd64")
	}

	// kind reads only the first file of the archive, so that file must name all images.
	in := tar.NewReader(bytes.NewReader(archive))
	header, err := in.Next()
	if err != nil || header.Name != "repositories" {
		t.Fatalf("the first file is %v (%v), want repositories", header, err)
	}
	var repositories map[string]map[string]string
	if err := json.NewDecoder(in).Decode(&repositories); err != nil {
		t.Fatal(err)
	}
	if tags := slices.Sorted(maps.Keys(repositories["registry.k8s.io/pause"])); !slices.Equal(tags, []string{"3.10", "3.10.2"}) {
		t.Errorf("repositories has tags %q of pause", tags)
	}
	if repositories["docker.io/kindest/x"]["v1"] == "" {
		t.Errorf("repositories names %q, without docker.io/kindest/x", slices.Sorted(maps.Keys(repositories)))
	}
}

func checkServer(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != architecture || !config.Created.IsZero() {
		t.Errorf("the image is for %s/%s, created %v", config.OS, config.Architecture, config.Created)
	}
	if !slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/kube-apiserver"}) ||
		!slices.Equal(config.Config.Cmd, []string{"--version"}) ||
		config.Config.Labels["org.opencontainers.image.version"] != "v1.37.1+granular" {
		t.Errorf("the image's configuration is %+v", config.Config)
	}
	// RKE2 calls kube-apiserver by its name, Talos by its path.
	if !slices.ContainsFunc(config.Config.Env, func(e string) bool { return strings.HasPrefix(e, "PATH=") && strings.Contains(e, "/usr/local/bin:") }) {
		t.Errorf("kube-apiserver is not on the path: %q", config.Config.Env)
	}
	layer := mutate.Extract(image)
	defer layer.Close()
	var names []string
	for in := tar.NewReader(layer); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Uid != 0 || header.Uname != "" || header.ModTime.Unix() > 0 {
			t.Errorf("%s: owner %d %q, time %v", header.Name, header.Uid, header.Uname, header.ModTime)
		}
		if header.Name == "usr/local/bin/kube-apiserver" {
			data, err := io.ReadAll(in)
			if err != nil || string(data) != "a server for "+architecture || header.Mode != 0o755 {
				t.Errorf("%s: %q, mode %o, %v", header.Name, data, header.Mode, err)
			}
		}
	}
	if want := []string{"tmp", "usr", "usr/local", "usr/local/bin", "usr/local/bin/kube-apiserver"}; !slices.Equal(trimmed(names), want) {
		t.Errorf("the layer has %q, want %q", names, want)
	}
}

func trimmed(names []string) []string {
	for i, n := range names {
		names[i] = strings.TrimSuffix(n, "/")
	}
	return names
}

func TestOCILayout(t *testing.T) {
	dir := t.TempDir()
	in := tar.NewReader(bytes.NewReader(packed(t, writeOCI, server(t, "amd64"), server(t, "arm64"))))
	for {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Error(err)
	}
	manifest, err := all.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the layout has %d images (%v), want one of two platforms", len(manifest.Manifests), err)
	}
	if named := manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; named != "registry.k8s.io/kube-apiserver:v1.37.1_granular" {
		t.Errorf("the image is named %q", named)
	}
	index, err := all.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	images, err := partial.FindImages(index, func(v1.Descriptor) bool { return true })
	if err != nil || len(images) != 2 {
		t.Fatalf("%d platforms, %v", len(images), err)
	}
	checkServer(t, images[0], "amd64")
	checkServer(t, images[1], "arm64")
}

// TestBind holds that exactly the files in spec.Bind have the capability to listen on low ports.
func TestBind(t *testing.T) {
	s := server(t, "amd64")
	s.Files["/usr/local/bin/other"] = s.Files["/usr/local/bin/kube-apiserver"]
	var out bytes.Buffer
	if err := layer(&out, s); err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(&out); ; {
		header, err := in.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := header.PAXRecords["SCHILY.xattr.security.capability"]
		if want := header.Name == "usr/local/bin/kube-apiserver"; (got == netBindService) != want || (got == "") == want {
			t.Errorf("%s: capability %q", header.Name, got)
		}
	}
}

func TestRoot(t *testing.T) {
	s := server(t, "amd64")
	s.Root = t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(s.Root, "usr", "lib"), 0o755),
		os.WriteFile(filepath.Join(s.Root, "usr", "lib", "libc.so"), []byte("x"), 0o644),
		os.Symlink("usr/lib", filepath.Join(s.Root, "lib")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := layer(&out, s); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for in := tar.NewReader(&out); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := seen[header.Name]; twice {
			t.Errorf("%s is in the layer twice", header.Name)
		}
		seen[header.Name] = header.Linkname
	}
	if link, ok := seen["lib"]; !ok || link != "usr/lib" {
		t.Errorf("lib links to %q", link)
	}
	if _, ok := seen["usr/lib/libc.so"]; !ok {
		t.Error("usr/lib/libc.so is not in the layer")
	}
}

func TestBadLists(t *testing.T) {
	for list, want := range map[string]string{
		`[]`:                         "the list of images is empty",
		`[{"tagz":["a:b"]}]`:         `unknown field "tagz"`,
		`[{"architecture":"amd64"}]`: "tags: at least one is required",
		`[{"tags":["registry.k8s.io/kube-apiserver"],"architecture":"amd64"}]`:                               "tags: ",
		`[{"tags":["registry.k8s.io/a/b:c"]}]`:                                                               "architecture: required, such as amd64",
		`[{"tags":["registry.k8s.io/a/b:c"],"architecture":"amd64"}]`:                                        "files: at least one is required",
		`[{"tags":["registry.k8s.io/a/b:c"],"architecture":"amd64","files":{"/a":"main.go"},"bind":["/b"]}]`: "bind: /b is not in files",
		`[{"tags":["registry.k8s.io/a/b:c"],"architecture":"amd64","files":{"/a":"no-such-file"}}]`:          "files: /a: open no-such-file",
		`[{"tags":["registry.k8s.io/a/b:c"],"architecture":"amd64","files":{"/a":"."}}]`:                     "files: /a: not a regular file",
	} {
		cmd := newCommand()
		out := filepath.Join(t.TempDir(), "out.tar")
		cmd.SetIn(strings.NewReader(list))
		cmd.SetArgs([]string{"docker", "--out", out})
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", list, err, want)
		}
		if left, _ := filepath.Glob(out + "*"); len(left) != 0 {
			t.Errorf("%s: left %q", list, left)
		}
	}
}

// TestReplaced holds what the SBOM calls a module that another one replaces. No folder of the builder is among the names.
func TestReplaced(t *testing.T) {
	pins := map[string]string{"kube-granular.dev/api": "v7"}
	for _, tc := range []struct{ module, want debug.Module }{
		{debug.Module{Path: "a", Version: "v1"}, debug.Module{Path: "a", Version: "v1"}},
		{debug.Module{Path: "a", Version: "v1", Replace: &debug.Module{Path: "b", Version: "v2"}}, debug.Module{Path: "b", Version: "v2"}},
		{debug.Module{Path: "kube-granular.dev/api", Version: "v0.0.0", Replace: &debug.Module{Path: "../api", Version: devel}},
			debug.Module{Path: "kube-granular.dev/api", Version: "v7"}},
		{debug.Module{Path: "a", Version: "v0.0.0", Replace: &debug.Module{Path: "../a"}}, debug.Module{Path: "a", Version: devel}},
	} {
		if got := pinned(replaced(&tc.module), pins); *got != tc.want {
			t.Errorf("%+v: got %+v, want %+v", tc.module, *got, tc.want)
		}
	}
}

// TestSBOM holds that the SBOM of a binary of this module has the modules that go.mod requires,
// with their versions.
func TestSBOM(t *testing.T) {
	dir := t.TempDir()
	binary, out := filepath.Join(dir, "image"), filepath.Join(dir, "image.spdx.json")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	cmd := newCommand()
	const own = "kube-granular.dev/hack/image"
	cmd.SetArgs([]string{"sbom", "--name", "image-amd64", "--version", "v1", "--pin", own + "=v7,github.com/google/go-containerregistry=v9", "--out", out, binary})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		SPDXVersion string `json:"spdxVersion"`
		Packages    []struct {
			Name      string `json:"name"`
			ID        string `json:"SPDXID"`
			Version   string `json:"versionInfo"`
			Checksums []any  `json:"checksums"`
			Refs      []struct {
				Locator string `json:"referenceLocator"`
			} `json:"externalRefs"`
		} `json:"packages"`
		Relationships []any `json:"relationships"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	if document.SPDXVersion != "SPDX-2.3" || document.Packages[0].Version != "v1" || len(document.Packages[0].Checksums) != 1 {
		t.Errorf("the document begins %s %+v", document.SPDXVersion, document.Packages[0])
	}
	if len(document.Relationships) != len(document.Packages) {
		t.Errorf("%d packages and %d relationships: each package has one", len(document.Packages), len(document.Relationships))
	}
	found, pinnedMain := false, false
	for _, p := range document.Packages {
		if p.Name == own {
			pinnedMain = p.Version == "v7" && p.Refs[0].Locator == "pkg:golang/"+own+"@v7"
		}
		if p.Name == "github.com/google/go-containerregistry" {
			found = p.Refs[0].Locator == "pkg:golang/"+p.Name+"@"+p.Version && strings.HasPrefix(p.Version, "v0.")
		}
	}
	if !found {
		t.Errorf("go-containerregistry is not among %+v, with the version that Go knows", document.Packages)
	}
	if !pinnedMain {
		t.Error("the module that was built from a folder has no version")
	}
}
