// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/marker"
	"kube-granular.dev/pkg/cli/output"
)

func newMark(s *options) *cobra.Command {
	var format output.Flag
	var folders []string
	write := false
	cmd := &cobra.Command{
		Use:   "mark --types FOLDER... FILE...",
		Short: "Write permissions into definitions, from markers in Go types",
		Long: `Write permissions into definitions of custom resources that controller-gen made, from markers in
the Go types that it made them of. No server is needed.

A marker is a line in the comment above a field, or above a type for all fields of the type:

  // +kube-granular:permission=factory.example.com/selfDestruct
  // +kube-granular:permission:excluded

The other markers are permission:parameter-source, permission:parameterized-by,
permission:parameter-treatment, permission:parameter-expression and permission:scope. They stand for
the extensions x-kubernetes-permission-… of the same names. A marker that begins with items: is for
the elements of a list, or for the values of a map.

Without --write, the command prints which extensions the files lack, and the exit code is 1 if there
are any. It changes no other byte of a file. Give it the definitions of all kinds that have marked
types: a marker without a place in any of them is an error, and so is an extension without a marker.
It does not see markers in other modules, unless one of the folders is in that module.`,
		Example: indentExamples(`
			# Show what the definitions lack (no)
			kubectl granular mark --types ./robot/... robots.yaml

			# Write it, after each run of controller-gen
			kubectl granular mark --types ./robot/... robots.yaml --write`),
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			if len(folders) == 0 {
				return errors.New("--types is needed: the folder with the Go types of the definitions")
			}
			var files []marker.File
			for _, name := range args {
				data, err := s.read(name)
				if err != nil {
					return err
				}
				files = append(files, marker.File{Name: name, Data: data})
			}
			marked, added, err := marker.Mark(folders, files)
			if err != nil {
				return err
			}
			if !write {
				return s.printAdditions(&format, added)
			}
			for i, f := range marked {
				if string(f.Data) == string(files[i].Data) {
					continue
				}
				if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil { //nolint:gosec // as controller-gen writes it
					return err
				}
			}
			printing.Fprintf(s.streams.ErrOut, "%d extensions written\n", len(added))
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&folders, "types", nil, "folders with Go types; FOLDER/... stands for all folders below it too")
	cmd.Flags().BoolVar(&write, "write", false, "write the extensions into the files")
	format.AddTo(cmd)
	return cmd
}

// printAdditions prints what files lack. It returns ErrNo if they lack something.
func (s *options) printAdditions(format *output.Flag, added []marker.Addition) error {
	if added == nil {
		added = []marker.Addition{}
	}
	err := format.Print(s.streams.Out, added, func(out *printing.Page) error {
		for _, a := range added {
			printing.Fprintf(out, "%s:%d: lacks %s: %s (%s)\n", a.File, a.Line, a.Extension, a.Value, a.Marker)
		}
		return nil
	})
	if err != nil {
		return err
	}
	printing.Fprintf(s.streams.ErrOut, "%d extensions missing\n", len(added))
	if len(added) > 0 {
		return ErrNo
	}
	return nil
}
