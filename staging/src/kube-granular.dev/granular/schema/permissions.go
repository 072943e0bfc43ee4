// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"

	"kube-granular.dev/granular/permission"
)

// permissions adds the permissions of a field to the node's chain. If a scope begins at the field,
// the chain also gets a permission with the name of the scope, which covers everything in the
// scope. The name of the new scope becomes the prefix of permissions below the field. A verb of
// the field itself still gets the prefix of the enclosing scope.
func (c *compiler) permissions(n *Node, l layers, p *compileContext) error {
	n.last = p.last
	if p.element.begins(p.at) {
		if err := c.add(n, ExtElement, p.element.permission("")); err != nil {
			return err
		}
	}
	m, err := l.marks()
	if err != nil || !m.any {
		return err
	}
	outside := p.scope
	if err := c.declared(n, l, m, p); err != nil {
		return err
	}
	return c.addEntries(n, m.entries, outside)
}

// declared adds the permissions that the schema itself declares for a field.
func (c *compiler) declared(n *Node, l layers, m marks, p *compileContext) error {
	n.traits.setAttribute(l.attribute(m.source))
	verb, err := m.verb.text(ExtVerb)
	if err != nil {
		return err
	}
	scope, err := m.scope.text(ExtScope)
	if err != nil {
		return err
	}
	excluded, err := m.excluded.flag(ExtExcluded)
	if err != nil {
		return err
	}
	parameterized, err := m.parameterized.text(ExtParameterized)
	if err != nil {
		return err
	}
	treatment, err := m.treatment.text(ExtTreatment)
	if err != nil {
		return err
	}
	expression, err := m.expression.text(ExtExpression)
	if err != nil {
		return err
	}
	switch {
	case verb == "" && scope == "" && excluded:
		return faultf(ExtExcluded, "has no effect without %s", ExtVerb)
	case verb == "" && parameterized != "":
		return faultf(ExtParameterized, "has no effect without %s", ExtVerb)
	case parameterized == "" && treatment != "":
		return faultf(ExtTreatment, "has no effect without %s", ExtParameterized)
	case parameterized == "" && expression != "":
		return faultf(ExtExpression, "has no effect without %s", ExtParameterized)
	case treatment != "" && expression != "":
		return faultf(ExtExpression, "can't stand together with %s", ExtTreatment)
	}
	verbs, err := names(verb, parameterized)
	if err != nil {
		return faultf(ExtVerb, "%v", err)
	}
	for i, verb := range verbs {
		perm := Permission{Name: permission.Scoped(p.scope, verb), Excluded: excluded}
		if i == len(verbs)-1 { // the first of two is the general one, without a parameter
			if perm.Parameter, err = c.parameter(l, p, parameterized, treatment, expression); err != nil {
				return err
			}
		}
		if perm.Parameter != nil && perm.Parameter.FromValue {
			n.traits |= valueTrait
		}
		if err := c.add(n, ExtVerb, perm); err != nil {
			return err
		}
		if p.element != nil && perm.Parameter == nil && !excluded {
			if err := c.add(n, ExtElement, p.element.permission(verb)); err != nil {
				return err
			}
		}
	}
	if scope == "" {
		return nil
	}
	if err := permission.Validate(scope); err != nil {
		return faultf(ExtScope, "%v", err)
	}
	p.scope, p.element = scope, nil
	n.traits |= scopeTrait
	return c.add(n, ExtScope, Permission{Name: scope, Excluded: excluded && verb == ""})
}

// parameter returns how a permission's parameter is made: its source, and the treatment or
// expression. It returns nil if the permission takes no parameter.
func (c *compiler) parameter(l layers, p *compileContext, source, treatment, expression string) (out *Parameter, err error) {
	if source == "" {
		return nil, nil
	}
	if field, value := SelfField(source); value {
		if out, err = c.value(l, source, field); err != nil {
			return nil, err
		}
	} else if out = p.parameterFrom(source); out == nil {
		return nil, faultf(ExtParameterized, "no map or list above has %s: %s", ExtSource, source)
	}
	if out.Treatment, err = permission.ParseTreatment(treatment); err != nil {
		return nil, faultf(ExtTreatment, "%v", err)
	}
	if expression != "" {
		out.Expression, err = c.expression(expression)
	}
	return out, err
}

// parameterFrom returns a parameter from the innermost source with the name, or nil if there is
// none.
func (p *compileContext) parameterFrom(source string) *Parameter {
	for _, e := range slices.Backward(p.sources) {
		if e.source == source {
			return &Parameter{Source: source, SourceDepth: e.depth, SourceKey: e.key}
		}
	}
	return nil
}

func (c *compiler) add(n *Node, extension string, p Permission) error {
	if err := permission.Validate(p.Name); err != nil {
		return faultf(extension, "with the prefix of its scope: %v", err)
	}
	if permission.Reserved(p.Name) {
		return faultf(extension, "permission %q is reserved: it does not stand for a field", p.Name)
	}
	if excluded, met := c.verbs[p.Name]; met && excluded != p.Excluded {
		return faultf(extension, "permission %q is excluded in one place and not in another", p.Name)
	}
	c.verbs[p.Name] = p.Excluded
	return c.append(n, extension, p)
}

// append adds a permission to the end of the node's chain.
func (c *compiler) append(n *Node, extension string, p Permission) error {
	if n.last.length() >= c.models.maxOnPath {
		return faultf(extension, "more than %d permissions on one path", c.models.maxOnPath)
	}
	last, fresh := c.models.interner.below(n.last, p)
	if fresh {
		c.fresh++
	}
	n.last = last
	n.own++
	return nil
}
