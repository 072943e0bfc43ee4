// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command permissions generates docs/permissions.md and the registry of permissions from the
// schema of a server that it starts. With --verify it only checks that both are up to date.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"kube-granular.dev/hack/permissions/reference"
	"kube-granular.dev/hack/permissions/served"
	"kube-granular.dev/test/integration/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "permissions:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	verify := false
	cmd := &cobra.Command{
		Use:           "permissions",
		Short:         "Write the list of permissions from the schema of the running server",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), verify)
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "write nothing, fail if a file is stale")
	return cmd
}

func run(ctx context.Context, verify bool) error {
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	files, err := generate(ctx)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f.Path)
		have, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		switch {
		case bytes.Equal(have, f.Content):
		case verify:
			return fmt.Errorf("%s is stale, run hack/update-permissions.sh", f.Path)
		default:
			if err := os.WriteFile(path, f.Content, 0o644); err != nil {
				return err
			}
			fmt.Println("wrote", f.Path)
		}
	}
	return nil
}

// generate starts a server with all kinds enabled, and returns the files that are generated from
// its schema.
func generate(ctx context.Context) (_ []reference.File, err error) {
	c, err := cluster.Start(served.Flags...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopErr := c.Stop(); err == nil {
			err = stopErr
		}
	}()
	config, err := c.Config("admin")
	if err != nil {
		return nil, err
	}
	kinds, err := served.Read(ctx, config)
	if err != nil {
		return nil, err
	}
	return reference.Files(kinds)
}
