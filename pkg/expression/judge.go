// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// The bounds of a new expression. They bound the time in which the type checker finishes, which
// can't be interrupted: see TestCompilesFast.
const (
	// MaxTypeDepth is the maximum nesting of lists, maps and optional values in a type. Chained
	// macros nest types as well as literals do: [1].map(a, [a]).map(a, [a]) has the depth 3.
	MaxTypeDepth = 8
	// MaxComprehensions is the maximum number of macros that loop, such as all and map.
	MaxComprehensions = 32
	// MaxNesting is the maximum number of such macros inside each other.
	MaxNesting = 8
	// MaxAggregates is the maximum number of list and map literals.
	MaxAggregates = 64
	// MaxChecks is the maximum work of the type checker. For each overload of a function that the
	// expression calls, the checker copies all type variables that it has found so far. A copy of one
	// variable counts one.
	MaxChecks = 100_000
	// MaxPatternLength is the maximum length of a regular expression, in bytes.
	MaxPatternLength = 256
	// MaxPatternsLength is the maximum length of all regular expressions together.
	MaxPatternsLength = 512
	// MaxPatternSize is the maximum number of instructions of a compiled regular expression.
	MaxPatternSize = 1000
	// maxRecursion is the maximum depth of the syntax tree while it is parsed.
	maxRecursion = 100
)

// loops has the macros that loop, with the number of their variables for each number of arguments.
var loops = map[string]map[int]int{
	"all": {2: 1, 3: 2}, "exists": {2: 1, 3: 2}, "exists_one": {2: 1, 3: 2}, "existsOne": {2: 1, 3: 2},
	"filter": {2: 1}, "map": {2: 1, 3: 1}, "transformList": {3: 2, 4: 2}, "transformMap": {3: 2, 4: 2},
}

// refusedMacros has the macros that new expressions can't use: their expansions need bounds of their own.
var refusedMacros = []string{"sortBy", "transformMapEntry", "bind"}

// judge decides whether an expression may be given to the type checker. It reads the expression as
// it was written, with its macros not expanded, so its own work is linear in the length of the
// expression.
type judge struct {
	// overloads has the number of overloads of each function, and parametric the number of those
	// that have type variables.
	overloads, parametric map[string]int
	// scope has the type depths of the variables of the loops around the current node.
	scope      []variable
	nesting    int
	loops      int
	aggregates int
	variables  int
	checks     int
	patterns   int
}

type variable struct {
	name  string
	depth int
}

// refusal is why a judge refuses an expression.
type refusal string

func (r refusal) Error() string { return string(r) }

// Judge returns why the type checker could need too long for an expression, or nil.
func (j judge) Judge(text string) (err error) {
	written, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.MaxRecursionDepth(maxRecursion),
		parser.ErrorRecoveryLimit(0), parser.ErrorReportingLimit(1))
	if err != nil {
		return err
	}
	tree, errs := written.Parse(common.NewTextSource(text))
	if all := errs.GetErrors(); len(all) > 0 {
		return fmt.Errorf("does not compile: column %d: %s", all[0].Location.Column()+1, strings.TrimSpace(all[0].Message))
	}
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			err = why
		}
	}()
	j.node(tree.Expr())
	return nil
}

func refuse(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }

// check counts the work of one call of the type checker's unification.
func (j *judge) check(count int) {
	if j.checks += count * (j.variables + 4); j.checks > MaxChecks {
		refuse("is too complex: it has too many calls, comparisons and list elements")
	}
}

// node judges a part of the expression, and returns the depth of its type: an upper bound of how
// many lists, maps and optional values are inside each other.
func (j *judge) node(e ast.Expr) int {
	depth := 0
	switch e.Kind() {
	case ast.IdentKind:
		depth = j.lookup(e.AsIdent())
	case ast.SelectKind:
		j.check(1)
		depth = j.node(e.AsSelect().Operand())
	case ast.CallKind:
		depth = j.call(e.AsCall())
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			j.check(1)
			depth = max(depth, j.node(element))
		}
		depth++
		j.aggregate()
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			j.check(2)
			if entry.AsMapEntry().Key().Kind() != ast.LiteralKind {
				refuse("has a map with a computed key: the keys of a map must be literals")
			}
			depth = max(depth, j.node(entry.AsMapEntry().Value()))
		}
		depth++
		j.aggregate()
	case ast.StructKind:
		refuse("has a message %s{…}: messages are not available", e.AsStruct().TypeName())
	}
	if depth > MaxTypeDepth {
		refuse("is too deep: more than %d lists, maps and optional values are inside each other, macros included", MaxTypeDepth)
	}
	return depth
}

func (j *judge) aggregate() {
	j.variables += 2
	if j.aggregates++; j.aggregates > MaxAggregates {
		refuse("has more than %d lists and maps", MaxAggregates)
	}
}

func (j *judge) lookup(name string) int {
	for _, v := range slices.Backward(j.scope) {
		if v.name == name {
			return v.depth
		}
	}
	return 0
}

