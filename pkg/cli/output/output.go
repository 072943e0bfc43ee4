// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
)

// Formats are the output formats that each command supports.
var Formats = []string{"table", "wide", "json", "yaml"}

// Flag is the --output flag of a command.
type Flag struct {
	name    string
	format  string
	formats []string
}

// AddTo adds the flag to a command. The command supports Formats and the formats in more.
func (f *Flag) AddTo(cmd *cobra.Command, more ...string) {
	f.AddOnly(cmd, append(slices.Clone(Formats), more...)...)
}

// AddOnly adds the flag to a command that supports only some formats. The first is the default.
func (f *Flag) AddOnly(cmd *cobra.Command, formats ...string) { f.AddAs(cmd, "output", formats...) }

// AddAs adds the flag with another name, for a command whose --output is a file. Its short form is -o as
// everywhere.
func (f *Flag) AddAs(cmd *cobra.Command, name string, formats ...string) {
	f.name, f.formats = name, formats
	cmd.Flags().StringVarP(&f.format, name, "o", formats[0], "output format: "+strings.Join(f.formats, ", "))
	// The flag exists, so this can't fail.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(f.formats, cobra.ShellCompDirectiveNoFileComp))
}

// Validate returns an error that lists the supported formats if the format is not one of them.
func (f *Flag) Validate() error {
	if !slices.Contains(f.formats, f.format) {
		return fmt.Errorf("--%s: %q is not supported, use one of %s", f.name, f.format, strings.Join(f.formats, ", "))
	}
	return nil
}

// Is reports whether the user selected a format.
func (f *Flag) Is(format string) bool { return f.format == format }

// Print writes a value in the selected format. For a format other than JSON and YAML it calls
// text, which prints the value for people.
func (f *Flag) Print(out io.Writer, value any, text func(*printing.Page) error) error {
	switch f.format {
	case "json":
		return printing.JSON(out, value)
	case "yaml":
		return printing.YAML(out, value)
	}
	page := printing.NewPage(out, f.format == "wide")
	if err := text(page); err != nil {
		return err
	}
	return page.Close()
}

// Default changes the default format of a command.
func (f *Flag) Default(cmd *cobra.Command, format string) {
	f.format = format
	cmd.Flags().Lookup(f.name).DefValue = format
}
