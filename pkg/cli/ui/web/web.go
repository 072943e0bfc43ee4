// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed index.html style.css *.js
var files embed.FS

// modules are the script's modules; each imports only modules that stand before it.
var modules = []string{
	"dom.js", "list.js", "route.js", "data.js", "answers.js", "detail.js", "grant.js", "fields.js", "people.js", "denials.js",
	"tenants.js", "app.js",
}

// linkage matches what only modules in files of their own have: import lines, and the word export.
var linkage = regexp.MustCompile(`(?m)^(?:import .*;\n|export )`)

// Page returns the document and its content security policy. With a snapshot in JSON, the document is
// complete and its policy allows no connection at all. Without one, the document fetches the snapshot
// and answers from its own origin.
func Page(title string, snapshot []byte) (document []byte, policy string, err error) {
	return page(files, title, snapshot)
}

func page(files fs.FS, title string, snapshot []byte) ([]byte, string, error) {
	markup, err := fs.ReadFile(files, "index.html")
	if err != nil {
		return nil, "", err
	}
	style, err := fs.ReadFile(files, "style.css")
	if err != nil {
		return nil, "", err
	}
	var script strings.Builder
	script.WriteString("\n\"use strict\";\n")
	for _, name := range modules {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, "", err
		}
		script.Write(linkage.ReplaceAll(text, nil))
	}
	connect, data := "'self'", ""
	if snapshot != nil {
		var safe bytes.Buffer
		if err := json.Compact(&safe, snapshot); err != nil {
			return nil, "", fmt.Errorf("the snapshot is not JSON: %w", err)
		}
		connect = "'none'"
		var escaped bytes.Buffer
		json.HTMLEscape(&escaped, safe.Bytes())
		data = `<script type="application/json" id="snapshot">` + escaped.String() + "</script>"
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; require-trusted-types-for 'script'" +
		"; connect-src " + connect + "; style-src " + hash("\n"+string(style)) + "; script-src " + hash(script.String())
	document := strings.NewReplacer(
		"{{policy}}", html.EscapeString(policy),
		"{{title}}", html.EscapeString(title),
		"{{style}}", "\n"+string(style),
		"{{data}}", data,
		"{{script}}", script.String(),
	).Replace(string(markup))
	return []byte(document), policy, nil
}

// hash names an inline style or script in a policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