func (j *judge) call(c ast.CallExpr) int {
	name, args := strings.TrimPrefix(c.FunctionName(), "."), c.Args()
	if c.IsMemberFunction() {
		if variables, loop := loops[name][len(args)]; loop {
			return j.loop(name, c.Target(), args, variables)
		}
		switch {
		case slices.Contains(refusedMacros, name):
			refuse("calls the macro %s, which is not available", name)
		case (name == "optMap" || name == "optFlatMap") && len(args) == 2:
			return j.optional(c.Target(), args)
		}
	}
	j.literals(name, c)
	depth := 0
	if c.IsMemberFunction() {
		depth = j.node(c.Target())
		if prefix := c.Target(); prefix.Kind() == ast.IdentKind {
			// The type checker takes a function of this name before a method: sets.contains, optional.of.
			if qualified := strings.TrimPrefix(prefix.AsIdent(), ".") + "." + name; j.overloads[qualified] > 0 {
				name = qualified
			}
		}
	}
	for _, arg := range args {
		depth = max(depth, j.node(arg))
	}
	j.variables += j.parametric[name]
	j.check(max(1, j.overloads[name]))
	if f, known := available[name]; known {
		return f.depth(depth)
	}
	return depth + 1
}

// loop judges a macro that loops.
func (j *judge) loop(name string, target ast.Expr, args []ast.Expr, variables int) int {
	ranged := j.node(target)
	if j.loops++; j.loops > MaxComprehensions {
		refuse("has more than %d macros that loop, such as all and map", MaxComprehensions)
	}
	if j.nesting++; j.nesting > MaxNesting {
		refuse("has more than %d macros that loop inside each other", MaxNesting)
	}
	// The expansion adds to a list, compares and counts.
	j.variables += 4
	j.check(16)
	outer := len(j.scope)
	for i := range variables {
		depth := max(0, ranged-1)
		if i == 0 && variables == 2 {
			depth = 0 // an index or a key
		}
		if args[i].Kind() != ast.IdentKind {
			refuse("has a macro %s whose variable is not a name", name)
		}
		j.scope = append(j.scope, variable{args[i].AsIdent(), depth})
	}
	result := 0
	for _, body := range args[variables:] {
		result = j.node(body)
	}
	j.scope = j.scope[:outer]
	j.nesting--
	switch name {
	case "map", "transformList", "transformMap":
		return result + 1
	case "filter":
		return ranged
	}
	return 0
}

// optional judges a call of optMap or optFlatMap. Its expansion has the target twice, so the targets
// of a chain of such calls would double with each call.
func (j *judge) optional(target ast.Expr, args []ast.Expr) int {
	if calls(target, "optMap", "optFlatMap") {
		refuse("has optMap or optFlatMap on the result of another one")
	}
	j.node(target)
	ranged := j.node(target)
	if j.loops++; j.loops > MaxComprehensions {
		refuse("has more than %d macros that loop, such as all and map", MaxComprehensions)
	}
	j.variables += 4
	j.check(16)
	if args[0].Kind() != ast.IdentKind {
		refuse("has a macro optMap whose variable is not a name")
	}
	j.scope = append(j.scope, variable{args[0].AsIdent(), ranged})
	result := j.node(args[1])
	j.scope = j.scope[:len(j.scope)-1]
	return result + 1
}

// calls reports whether a call of one of the macros is anywhere in an expression.
func calls(e ast.Expr, macros ...string) bool {
	found := false
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.CallKind && slices.Contains(macros, e.AsCall().FunctionName())
	}))
	return found
}

// literals checks that regular expressions and formats are literals, because they are the
// instructions by which other strings are read and written, and that they are small.
func (j *judge) literals(name string, c ast.CallExpr) {
	operands := c.Args()
	if c.IsMemberFunction() {
		operands = append([]ast.Expr{c.Target()}, operands...)
	}
	switch name {
	case "matches", "find", "findAll":
		if len(operands) < 2 {
			return
		}
		text, literal := literalOf(operands[1])
		if !literal {
			refuse("calls %s with a computed regular expression: it must be a literal", name)
		}
		j.patterns += len(text)
		if len(text) > MaxPatternLength || j.patterns > MaxPatternsLength {
			refuse("has a regular expression of more than %d bytes, or more than %d bytes of them", MaxPatternLength, MaxPatternsLength)
		}
		// An invalid one is reported by the type checker, or fails.
		if size, err := patternSize(text); err == nil && size > MaxPatternSize {
			refuse("has a regular expression that is too large: its repetitions make more than %d instructions", MaxPatternSize)
		}
	case "format":
		if !c.IsMemberFunction() {
			return
		}
		text, literal := literalOf(operands[0])
		if !literal {
			refuse("calls format on a computed string: it must be a literal")
		}
		if longPrecision.MatchString(text) {
			refuse("calls format with a precision of more than two digits")
		}
	}
}

func literalOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, isString := e.AsLiteral().(types.String)
	return string(text), isString
}
