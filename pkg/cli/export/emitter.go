// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"kube-granular.dev/granular/schema"
)

// emitter makes the variables and validations of one policy.
type emitter struct {
	grants grants
	// base is the condition under which the caller holds the ordinary verb, so that only excluded fields are
	// checked.
	base string
	// known is a condition that holds for each request whose fields are judged: the caller is a subject of the export.
	known string
	// creating is set if the policy judges creates.
	creating bool
	// asked has a condition for each permission that an authorizer is asked for: then the policy restricts all callers, and
	// not those of grants. Other exclusions are open.
	asked map[string]string
	// reset are the fields of the root that the server replaces in a new object, and present those that each
	// object has, be they empty.
	reset, present []string

	variables   []admissionv1.Variable
	validations []admissionv1.Validation
	// bound counts the names that were bound, so that each is bound once.
	bound int
}

const (
	isCreate = `request.operation == "CREATE"`
	isUpdate = `request.operation == "UPDATE"`
)

// cover is the condition under which permissions cover a node, split as an excluded permission needs it.
type cover struct{ included, excluded string }

func (c cover) condition() string { return or(c.excluded, c.included) }

// below returns the cover of a node inside a node with cover c.
func (e *emitter) below(c cover, n *schema.Node, at place) (cover, error) {
	for _, p := range n.Own() {
		held, err := e.held(p, at)
		if err != nil {
			return c, fmt.Errorf("%s: %w", at.path, err)
		}
		if p.Excluded {
			c = cover{included: never, excluded: or(c.excluded, held)}
		} else {
			c.included = or(c.included, held)
		}
	}
	return c, nil
}

// opens reports whether some permission below a node can change the answer, so that the node is not compared
// as a whole.
func (e *emitter) opens(n *schema.Node, c cover) bool {
	if c.condition() != never && n.ExcludedBelow {
		return true
	}
	below := n.Fields()
	if elem := n.Elem(); elem != nil {
		below = []*schema.Node{elem}
	}
	return slices.ContainsFunc(below, func(child *schema.Node) bool {
		return slices.ContainsFunc(child.Own(), e.mayHold) || e.opens(child, cover{never, never})
	})
}

func (e *emitter) mayHold(p *schema.Permission) bool {
	if p.Parameter != nil && e.asked == nil {
		parameters, _ := e.grants.parameters(p.Name, e.known)
		return len(parameters) > 0
	}
	held, _ := e.held(p, place{})
	return held != never
}

// excludes reports whether an excluded permission is below a node, so that its cover does not hold there.
func excludes(n *schema.Node) bool { return n.ExcludedBelow }

// object emits the validations of the whole object.
func (e *emitter) object(tree *schema.Tree) error {
	root := place{old: "optional.of(variables.old)", new: "optional.of(variables.new)", keys: map[int][]string{}}
	c, err := e.below(cover{included: e.base, excluded: never}, tree.Root, root)
	if err != nil {
		return err
	}
	e.variable("old", "oldObject == null ? {} : oldObject")
	e.variable("new", "object == null ? {} : object")
	free, err := e.free(tree.Root, root, c, "variables.old", "variables.new")
	if err != nil {
		return err
	}
	e.validate(or(c.condition(), e.rest(tree.Root, free, "variables.old", "variables.new")), e.others("", tree.Root, free))
	return e.fields(free, root, c, "variables.old", "variables.new")
}

// free returns the fields of an object that are compared by themselves. All others are compared with the object, because
// no permission that somebody holds covers them, or something inside. If a permission may cover the object, all fields are
// compared by themselves: it does not cover the excluded ones. old and new are the objects around the fields.
func (e *emitter) free(n *schema.Node, at place, c cover, old, new string) ([]*schema.Node, error) {
	var out []*schema.Node
	for _, child := range n.Fields() {
		covered, err := e.below(c, child, at.field(child, old, new))
		if err != nil {
			return nil, err
		}
		reset := at.path == "" && e.creating && (slices.Contains(e.reset, child.Field) || slices.Contains(e.present, child.Field))
		if reset || c.condition() != never || covered.condition() != never || e.opens(child, covered) || len(child.System()) > 0 {
			out = append(out, child)
		}
	}
	return out, nil
}

// fields emits the validations of the fields of an object that is not in a map or list. old and new are the
// objects around them.
func (e *emitter) fields(free []*schema.Node, at place, c cover, old, new string) error {
	for _, child := range free {
		below := at.field(child, old, new)
		covered, err := e.below(c, child, below)
		if err != nil {
			return err
		}
		root := at.path == "" && e.creating
		if root && slices.Contains(e.reset, child.Field) {
			covered = cover{or(covered.included, isCreate), or(covered.excluded, isCreate)}
		}
		first := len(e.validations)
		if err := e.static(child, below, covered); err != nil {
			return err
		}
		if root && slices.Contains(e.present, child.Field) && first < len(e.validations) {
			v := &e.validations[first]
			v.Expression = or(and(isCreate, below.new+" == optional.of({})"), v.Expression)
		}
	}
	return nil
}

// static emits the validations of a node that is not in a map or list.
func (e *emitter) static(n *schema.Node, at place, c cover) error {
	condition := c.condition()
	if condition == always && !excludes(n) {
		return nil
	}
	if n.Kind != schema.Object || !e.opens(n, c) && len(n.System()) == 0 {
		text, err := e.inline(n, at, c)
		if err != nil {
			return err
		}
		e.validate(text, e.message(at.path, n))
		return nil
	}
	old, new := "old"+at.name, "new"+at.name
	old, new = "variables."+e.variable(old, container(at.old, "{}")), "variables."+e.variable(new, container(at.new, "{}"))
	free, err := e.free(n, at, c, old, new)
	if err != nil {
		return err
	}
	rest := e.rest(n, free, old, new)
	if !n.NilIsEmpty {
		// The same fields, but another presence, is a change of the object itself.
		rest = or(at.equal(), and(old+" != "+new, rest))
	}
	e.validate(or(condition, rest), e.others(at.path, n, free))
	return e.fields(free, at, c, old, new)
}

// rest returns the condition that all fields are equal that are not compared by themselves, in their presence too.
func (e *emitter) rest(n *schema.Node, free []*schema.Node, old, new string) string {
	k := e.fresh("k")
	var apart []string
	for _, child := range free {
		apart = append(apart, k+" == "+quote(child.Field))
	}
	for _, name := range n.System() {
		apart = append(apart, k+" == "+quote(name))
	}
	same := or(append(apart, at(old, k)+" == "+at(new, k))...)
	gone := or(append(apart, k+" in "+new)...)
	return and(fmt.Sprintf("dyn(%s).all(%s, %s)", new, k, same), fmt.Sprintf("dyn(%s).all(%s, %s)", old, k, gone))
}

func (e *emitter) fresh(prefix string) string {
	e.bound++
	return fmt.Sprintf("%s%d", prefix, e.bound)
}

// variable adds a variable, and returns its name, which has a number if there is one of the name. The names of two fields
// can be the same in CEL, and the later variable would count for both.
func (e *emitter) variable(name, expression string) string {
	unique := name
	for n := 2; slices.ContainsFunc(e.variables, func(v admissionv1.Variable) bool { return v.Name == unique }); n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	e.variables = append(e.variables, admissionv1.Variable{Name: unique, Expression: expression})
	return unique
}
