// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command docs writes the pages of docs/generated that need no running server, and the JSON schemas of docs/schemas. With -verify it
// only checks that the pages are up to date, and it also fails if a document names a test, a
// script, a file or a heading that does not exist.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"kube-granular.dev/hack/docs/attacks"
	"kube-granular.dev/hack/docs/conformance"
	"kube-granular.dev/hack/docs/controllers"
	"kube-granular.dev/hack/docs/references"
	"kube-granular.dev/hack/docs/schemas"
	"kube-granular.dev/hack/docs/writers"
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
	for _, p := range []struct {
		file string
		page func() ([]byte, error)
	}{
		{attacks.File, func() ([]byte, error) { return attacks.Page(root) }},
		{conformance.File, func() ([]byte, error) { return conformance.Page(root) }},
		{controllers.File, controllers.Page},
		{writers.File, func() ([]byte, error) { return writers.Page(), nil }},
		{schemas.DefinitionFile, schemas.Definition},
		{schemas.RoleFile, schemas.Role},
	} {
		page, err := p.page()
		if err != nil {
			return err
		}
		if err := write(root, p.file, page, verify); err != nil {
			return err
		}
	}
	if verify {
		return references.Check(root)
	}
	return nil
}

// write writes a page. If verify is true, it writes nothing, and returns an error if the page on
// disk differs.
func write(root, name string, page []byte, verify bool) error {
	file := filepath.Join(root, filepath.FromSlash(name))
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	switch {
	case bytes.Equal(have, page):
		return nil
	case verify:
		return fmt.Errorf("%s is stale, run hack/update-docs.sh attacks", name)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, page, 0o644); err != nil {
		return err
	}
	fmt.Println("wrote", name)
	return nil
}
