// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/pem"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// rootsCommand returns the command that writes the certificate authorities of an image. Go's own module has
// those that Mozilla trusts, so their version is in go.mod.
func rootsCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "roots --out FILE",
		Short: "Write the certificates of public authorities that Mozilla trusts, in PEM",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return create(out, writeRoots) },
	}
	cmd.Flags().StringVar(&out, "out", "", "the file to write")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

// writeRoots leaves out authorities that Mozilla trusts only for some certificates: a file of PEM can't say for which.
func writeRoots(out io.Writer) error {
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return fmt.Errorf("write the certificates: %w", err)
		}
	}
	return nil
}
