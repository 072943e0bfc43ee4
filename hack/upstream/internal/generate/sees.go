// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"go/scanner"
	"go/token"
	"regexp"
)

// permission matches a permission marker. Only openapi-gen reads these markers.
var permission = regexp.MustCompile(`(?m)^[ \t]*//[ \t]*\+permission-.*\n`)

// withoutMarkers drops permission markers and keeps everything else.
func withoutMarkers(src []byte) []byte { return permission.ReplaceAll(src, nil) }

// codeAndTags keeps the code and the comments that are tags of generators, and drops permission
// markers. Most patches of types add only markers or prose. The other generators would write
// the same output again, so they need not run.
func codeAndTags(src []byte) []byte {
	src = withoutMarkers(src)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	failed := false
	s.Init(file, src, func(token.Position, string) { failed = true }, scanner.ScanComments)
	var out bytes.Buffer
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			if failed { // not Go: let every byte count
				return src
			}
			return out.Bytes()
		case tok == token.COMMENT && !bytes.Contains([]byte(lit), []byte("+")) && !bytes.HasPrefix([]byte(lit), []byte("//go:")):
			continue
		case lit != "":
			out.WriteString(lit)
		default:
			out.WriteString(tok.String())
		}
		out.WriteByte('\n')
	}
}
