// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// built is an image that was built from a spec, with its names.
type built struct {
	image v1.Image
	tags  []name.Tag
}

func buildAll(specs []spec) ([]built, error) {
	var images []built
	for _, s := range specs {
		b, err := build(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Tags[0], err)
		}
		images = append(images, b)
	}
	return images, nil
}

// build builds an image with one layer. The layer is not kept in memory, but generated each time
// that it is read. The digest of the layer would reveal a difference between two reads.
func build(s spec) (built, error) {
	only, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		out, input := io.Pipe()
		go func() { input.CloseWithError(layer(input, s)) }()
		return out, nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return built{}, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: only, History: v1.History{CreatedBy: "kube-granular"}})
	if err != nil {
		return built{}, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return built{}, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", s.Architecture
	config.Config = v1.Config{
		Entrypoint: s.Entrypoint,
		Cmd:        s.Command,
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		User:       s.User,
		Labels:     s.Labels,
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return built{}, err
	}
	b := built{image: image}
	for _, t := range s.Tags {
		tag, err := name.NewTag(t, name.StrictValidation)
		if err != nil {
			return built{}, err
		}
		b.tags = append(b.tags, tag)
	}
	return b, nil
}

// writeDocker writes an archive for `docker load` and `ctr images import`. The first file in the
// archive is `repositories`, a file of an old format with the names of all images. It is there for
// programs that find only the names of the first image in manifest.json, such as kind
// (pkg/build/nodeimage).
func writeDocker(out io.Writer, images []built) error {
	byTag := map[name.Tag]v1.Image{}
	repositories := map[string]map[string]string{}
	for _, b := range images {
		id, err := b.image.ConfigName()
		if err != nil {
			return err
		}
		for _, tag := range b.tags {
			byTag[tag] = b.image
			// Use the name as in the spec, because the name that the library returns has
			// index.docker.io in place of docker.io.
			repository := strings.TrimSuffix(tag.String(), ":"+tag.TagStr())
			if repositories[repository] == nil {
				repositories[repository] = map[string]string{}
			}
			repositories[repository][tag.TagStr()] = id.Hex
		}
	}
	data, err := json.Marshal(repositories)
	if err != nil {
		return err
	}
	first := tar.NewWriter(out)
	if err := first.WriteHeader(&tar.Header{Name: "repositories", Mode: 0o644, Size: int64(len(data))}); err != nil {
		return err
	}
	if _, err := first.Write(data); err != nil {
		return err
	}
	// Flush and not Close, because the files of the images follow in the same archive.
	if err := first.Flush(); err != nil {
		return err
	}
	return tarball.MultiWrite(byTag, out)
}

// writeOCI writes an OCI image layout as a tar. Images with the same name become the platforms of
// one index.
func writeOCI(out io.Writer, images []built) error {
	dir, err := os.MkdirTemp("", "kube-granular-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	var order []string
	platforms := map[string]v1.ImageIndex{}
	for _, b := range images {
		config, err := b.image.ConfigFile()
		if err != nil {
			return err
		}
		for _, tag := range b.tags {
			index, ok := platforms[tag.Name()]
			if !ok {
				order = append(order, tag.Name())
				index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
			}
			platforms[tag.Name()] = mutate.AppendManifests(index, mutate.IndexAddendum{
				Add:        b.image,
				Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
			})
		}
	}
	for _, tag := range order {
		named := layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": tag,
			"io.containerd.image.name":          tag,
		})
		if err := path.AppendIndex(platforms[tag], named); err != nil {
			return err
		}
	}
	return tarFolder(out, dir)
}

// tarFolder writes the files of a folder as a tar, sorted by name, with all times zero. The modes do not depend on the umask
// of the caller either.
func tarFolder(out io.Writer, dir string) error {
	l := layerWriter{Writer: tar.NewWriter(out), folders: map[string]bool{}}
	// The file that identifies the layout is first, for readers that check only the first file.
	marker, err := os.ReadFile(filepath.Join(dir, "oci-layout"))
	if err != nil {
		return err
	}
	if err := l.put(tar.Header{Typeflag: tar.TypeReg, Name: "oci-layout", Mode: 0o644, Size: int64(len(marker))}); err != nil {
		return err
	}
	if _, err := io.Copy(l, bytes.NewReader(marker)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, "oci-layout")); err != nil {
		return err
	}
	err = filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if entry.IsDir() {
			mode = 0o755
		}
		return os.Chmod(p, mode)
	})
	if err != nil {
		return err
	}
	if err := l.root(dir); err != nil {
		return err
	}
	return l.Close()
}
