// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "attest:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "attest",
		Short:         "Sign the files of a release and their provenance, and verify them",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(signCommand(), verifyCommand())
	return cmd
}

func signCommand() *cobra.Command {
	var key string
	var o origin
	cmd := &cobra.Command{
		Use:   "sign --key FILE --builder URI --version VERSION FOLDER",
		Short: "Write the signature of SHA256SUMS and the signed provenance into a folder that has SHA256SUMS",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, named := o.parameters["version"]; named {
				return errors.New("--parameter: version has a flag of its own")
			}
			signer, err := readPrivateKey(key)
			if err != nil {
				return err
			}
			return sign(cmd.Context(), args[0], o, signer)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the private key: Ed25519, PKCS #8 in PEM, as openssl genpkey -algorithm ed25519 writes it")
	cmd.Flags().StringVar(&o.builder, "builder", "", "URI of who builds, such as https://ci.example.com/kube-granular")
	cmd.Flags().StringVar(&o.version, "version", "", "the version of the release")
	cmd.Flags().StringVar(&o.repository, "repository", "", "URI of the repository, such as git+https://example.com/kube-granular")
	cmd.Flags().StringVar(&o.commit, "commit", "", "the commit that was built, 40 hexadecimal digits")
	cmd.Flags().StringToStringVar(&o.materials, "material", nil, "what else was built from, and its SHA-256: go.sum=e3b0…")
	cmd.Flags().StringToStringVar(&o.parameters, "parameter", nil, "what the releaser chose: platforms=linux/amd64")
	for _, name := range []string{"key", "builder", "version"} {
		cobra.CheckErr(cmd.MarkFlagRequired(name))
	}
	return cmd
}

func verifyCommand() *cobra.Command {
	var key, version string
	cmd := &cobra.Command{
		Use:   "verify --key FILE --version VERSION FOLDER",
		Short: "Verify the signatures in a folder, and that its files are those that were signed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := readPublicKey(key)
			if err != nil {
				return err
			}
			count, err := verify(cmd.Context(), args[0], version, public)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d files are as they were signed\n", count)
			return err
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the public key, in PEM")
	cmd.Flags().StringVar(&version, "version", "", "the version of the release that was asked for")
	for _, name := range []string{"key", "version"} {
		cobra.CheckErr(cmd.MarkFlagRequired(name))
	}
	return cmd
}
