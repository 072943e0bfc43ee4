// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command docs writes the pages of docs/generated that are made of files alone, or
// fails if one is stale or a document names what does not exist.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"kube-granular.dev/hack/docs/attacks"
	"kube-granular.dev/hack/docs/references"
)

func main() {
	verify := flag.Bool("verify", false, "write nothing, fail if a page is stale or a document names what does not exist")
	root := flag.String("root", ".", "the root of the repository")
	flag.Parse()
	if err := run(*root, *verify); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(root string, verify bool) error {
	page, err := attacks.Page(root)
	if err != nil {
		return err
	}
	file := filepath.Join(root, filepath.FromSlash(attacks.File))
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	switch {
	case bytes.Equal(have, page):
	case verify:
		return fmt.Errorf("%s is stale, run hack/update-docs.sh attacks", attacks.File)
	default:
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, page, 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", attacks.File)
	}
	if verify {
		return references.Check(root)
	}
	return nil
}
