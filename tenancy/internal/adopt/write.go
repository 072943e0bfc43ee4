// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"io"
	"strings"

	"kube-granular.dev/api/printing"
)

// Formats are the formats of Write.
var Formats = []string{"table", "wide", "json", "yaml", "lnamespaces"}

// Write prints the plan in one of the formats. The format lnamespaces is that of the LNamespaces alone, as
// files for kubectl or for another plan.
func (p *Plan) Write(out io.Writer, format string) error {
	switch format {
	case "json":
		return printing.JSON(out, p)
	case "yaml":
		return printing.YAML(out, p)
	case "lnamespaces":
		var documents []any
		for _, n := range p.Namespaces {
			if n.State == Adopt {
				documents = append(documents, document(n))
			}
		}
		return printing.YAML(out, documents...)
	case "table", "wide":
		return p.tables(printing.NewPage(out, format == "wide"))
	}
	return fmt.Errorf("the format %q is none of %s", format, strings.Join(Formats, ", "))
}

// document returns the LNamespace of a namespace, without its status.
func document(n Namespace) map[string]any {
	metadata := map[string]any{"name": n.Name}
	if len(n.tenant.Labels) > 0 {
		metadata["labels"] = n.tenant.Labels
	}
	return map[string]any{"apiVersion": n.tenant.APIVersion, "kind": n.tenant.Kind, "metadata": metadata, "spec": n.Spec}
}

func (p *Plan) tables(page *printing.Page) error {
	count := map[State]int{}
	covered, stay := 0, 0
	spaces := page.Begin("NAMESPACE", "PLAN", "ACCOUNT", "REASON")
	for _, n := range p.Namespaces {
		count[n.State]++
		if err := spaces.Row(n.Name, string(n.State), n.Spec.Billing.Account, n.Reason); err != nil {
			return err
		}
	}
	if err := spaces.Flush(); err != nil {
		return err
	}
	people := [][]string{}
	bindings := [][]string{}
	for _, n := range p.Namespaces {
		for _, one := range n.People {
			people = append(people, []string{n.Name, one.Subject,
				strings.Join(one.Roles, ", "), strings.Join(one.Lists, ", "), some(page, one.Gains), some(page, one.Loses)})
		}
		for _, b := range n.Bindings {
			at := "deleted"
			if b.Stays != "" {
				at = "stays: " + b.Stays
				stay++
			} else {
				covered++
			}
			bindings = append(bindings, []string{n.Name, b.Name, b.Role, at})
		}
	}
	for _, table := range []struct {
		header []string
		rows   [][]string
	}{
		{[]string{"NAMESPACE", "WHO", "NOW", "LISTS", "GAINS", "WOULD LOSE"}, people},
		{[]string{"NAMESPACE", "OLD BINDING", "ROLE", "WITH --confirm"}, bindings},
	} {
		if len(table.rows) == 0 {
			continue
		}
		if err := printing.Fprintf(page, "\n"); err != nil {
			return err
		}
		if err := page.Grouped(1, table.header, table.rows); err != nil {
			return err
		}
	}
	if err := page.Close(); err != nil {
		return err
	}
	return printing.Fprintf(page,
		"\nNothing was changed. %d to adopt (--apply), %d adopted, %d refused; of the old bindings, %d are covered (--confirm), %d stay.\n",
		count[Adopt], count[Adopted], count[Refused], covered, stay)
}

// some returns a list as the text of a cell: all of it on a wide page, or else its beginning.
func some(page *printing.Page, list []string) string {
	switch {
	case len(list) == 0:
		return "-"
	case len(list) > 1 && !page.Wide():
		return fmt.Sprintf("%s, and %d more", list[0], len(list)-1)
	}
	return strings.Join(list, "; ")
}
