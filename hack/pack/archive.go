// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// file is one file of an archive.
type file struct {
	name, from string
	mode       fs.FileMode
}

// modificationTime is the modification time of all files in an archive. It is fixed, so that
// archives are reproducible. Zip has no time before 1980.
var modificationTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// writeArchive writes an archive to the file to. pack writes the archive's content; it gets the
// files sorted by name.
func writeArchive(target string, files []file, pack func(io.Writer, []file) error) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	return errors.Join(pack(out, files), out.Close())
}

func writeTarGz(out io.Writer, files []file) error {
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(data)), ModTime: modificationTime, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}

func writeZip(out io.Writer, files []file) error {
	w := zip.NewWriter(out)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modificationTime}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(data); err != nil {
			return err
		}
	}
	return w.Close()
}
