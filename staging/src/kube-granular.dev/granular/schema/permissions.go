// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"

	"kube-granular.dev/granular/permission"
)

// permissions reads what a place itself carries and makes the node's chain. A
// scope carries a permission of its own name, which covers all in it. A verb on
// the same place is one of what the scope lies in: only below are names prefixed.
func (c *compiler) permissions(n *Node, l layers, p *place) error {
	n.Chain = slices.Clip(p.chain)
	if err := l.unknown(); err != nil {
		return err
	}
	if _, ok := l.extension(ExtExpression); ok {
		return fmt.Errorf("%s is not supported, use %s", ExtExpression, ExtTreatment)
	}
	verb, err := l.text(ExtVerb)
	if err != nil {
		return err
	}
	scope, err := l.text(ExtScope)
	if err != nil {
		return err
	}
	excluded, err := l.excluded()
	if err != nil {
		return err
	}
	parameterized, err := l.text(ExtParameterized)
	if err != nil {
		return err
	}
	treatment, err := l.text(ExtTreatment)
	if err != nil {
		return err
	}
	switch {
	case verb == "" && scope == "" && excluded:
		return fmt.Errorf("%s without %s", ExtExcluded, ExtVerb)
	case verb == "" && parameterized != "":
		return fmt.Errorf("%s without %s", ExtParameterized, ExtVerb)
	case parameterized == "" && treatment != "":
		return fmt.Errorf("%s without %s", ExtTreatment, ExtParameterized)
	}
	if verb != "" {
		perm := &Permission{Name: permission.Scoped(p.scope, verb), Excluded: excluded, Source: parameterized}
		if err := permission.Validate(verb); err != nil {
			return fmt.Errorf("%s: %w", ExtVerb, err)
		}
		if perm.Treatment, err = permission.ParseTreatment(treatment); err != nil {
			return fmt.Errorf("%s: %w", ExtTreatment, err)
		}
		if parameterized != "" {
			for _, e := range p.emitters { // the innermost wins
				if e.source == parameterized {
					perm.SourceNode, perm.SourceKey = e.node, e.key
				}
			}
			if perm.SourceNode == nil {
				return fmt.Errorf("%s: nothing above emits %q", ExtParameterized, parameterized)
			}
		}
		if err := c.add(n, perm); err != nil {
			return err
		}
	}
	if scope == "" {
		return nil
	}
	if err := permission.Validate(scope); err != nil {
		return fmt.Errorf("%s: %w", ExtScope, err)
	}
	p.scope = scope
	return c.add(n, &Permission{Name: scope, Excluded: excluded && verb == ""})
}

func (c *compiler) add(n *Node, p *Permission) error {
	if err := permission.Validate(p.Name); err != nil {
		return fmt.Errorf("below its scope: %w", err)
	}
	if excluded, met := c.verbs[p.Name]; met && excluded != p.Excluded {
		return fmt.Errorf("permission %q is excluded in one place and not in another", p.Name)
	}
	c.verbs[p.Name] = p.Excluded
	if n.Chain = append(n.Chain, p); len(n.Chain) > MaxPermissionsOnPath {
		return fmt.Errorf("more than %d permissions on one path", MaxPermissionsOnPath)
	}
	n.Own++
	return nil
}
