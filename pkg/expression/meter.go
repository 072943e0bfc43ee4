// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"math"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// meterName is the name under which an evaluation finds its meter among the variables. No
// expression can have such a name.
const meterName = "@meter"

// meter counts the work of the calls of one evaluation.
type meter struct{ spent, budget int64 }

// spend counts work that is about to be done. If the budget does not suffice, it ends the
// evaluation by a panic, which the interpreter of CEL turns into an error.
func (m *meter) spend(work int64) {
	if work > m.budget-m.spent {
		m.spent = m.budget
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: ErrCost.Error()})
	}
	m.spent += work
}

func meterOf(frame *interpreter.ExecutionFrame) *meter {
	found, _ := frame.ResolveName(meterName)
	return found.(*meter)
}

// metering is how the calls of one program are metered: it replaces each call in the plan of the
// program by one that counts its work, after its arguments are evaluated and before the function is
// called.
type metering struct {
	bindings map[string]*functions.Overload
	// keys has the ids of the nodes that are computed keys of maps or indexes of lists.
	keys map[int64]bool
	// ranges has the ids of the nodes that a loop loops over, and the steps of one iteration.
	ranges map[int64]int64
}

// newMetering returns the metering of an expression, and the number of its steps outside loops.
func newMetering(bindings map[string]*functions.Overload, e ast.Expr) (m *metering, steps int64) {
	m = &metering{bindings: bindings, keys: map[int64]bool{}, ranges: map[int64]int64{}}
	return m, m.steps(e)
}

// steps returns the number of steps of an evaluation of e, without the iterations of its loops.
func (m *metering) steps(e ast.Expr) int64 {
	switch e.Kind() {
	case ast.SelectKind:
		return 1 + m.steps(e.AsSelect().Operand())
	case ast.CallKind:
		count, c := int64(1), e.AsCall()
		switch c.FunctionName() {
		case operators.Index, operators.OptIndex:
			if key := c.Args()[1]; key.Kind() != ast.LiteralKind {
				m.keys[key.ID()] = true
			}
		}
		if c.IsMemberFunction() {
			count += m.steps(c.Target())
		}
		for _, arg := range c.Args() {
			count += m.steps(arg)
		}
		return count
	case ast.ListKind:
		all := e.AsList().Elements()
		if !slices.ContainsFunc(all, func(e ast.Expr) bool { return e.Kind() != ast.LiteralKind }) {
			return 1 // CEL makes such a list once, when it plans the program
		}
		count := int64(1)
		for _, element := range all {
			count += m.steps(element)
		}
		return count
	case ast.MapKind:
		count := int64(1)
		for _, entry := range e.AsMap().Entries() {
			count += m.steps(entry.AsMapEntry().Key()) + m.steps(entry.AsMapEntry().Value())
		}
		return count
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		m.ranges[c.IterRange().ID()] = m.steps(c.LoopCondition()) + m.steps(c.LoopStep())
		return 1 + m.steps(c.IterRange()) + m.steps(c.AccuInit()) + m.steps(c.Result())
	}
	return 1
}

// decorate is an interpreter.InterpretableDecoratorV2.
func (m *metering) decorate(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	out := m.metered(node)
	if m.keys[node.ID()] {
		out = &keyed{out}
	}
	if count, loops := m.ranges[node.ID()]; loops {
		out = &ranged{out, count}
	}
	return out, nil
}

func (m *metering) metered(node interpreter.InterpretableV2) interpreter.InterpretableV2 {
	planned, isCall := node.(interpreter.InterpretableCall)
	if !isCall || len(planned.Args()) == 0 {
		return node
	}
	args := slices.Clone(planned.Args())
	name := planned.Function()
	binding := m.bindings[planned.OverloadID()]
	if binding == nil {
		binding = m.bindings[name]
	}
	switch {
	case name == "or" || name == "orValue":
		return &alternative{planned, args}
	case binding != nil && binding.NonStrict:
		return node // a step of a loop, which visits nothing
	}
	if _, literal := args[0].(interpreter.InterpretableConst); literal && overloads.IsTypeConversionFunction(name) {
		return node // CEL evaluates it once, when it plans the program
	}
	work := visiting
	if f, known := available[name]; known {
		work = f.work
	}
	out := &call{InterpretableCall: planned, args: args, binding: binding, work: work}
	for _, arg := range args {
		out.shown = append(out.shown, &hidden{arg})
	}
	if pattern, literal := patternOf(name, args); literal {
		if size, err := patternSize(pattern); err == nil {
			// CEL compiles the pattern once, and replaces the call by one with the arguments shown.
			out.shown = slices.Clone(args)
			text := &matched{InterpretableV2: args[0], size: size, all: name == "findAll", most: math.MaxInt32}
			if len(args) > 2 {
				if limit, literal := args[2].(interpreter.InterpretableConst); literal {
					text.most = matches(limit.Value(), text.most)
				}
			}
			out.shown[0] = text
		}
	}
	return out
}

func patternOf(name string, args []interpreter.InterpretableV2) (string, bool) {
	if len(args) < 2 || name != "matches" && name != "find" && name != "findAll" {
		return "", false
	}
	literal, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return "", false
	}
	pattern, ok := literal.Value().(types.String)
	return string(pattern), ok
}

