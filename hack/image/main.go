// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "image",
		Short:         "Pack static binaries into container images, without a daemon",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(
		packCommand("docker", "Write an archive for `docker load` of the images that standard input lists", writeDocker),
		packCommand("oci", "Write an OCI image layout, in a tar, of the images that standard input lists", writeOCI),
		sbomCommand(),
		rootsCommand(),
		registryCommand(),
	)
	return cmd
}

func packCommand(use, short string, write func(io.Writer, []built) error) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   use + " --out FILE < LIST",
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			specs, err := readSpecs(cmd.InOrStdin())
			if err != nil {
				return err
			}
			images, err := buildAll(specs)
			if err != nil {
				return err
			}
			return create(out, func(w io.Writer) error { return write(w, images) })
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the file to write")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

func sbomCommand() *cobra.Command {
	var out, name, version string
	pins := map[string]string{}
	cmd := &cobra.Command{
		Use:   "sbom --name NAME --version VERSION --out FILE BINARY",
		Short: "Write the SBOM of a Go binary, as SPDX 2.3 in JSON",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			document, err := sbom(name, version, pins, args[0])
			if err != nil {
				return err
			}
			return create(out, func(w io.Writer) error {
				encoder := json.NewEncoder(w)
				encoder.SetIndent("", "  ")
				return encoder.Encode(document)
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the file to write")
	cmd.Flags().StringVar(&name, "name", "", "the name of the document, such as kube-apiserver-v1.37.1_granular.0.1.0-amd64")
	cmd.Flags().StringVar(&version, "version", "", "the version of the binary, such as v1.37.1+granular.0.1.0")
	cmd.Flags().StringToStringVar(&pins, "pin", nil, "the `MODULE=VERSION` of a module that was built from a folder, and that the binary has no version of")
	for _, needed := range []string{"out", "name", "version"} {
		_ = cmd.MarkFlagRequired(needed)
	}
	return cmd
}

// create calls write with a temporary file and renames the file to path, so that an incomplete file
// never has the final name.
func create(path string, write func(io.Writer) error) error {
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, path)
}
