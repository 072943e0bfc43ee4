// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command upstream maintains the patch series over Kubernetes. It makes the patched Kubernetes tree
// from the upstream modules that go.mod pins, and writes edits of the tree back into the patches.
//
// It is a separate module that uses no other module of the project, so it works before the
// project's workspace exists. Call it from any folder of the project with
//
//	hack/upstream/run apply
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kube-granular.dev/hack/upstream/internal/carry"
	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/project"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		return 1
	}
	return 0
}

func newCommand() *cobra.Command {
	c := &carry.Carry{Log: os.Stderr, Out: os.Stdout}
	root := ""
	cmd := &cobra.Command{
		Use:           "upstream",
		Short:         "Make the patched Kubernetes tree, and keep the patches",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			c.Project, err = project.Find(root)
			return err
		},
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.PersistentFlags().StringVar(&root, "root", ".", "a folder of the project")
	cmd.AddCommand(applyCommands(c)...)
	cmd.AddCommand(patchCommands(c)...)
	return cmd
}

// applyCommands returns the commands that write the tree.
func applyCommands(c *carry.Carry) []*cobra.Command {
	var o carry.ApplyOptions
	apply := &cobra.Command{
		Use:   "apply",
		Short: "Make the tree in upstream/ from go.mod, the patches and the generators",
		Long: `Make the tree in upstream/ from go.mod, the patches and the generators, and write go.work.

The command writes only files that differ. It overwrites edits only with --discard.
Without it, edits are an error, so that a build uses exactly the patches.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.Apply(cmd.Context(), o) },
	}
	apply.Flags().BoolVar(&o.Discard, "discard", false, "overwrite edited files, remove added ones")
	apply.Flags().StringSliceVar(&o.Without, "without", nil, "leave out `folders` that the series marks as optional")
	var names []string
	for _, g := range generate.Table {
		names = append(names, g.Name)
	}
	generators := &cobra.Command{
		Use:       "generate GENERATOR...",
		Short:     "Run generators now, on the tree with its edits",
		ValidArgs: names,
		Args:      cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Apply(cmd.Context(), carry.ApplyOptions{Keep: true, Generators: args})
		},
	}
	return []*cobra.Command{apply, generators}
}

// patchCommands returns the commands that read or write the patches.
func patchCommands(c *carry.Carry) []*cobra.Command {
	var o carry.RefreshOptions
	refresh := &cobra.Command{
		Use:   "refresh [PATH...]",
		Short: "Write edits of upstream/ back into the patches",
		Long: `Write edits of upstream/ back into the patches, and print which patches changed.

The command writes each edited file into the last patch that changes it. Paths, like
upstream/kubernetes/pkg/apis, limit the files.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Paths = args
			return c.Refresh(cmd.Context(), o)
		},
	}
	refresh.Flags().StringVar(&o.Into, "into", "", "the patch that takes the edits, as FOLDER/NNNN-name")
	refresh.Flags().StringVar(&o.New, "new", "", "make a new patch FOLDER/NNNN-name.patch from the edits")
	refresh.Flags().StringVar(&o.Subject, "subject", "", "the subject of the new patch, `<package>: <verb phrase>`")
	refresh.Flags().BoolVar(&o.Rewrite, "rewrite", false, "write every patch in its canonical form")

	var against string
	review := &cobra.Command{
		Use:   "review",
		Short: "Show how the patches differ from those at another revision",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.Review(cmd.Context(), against) },
	}
	review.Flags().StringVar(&against, "against", "HEAD", "a revision of this project")

	verify := &cobra.Command{
		Use:   "verify",
		Short: "Check the patches: headers, order, form, and that they apply",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.Verify(cmd.Context()) },
	}

	var dir string
	export := &cobra.Command{
		Use:   "export --out DIR",
		Short: "Write the series as numbered patches for git am",
		Long: `Write the series as numbered patches for git am, in the order in which they are applied.

Files of markers become patches of comments. DIR must be empty, or not exist.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.Export(cmd.Context(), dir) },
	}
	export.Flags().StringVar(&dir, "out", "", "the folder for the patches, relative to the project's root")
	cobra.CheckErr(export.MarkFlagRequired("out"))

	var options carry.RebaseOptions
	rebase := &cobra.Command{
		Use:   "rebase --to VERSION [--write]",
		Short: "Move the patches to another version of Kubernetes",
		Long: `Move the patches to another version of Kubernetes.

The command first downloads all modules. It finds the new place of hunks that merely
moved, and of markers. It lists all conflicts of the series, and marks a conflict if an
earlier one may be its cause. It also lists the files that both upstream and the series
change. Without conflicts it makes a copy of the project on that version, with generated
files, and compiles the packages that the patches change.

Without --write the command only tries the version. With --write it puts files with
conflicts into upstream/.rebase/conflicts. Edit them and run --continue, or --abort.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.Rebase(cmd.Context(), options) },
	}
	rebase.Flags().StringVar(&options.To, "to", "", "the version, like v1.37.2")
	rebase.Flags().BoolVar(&options.Write, "write", false, "change the patches, the pins in go.mod and the sums in go.sum")
	rebase.Flags().BoolVar(&options.Continue, "continue", false, "continue a rebase that stopped")
	rebase.Flags().BoolVar(&options.Abort, "abort", false, "give up a rebase that stopped")
	rebase.Flags().BoolVar(&options.SkipBuild, "skip-build", false, "do not compile the packages that the patches change")
	rebase.MarkFlagsOneRequired("to", "continue", "abort")
	rebase.MarkFlagsMutuallyExclusive("to", "continue", "abort")
	rebase.MarkFlagsMutuallyExclusive("write", "continue", "abort")
	return []*cobra.Command{refresh, review, verify, export, rebase}
}
