// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"fmt"
	"go/ast"
	"go/token"
)

// negate adds a mutant that negates a condition.
func (f *file) negate(condition ast.Expr) {
	if condition == nil {
		return
	}
	f.flip(condition, OpNegated)
}

// negateCases adds mutants that negate the conditions of the cases of a switch without a value.
func (f *file) negateCases(body *ast.BlockStmt) {
	for _, clause := range body.List {
		for _, condition := range clause.(*ast.CaseClause).List {
			f.negate(condition)
		}
	}
}

// flip adds a mutant that inverts a boolean expression. It marks the expression, so that a
// comparison does not get a second mutant with the same effect.
func (f *file) flip(n ast.Expr, op string) {
	f.negated[ast.Unparen(n)] = true
	f.wrap(n, "(", fmt.Sprintf(") != mutantIs(%d)", f.add(n, op)))
}

// ordered has an entry for each operator that compares by order. op is the kind of the mutant,
// which gives another result only for equal values. function is the name of the function that
// replaces the operator.
var ordered = map[token.Token]struct{ op, function string }{
	token.LSS: {"< to <=", "mutantLess"},
	token.LEQ: {"<= to <", "mutantLessOrEqual"},
	token.GTR: {"> to >=", "mutantGreater"},
	token.GEQ: {">= to >", "mutantGreaterOrEqual"},
}

func (f *file) binary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.LAND:
		f.junction(n, OpAnd)
	case token.LOR:
		f.junction(n, OpOr)
	case token.EQL:
		f.comparison(n, OpEqual)
	case token.NEQ:
		f.comparison(n, OpUnequal)
	default:
		if o, ok := ordered[n.Op]; ok {
			f.wrap(n, fmt.Sprintf("%s(%d, ", o.function, f.add(n, o.op)), ")")
			f.edits.replace(f.offset(n.OpPos), n.Op.String(), ",")
		}
	}
}

// junction adds a mutant that exchanges && and ||. It uses De Morgan's laws, so that each side
// occurs, and is evaluated, at most once.
func (f *file) junction(n *ast.BinaryExpr, op string) {
	guard := fmt.Sprintf(") != mutantIs(%d)", f.add(n, op))
	f.wrap(n, "((", guard+")")
	f.wrap(n.X, "(", guard)
	f.wrap(n.Y, "(", guard)
}

func (f *file) comparison(n *ast.BinaryExpr, op string) {
	if f.negated[n] {
		return
	}
	f.wrap(n, "((", fmt.Sprintf(") != mutantIs(%d))", f.add(n, op)))
}

// returnStatement adds mutants for the bools and errors that a function returns.
func (f *file) returnStatement(n *ast.ReturnStmt) {
	if len(n.Results) == 1 && len(f.results) == 2 {
		f.returnedCall(n)
		return
	}
	if len(n.Results) != len(f.results) {
		return
	}
	for i, result := range n.Results {
		switch f.results[i] {
		case "bool":
			// The mutant has the position of the return statement, not that of the result.
			f.negated[ast.Unparen(result)] = true
			f.wrap(result, "(", fmt.Sprintf(") != mutantIs(%d)", f.add(n, OpFlipped)))
		case "error":
			op, function := OpDropped, "mutantDropped"
			if nothing, ok := result.(*ast.Ident); ok && nothing.Name == "nil" {
				op, function = OpMade, "mutantMade"
			}
			f.wrap(result, fmt.Sprintf("%s(%d, ", function, f.add(n, op)), ")")
		}
	}
}

// returnedCall adds a mutant for a return statement that returns both results of one call.
func (f *file) returnedCall(n *ast.ReturnStmt) {
	op, function := "", ""
	switch f.results[1] {
	case "bool":
		op, function = OpFlipped, "mutantFlipped2"
	case "error":
		op, function = OpDropped, "mutantDropped2"
	default:
		return
	}
	f.wrap(n.Results[0], fmt.Sprintf("%s[%s](%d)(", function, f.results[0], f.add(n, op)), ")")
}

// remove adds mutants that remove statements, except declarations and jumps.
func (f *file) remove(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || blank(s.Lhs) {
				continue
			}
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
					continue // the function may need the panic as its terminating statement
				}
			}
		case *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		default:
			continue
		}
		f.wrap(statement, fmt.Sprintf("if !mutantIs(%d) { ", f.add(statement, OpRemoved)), " }")
	}
}

func blank(names []ast.Expr) bool {
	for _, n := range names {
		if name, ok := n.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}
