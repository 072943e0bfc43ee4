// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/roletest"
	"kube-granular.dev/pkg/cli/roletest/format"
	"kube-granular.dev/pkg/cli/roletest/judge"
	"kube-granular.dev/pkg/cli/roletest/output"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/localcluster"
)

// invalid is the error of a test that is not valid, or could not be run. Its exit code is not that of a
// case that failed.
type invalid struct{ error }

func (e invalid) Unwrap() error { return e.error }

func newTestCommand() *cobra.Command {
	o := roletest.Options{}
	var gates map[string]bool
	schema, verbose := false, false
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Test roles: what they allow, and what they refuse",
		Long: `Test roles. A test is a file that names objects, such as roles, bindings and definitions,
and cases: who sends which request, and whether the server must allow or refuse it.

The command starts a server of its own on a free port of 127.0.0.1, creates the objects,
and sends each case as a dry run. The server judges, and not a copy of its rules. It is
removed at the end, with all of its files. No kubeconfig is read.

A case that is expected to be allowed must change something. One that is expected to be
refused names the field or the verb, because a request may be refused for many reasons. A
case that fails for an administrator too is an error of the test.

With --exported, the tests judge what kubectl granular export vap writes for the roles:
the server authorizes no single fields, and admission policies and ordinary roles stand
in. The field and the verb of a refusal are then not compared. Cases in which such
policies are knowingly weaker are listed as differences, and fail no test.

The exit code is 0 if all cases passed, 1 if a case failed, and 2 if a test is not valid
or could not be run.`,
		Example: `  # Run a test
  kube-granular test roles/robot.test.yaml

  # Also fail if a role allows what no case needs
  kube-granular test --tight roles/*.test.yaml

  # In a pipeline
  kube-granular test -o junit roles/*.test.yaml > results.xml
  kube-granular test -o github roles/*.test.yaml

  # What stands in for the roles on a server that can't be replaced
  kube-granular test --exported roles/*.test.yaml

  # The JSON schema of tests, for editors
  kube-granular test --schema > roletest.schema.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if schema {
				return nil
			}
			if err := cobra.MinimumNArgs(1)(cmd, args); err != nil {
				return invalid{err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if schema {
				return printing.Fprintf(cmd.OutOrStdout(), "%s", printing.Escaped(format.Schema()))
			}
			o.Files = args
			progress := io.Discard
			if verbose {
				progress = cmd.ErrOrStderr()
			}
			if o.Exported {
				gates = stock(gates)
			}
			err := roletest.Run(cmd.Context(), o, throwaway(gates, progress), cmd.OutOrStdout())
			switch {
			case err == nil || errors.Is(err, roletest.ErrFailed):
				return err
			case cmd.Context().Err() != nil:
				return localcluster.ErrStopped
			}
			return invalid{err}
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return invalid{err} })
	fs := cmd.Flags()
	fs.StringVarP(&o.Output, "output", "o", output.Formats[0], "output format: table, wide, json, junit or github")
	fs.BoolVar(&o.Tight, "tight", false, "also fail if no case needs some verb, resource or name of a role, or the whole role")
	fs.BoolVar(&o.Exported, "exported", false,
		"test what kubectl granular export vap writes for the roles, on a server that authorizes no fields")
	fs.BoolVar(&o.AllowNetwork, "allow-network", false, "accept objects that make the server connect to an address: webhooks and APIServices")
	fs.Var(cliflag.NewMapStringBool(&gates), "feature-gates",
		"feature gates of the server, K=V,…; those of kube-granular are on unless set to false here")
	fs.BoolVar(&schema, "schema", false, "print the JSON schema of tests and exit")
	fs.BoolVarP(&verbose, "verbose", "v", false, "print what the server does")
	return cmd
}

// stock returns gates with which the server behaves as upstream's: all gates of kube-granular are off.
func stock(gates map[string]bool) map[string]bool {
	out := maps.Clone(gates)
	if out == nil {
		out = map[string]bool{}
	}
	for _, gate := range []featuregate.Feature{features.GranularAuthorization, features.RBACIndex, features.ProtectedAttributes,
		features.SelectedAuthority, features.AuthorityDelegation, features.MetadataReads, features.FieldPermissions} {
		out[string(gate)] = false
	}
	return out
}

// throwaway starts servers that live as long as their use. All gates of kube-granular are on, except those
// that gates turn off.
func throwaway(gates map[string]bool, progress io.Writer) roletest.Start {
	return func(ctx context.Context, authorization []byte, use func(context.Context, judge.Access) error) error {
		all := map[string]bool{
			string(features.ProtectedAttributes): true, string(features.SelectedAuthority): true, string(features.AuthorityDelegation): true,
			string(features.FieldPermissions): true, string(features.MetadataReads): true,
		}
		maps.Copy(all, gates)
		o := localcluster.Options{FeatureGates: all, Progress: progress}
		if authorization != nil {
			dir, err := os.MkdirTemp("", "kube-granular-test-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			o.AuthorizationConfig = filepath.Join(dir, "authorization.yaml")
			if err := os.WriteFile(o.AuthorizationConfig, authorization, 0o600); err != nil {
				return err
			}
		}
		return localcluster.Throwaway(ctx, o, func(ctx context.Context, access *localcluster.Access) error { return use(ctx, access) })
	}
}
