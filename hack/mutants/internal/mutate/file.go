// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"go/ast"
	"go/token"
	"strings"
)

// file is one source that is being rewritten.
type file struct {
	tokens *token.FileSet
	src    []byte
	edits  edits

	last    int
	mutants []Mutant
	// functionName is the name of the function that is being rewritten. results are the result
	// types, as in the source, of that function or of the function literal in it that is being
	// rewritten.
	functionName string
	results      []string
	// negated has the conditions that already have a mutant that negates the whole condition.
	negated map[ast.Expr]bool
}

func (f *file) mutate(parsed *ast.File) {
	f.negated = map[ast.Expr]bool{}
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				f.functionName = functionName(d)
				f.function(d.Type, d.Body)
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				value := spec.(*ast.ValueSpec)
				f.functionName = value.Names[0].Name
				for _, v := range value.Values {
					f.walk(v)
				}
			}
		}
	}
}

func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	receiver, star := d.Recv.List[0].Type, ""
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver, star = pointer.X, "*"
	}
	switch generic := receiver.(type) {
	case *ast.IndexExpr:
		receiver = generic.X
	case *ast.IndexListExpr:
		receiver = generic.X
	}
	name := receiver.(*ast.Ident).Name
	if star != "" {
		name = "(" + star + name + ")"
	}
	return name + "." + d.Name.Name
}

// function adds the mutants in the body of a function with a signature.
func (f *file) function(signature *ast.FuncType, body *ast.BlockStmt) {
	outer := f.results
	f.results = nil
	if signature.Results != nil {
		for _, field := range signature.Results.List {
			for range max(1, len(field.Names)) {
				f.results = append(f.results, f.text(field.Type))
			}
		}
	}
	f.walk(body)
	f.results = outer
}

// walk adds the mutants of a node and of its descendants, the outer nodes first.
func (f *file) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.function(n.Type, n.Body)
			return false
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.ArrayType:
			return false // an array length must be a constant
		case *ast.IfStmt:
			f.negate(n.Cond)
		case *ast.ForStmt:
			f.negate(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				f.negateCases(n.Body)
			}
		case *ast.BlockStmt:
			f.remove(n.List)
		case *ast.CaseClause:
			f.remove(n.Body)
		case *ast.CommClause:
			f.remove(n.Body)
		case *ast.ReturnStmt:
			f.returnStatement(n)
		case *ast.BinaryExpr:
			f.binary(n)
		}
		return true
	})
}

// add adds a mutant, and returns the number of its switch.
func (f *file) add(n ast.Node, op string) int {
	text := strings.Join(strings.Fields(f.text(n)), " ")
	if r := []rune(text); len(r) > 120 {
		text = string(r[:120]) + "..."
	}
	f.mutants = append(f.mutants, Mutant{
		ID:   f.last + len(f.mutants) + 1,
		Line: f.tokens.Position(n.Pos()).Line,
		Func: f.functionName,
		Op:   op,
		Text: text,
	})
	return f.last + len(f.mutants)
}

func (f *file) offset(p token.Pos) int { return f.tokens.Position(p).Offset }

func (f *file) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

func (f *file) wrap(n ast.Node, before, after string) {
	f.edits.wrap(f.offset(n.Pos()), f.offset(n.End()), before, after)
}
