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
	"strings"
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
	cmd.AddCommand(apply(c), generators(c), refresh(c), review(c), verify(c), export(c), rebase(c))
	return cmd
}

// command returns a command without arguments. The first line of the text is its short description.
func command(use, text string, run func(context.Context) error) *cobra.Command {
	short, _, _ := strings.Cut(text, "\n")
	return &cobra.Command{Use: use, Short: strings.TrimSuffix(short, "."), Long: text, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
}

func apply(c *carry.Carry) *cobra.Command {
	var o carry.ApplyOptions
	cmd := command("apply", `Make the tree in upstream/ from go.mod, the patches and the generators, and write go.work.

The command writes only files that differ. It overwrites edits only with --discard.
Without it, edits are an error, so that a build uses exactly the patches.`,
		func(ctx context.Context) error { return c.Apply(ctx, o) })
	cmd.Flags().BoolVar(&o.Discard, "discard", false, "overwrite edited files, remove added ones")
	cmd.Flags().StringSliceVar(&o.Without, "without", nil, "leave out `folders` that the series marks as optional")
	return cmd
}

func generators(c *carry.Carry) *cobra.Command {
	o := carry.ApplyOptions{Keep: true}
	cmd := command("generate GENERATOR...", "Run generators now, on the tree with its edits",
		func(ctx context.Context) error { return c.Apply(ctx, o) })
	for _, g := range generate.Table {
		cmd.ValidArgs = append(cmd.ValidArgs, g.Name)
	}
	cmd.Args = cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs)
	cmd.PreRun = func(_ *cobra.Command, args []string) { o.Generators = args }
	return cmd
}

func refresh(c *carry.Carry) *cobra.Command {
	var o carry.RefreshOptions
	cmd := command("refresh [PATH...]", `Write edits of upstream/ back into the patches, and print which patches changed.

The command writes each edited file into the last patch that changes it. Paths, like
upstream/kubernetes/pkg/apis, limit the files.`,
		func(ctx context.Context) error { return c.Refresh(ctx, o) })
	cmd.Args = cobra.ArbitraryArgs
	cmd.PreRun = func(_ *cobra.Command, args []string) { o.Paths = args }
	cmd.Flags().StringVar(&o.Into, "into", "", "the patch that takes the edits, as FOLDER/NNNN-name")
	cmd.Flags().StringVar(&o.New, "new", "", "make a new patch FOLDER/NNNN-name.patch from the edits")
	cmd.Flags().StringVar(&o.Subject, "subject", "", "the subject of the new patch, `<package>: <verb phrase>`")
	cmd.Flags().BoolVar(&o.Rewrite, "rewrite", false, "write every patch in its canonical form")
	return cmd
}

func review(c *carry.Carry) *cobra.Command {
	var against string
	cmd := command("review", "Show how the patches differ from those at another revision",
		func(ctx context.Context) error { return c.Review(ctx, against) })
	cmd.Flags().StringVar(&against, "against", "HEAD", "a revision of this project")
	return cmd
}

func verify(c *carry.Carry) *cobra.Command {
	return command("verify", "Check the patches: headers, order, form, and that they apply", c.Verify)
}

func export(c *carry.Carry) *cobra.Command {
	var dir string
	cmd := command("export --out DIR", `Write the series as numbered patches for git am, in the order in which they are applied.

Files of markers become patches of comments. DIR must be empty, or not exist.`,
		func(ctx context.Context) error { return c.Export(ctx, dir) })
	cmd.Flags().StringVar(&dir, "out", "", "the folder for the patches, relative to the project's root")
	cobra.CheckErr(cmd.MarkFlagRequired("out"))
	return cmd
}

func rebase(c *carry.Carry) *cobra.Command {
	var o carry.RebaseOptions
	cmd := command("rebase --to VERSION [--write]", `Move the patches to another version of Kubernetes.

The command first downloads all modules. It finds the new place of hunks that merely
moved, and of markers. It lists all conflicts of the series, and marks a conflict if an
earlier one may be its cause. It also lists the files that both upstream and the series
change. Without conflicts it makes a copy of the project on that version, with generated
files, and compiles the packages that the patches change.

Without --write the command only tries the version. With --write it puts files with
conflicts into upstream/.rebase/conflicts. Edit them and run --continue, or --abort.`,
		func(ctx context.Context) error { return c.Rebase(ctx, o) })
	cmd.Flags().StringVar(&o.To, "to", "", "the version, like v1.37.2")
	cmd.Flags().BoolVar(&o.Write, "write", false, "change the patches, the pins in go.mod and the sums in go.sum")
	cmd.Flags().BoolVar(&o.Continue, "continue", false, "continue a rebase that stopped")
	cmd.Flags().BoolVar(&o.Abort, "abort", false, "give up a rebase that stopped")
	cmd.Flags().BoolVar(&o.SkipBuild, "skip-build", false, "do not compile the packages that the patches change")
	cmd.MarkFlagsOneRequired("to", "continue", "abort")
	cmd.MarkFlagsMutuallyExclusive("to", "continue", "abort")
	cmd.MarkFlagsMutuallyExclusive("write", "continue", "abort")
	return cmd
}
