// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	_ "embed"
	"errors"
	"html"
	"io"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/kinds"
)

//go:embed page.html
var page string

// The placeholders in page.html that Page replaces.
const (
	dataPlaceholder  = "/*DATA*/null"
	titlePlaceholder = "{{title}}"
)

// Page writes one HTML page with all fields that have verbs, of all kinds. The page is
// self-contained and needs no network. The title names the cluster.
func Page(out io.Writer, title string, all []*kinds.Kind) error {
	entries := make([]pageKind, 0, len(all))
	for _, k := range all {
		entry := pageKind{Group: k.Kind.Group, Version: k.Kind.Version, Kind: k.Kind.Kind, Fields: pageFields(k.Root())}
		for _, r := range k.Grantable() {
			entry.Resources = append(entry.Resources, qualified(r, k.Kind.Group))
		}
		entries = append(entries, entry)
	}
	// The JSON encoder escapes <, so that data can't end the script element.
	data, err := printing.MarshalJSON(entries)
	if err != nil {
		return err
	}
	if strings.Count(page, dataPlaceholder) != 1 {
		return errors.New("the template of the page has no placeholder for the data")
	}
	text := strings.ReplaceAll(page, titlePlaceholder, html.EscapeString(title))
	before, after, _ := strings.Cut(text, dataPlaceholder)
	return printing.Fprintf(out, "%s%s%s", printing.Escaped(before), printing.Escaped(data), printing.Escaped(after))
}

// The JSON names of pageKind and pageField are short, because the data of a page repeats them tens
// of thousands of times.
type pageKind struct {
	Group     string      `json:"g"`
	Version   string      `json:"v"`
	Kind      string      `json:"k"`
	Resources []string    `json:"r"`
	Fields    []pageField `json:"f"`
}

type pageField struct {
	Name        string      `json:"n"`
	Type        string      `json:"t,omitempty"`
	Description string      `json:"d,omitempty"`
	Verbs       []string    `json:"v,omitempty"`
	Cover       []string    `json:"c,omitempty"`
	Excluded    bool        `json:"x,omitempty"`
	Fields      []pageField `json:"f,omitempty"`
}

func pageFields(f *kinds.Field) []pageField {
	var out []pageField
	for _, below := range f.Fields() {
		if !below.HasPermissions() && f.Path != "" {
			continue
		}
		e := describe(below)
		entry := pageField{Name: e.name, Type: e.Type, Description: e.Description, Cover: e.CoveredBy, Excluded: e.Excluded, Fields: pageFields(below)}
		for _, v := range e.Verbs {
			entry.Verbs = append(entry.Verbs, v.Verb)
		}
		out = append(out, entry)
	}
	return out
}
