// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// netBindService is the extended attribute security.capability that grants a file
// CAP_NET_BIND_SERVICE, permitted and effective: revision 2 of the kernel's struct
// vfs_cap_data, little endian (linux/capability.h). The capability is number 10.
const netBindService = "\x01\x00\x00\x02" + "\x00\x04\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// layer writes the only layer of an image, as a tar. Folders come before their contents, files are
// sorted by name, times are zero and the owner is root, so that the layer is reproducible.
func layer(out io.Writer, s spec) error {
	l := layerWriter{Writer: tar.NewWriter(out), folders: map[string]bool{}}
	if err := l.folder("tmp", 0o1777); err != nil {
		return err
	}
	if s.Root != "" {
		if err := l.root(s.Root); err != nil {
			return fmt.Errorf("root: %w", err)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(s.Files)) {
		name := strings.TrimPrefix(path.Clean(target), "/")
		if err := l.parents(name); err != nil {
			return err
		}
		header := tar.Header{Name: name, Mode: 0o755}
		if slices.Contains(s.Bind, target) {
			header.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": netBindService}
		}
		if err := l.file(header, s.Files[target]); err != nil {
			return fmt.Errorf("files: %s: %w", target, err)
		}
	}
	return l.Close()
}

type layerWriter struct {
	*tar.Writer
	folders map[string]bool
}

func (l *layerWriter) put(header tar.Header) error {
	header.ModTime = time.Unix(0, 0)
	return l.WriteHeader(&header)
}

// folder writes an entry for a folder, unless there is one already.
func (l *layerWriter) folder(name string, mode int64) error {
	if l.folders[name] {
		return nil
	}
	l.folders[name] = true
	return l.put(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode})
}

func (l *layerWriter) parents(name string) error {
	for i, r := range name {
		if r != '/' {
			continue
		}
		if err := l.folder(name[:i], 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (l *layerWriter) file(header tar.Header, source string) error {
	content, err := os.Open(source)
	if err != nil {
		return err
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := l.put(header); err != nil {
		return err
	}
	_, err = io.Copy(l, content)
	return err
}

// root writes the contents of the folder dir at the root of the image: folders, regular files and
// symbolic links.
func (l *layerWriter) root(dir string) error {
	return filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch info.Mode().Type() {
		case fs.ModeDir:
			return l.folder(name, int64(info.Mode().Perm()))
		case fs.ModeSymlink:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			l.folders[name] = true // parents must not write a folder of this name.
			return l.put(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
		case 0:
			return l.file(tar.Header{Name: name, Mode: int64(info.Mode().Perm())}, p)
		default:
			return fmt.Errorf("%s is neither a file, a folder nor a symbolic link", name)
		}
	})
}
