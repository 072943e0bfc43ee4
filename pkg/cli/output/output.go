// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// Formats are the output formats that each command supports.
var Formats = []string{"table", "wide", "json", "yaml"}

// Flag is the --output flag of a command.
type Flag struct {
	format  string
	formats []string
}

// AddTo adds the flag to a command. The command supports Formats and the formats in more.
func (f *Flag) AddTo(cmd *cobra.Command, more ...string) {
	f.formats = append(slices.Clone(Formats), more...)
	cmd.Flags().StringVarP(&f.format, "output", "o", "table", "output format: "+strings.Join(f.formats, ", "))
	// The flag exists, so this can't fail.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.formats, cobra.ShellCompDirectiveNoFileComp))
}

// Validate returns an error that lists the supported formats if the format is not one of them.
func (f *Flag) Validate() error {
	if !slices.Contains(f.formats, f.format) {
		return fmt.Errorf("--output: %q is not supported, use one of %s", f.format, strings.Join(f.formats, ", "))
	}
	return nil
}

// Is reports whether the user selected a format.
func (f *Flag) Is(format string) bool { return f.format == format }

// Wide reports whether the user selected the format wide, a table with all columns.
func (f *Flag) Wide() bool { return f.format == "wide" }

// Print writes a value in the selected format. For a format other than JSON and YAML it calls
// table.
func (f *Flag) Print(out io.Writer, value any, table func(io.Writer) error) error {
	switch f.format {
	case "json":
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", data)
		return err
	case "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	return table(out)
}

// Table writes rows in columns below a header.
func Table(out io.Writer, header []string, rows [][]string) error {
	w := printers.GetNewTabWriter(out)
	for _, row := range append([][]string{header}, rows...) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Default changes the default format of a command.
func (f *Flag) Default(cmd *cobra.Command, format string) {
	f.format = format
	cmd.Flags().Lookup("output").DefValue = format
}