// call is a metered call of a function.
type call struct {
	interpreter.InterpretableCall
	// shown is what Args returns. It hides from the optimizer of CEL that an argument is a literal,
	// so that the optimizer does not replace the call.
	args, shown []interpreter.InterpretableV2
	binding     *functions.Overload
	work        func([]ref.Val, int64) int64
}

// Args implements interpreter.InterpretableCall.
func (c *call) Args() []interpreter.InterpretableV2 { return c.shown }

// Eval implements interpreter.Interpretable.
func (c *call) Eval(a interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(a)) }

// Exec evaluates the arguments, counts the work, and calls the function.
func (c *call) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(c.args))
	for i, arg := range c.args {
		args[i] = arg.Exec(frame)
	}
	for _, arg := range args {
		if types.IsUnknownOrError(arg) {
			return arg
		}
	}
	m := meterOf(frame)
	m.spend(c.work(args, m.budget-m.spent))
	return types.LabelErrNode(c.ID(), c.invoke(args))
}

func (c *call) invoke(args []ref.Val) ref.Val {
	switch c.Function() {
	case operators.Equals:
		return types.Equal(args[0], args[1])
	case operators.NotEquals:
		return types.Bool(types.Equal(args[0], args[1]) != types.True)
	}
	if b := c.binding; b != nil && (b.OperandTrait == 0 || args[0].Type().HasTrait(b.OperandTrait)) {
		switch {
		case len(args) == 1 && b.Unary != nil:
			return b.Unary(args[0])
		case len(args) == 2 && b.Binary != nil:
			return c.flat(args, b.Binary(args[0], args[1]))
		case b.Function != nil:
			return c.flat(args, b.Function(args...))
		}
	}
	if receiver, ok := args[0].(traits.Receiver); ok {
		return receiver.Receive(c.Function(), c.OverloadID(), args[1:])
	}
	return types.NewErr("no such overload: %s", c.Function())
}

// flat copies the sum of two lists, which is otherwise a tree of lists that is slow to visit.
func (c *call) flat(args []ref.Val, result ref.Val) ref.Val {
	sum, isList := result.(traits.Lister)
	if _, mutable := result.(traits.MutableLister); !isList || mutable || c.Function() != operators.Add {
		return result
	}
	all := make([]ref.Val, 0, lengthOf(sum))
	for _, arg := range args {
		part, isList := arg.(traits.Lister)
		if !isList {
			return result
		}
		for i := range lengthOf(part) {
			all = append(all, part.Get(types.Int(i)))
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

// hidden hides which kind of node an argument is.
type hidden struct{ interpreter.InterpretableV2 }

// keyed is a computed key of a map, which is hashed.
type keyed struct{ interpreter.InterpretableV2 }

// Eval implements interpreter.Interpretable.
func (k *keyed) Eval(a interpreter.Activation) ref.Val { return k.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (k *keyed) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := k.InterpretableV2.Exec(frame)
	meterOf(frame).spend(1 + textLength(value)/10)
	return value
}

// matched is the text that a regular expression of a known size is matched with.
type matched struct {
	interpreter.InterpretableV2
	size int
	all  bool  // whether each match is returned
	most int64 // the maximum number of matches
}

// Eval implements interpreter.Interpretable.
func (t *matched) Eval(a interpreter.Activation) ref.Val { return t.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (t *matched) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := t.InterpretableV2.Exec(frame)
	work := matchWork(value, t.size)
	if t.all {
		work = product(work, min(t.most, 1+textLength(value)))
	}
	meterOf(frame).spend(work)
	return value
}

// ranged is what a loop loops over. It counts all steps of the loop before the loop begins.
type ranged struct {
	interpreter.InterpretableV2
	steps int64
}

// Eval implements interpreter.Interpretable.
func (r *ranged) Eval(a interpreter.Activation) ref.Val { return r.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (r *ranged) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := r.InterpretableV2.Exec(frame)
	meterOf(frame).spend(product(lengthOf(value), r.steps))
	return value
}

// alternative is a call of or or orValue of an optional value. Its argument is evaluated only if the
// optional value has none. In a program of package cel, a decorator of its own does this.
type alternative struct {
	interpreter.InterpretableCall
	args []interpreter.InterpretableV2
}

// Eval implements interpreter.Interpretable.
func (o *alternative) Eval(a interpreter.Activation) ref.Val { return o.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (o *alternative) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := o.args[0].Exec(frame)
	if types.IsUnknownOrError(value) {
		return value
	}
	optional, ok := value.(*types.Optional)
	if !ok || len(o.args) != 2 {
		return types.NewErr("no such overload: %s", o.Function())
	}
	switch {
	case !optional.HasValue():
		return o.args[1].Exec(frame)
	case o.Function() == "or":
		return optional
	}
	return optional.GetValue()
}

// bindingsOf returns the implementations of the functions of an environment, by overload and by
// function.
func bindingsOf(env *cel.Env) (map[string]*functions.Overload, error) {
	all := map[string]*functions.Overload{}
	for _, f := range env.Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			all[b.Operator] = b
		}
	}
	return all, nil
}
