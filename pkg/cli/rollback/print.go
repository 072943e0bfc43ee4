// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"fmt"
	"io"

	"kube-granular.dev/api/printing"
)

// Formats are the output formats.
var Formats = []string{"table", "wide", "json", "yaml"}

// Print prints findings in a format.
func Print(out io.Writer, format string, all []Finding) error {
	switch format {
	case "json":
		return printing.JSON(out, list{all})
	case "yaml":
		return printing.YAML(out, list{all})
	case "table", "wide":
	default:
		return fmt.Errorf("there is no output format %q, only %q", format, Formats)
	}
	page := printing.NewPage(out, format == "wide")
	rows := make([][]string, 0, len(all))
	for _, f := range all {
		rows = append(rows, []string{string(f.Effect), f.Object, f.What})
	}
	if err := page.Grouped(2, []string{"EFFECT", "OBJECT", "ON A SERVER WITHOUT THE PATCHES"}, rows); err != nil {
		return err
	}
	err := printing.Fprintf(page, "\n%d open, %d lost, %d left behind\n", Count(all, Open), Count(all, Lost), Count(all, Left))
	if err != nil {
		return err
	}
	return page.Close()
}

// list is the document for programs.
type list struct {
	Findings []Finding `json:"findings"`
}
