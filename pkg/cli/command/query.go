// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
)

// definitions is the resource of definitions of custom resources, the only one on which the verb
// granular:permissionExclusion has an effect.
const definitions = "customresourcedefinitions.apiextensions.k8s.io"

// ordinary reports whether a verb is not about fields: it is neither granular nor a permission verb.
func ordinary(verb string) bool {
	return !permission.IsVerb(verb)
}

// queryFor returns the query that finds the subjects that hold a verb for a kind. The tree is nil if the
// verb is an ordinary one and the server publishes no permissions.
func queryFor(text string, k *kinds.Kind, tree *schema.Tree) (*access.Query, error) {
	if ordinary(text) {
		name, _, _ := strings.Cut(text, "(")
		if tree != nil && slices.ContainsFunc(tree.Permissions(), func(info schema.Info) bool { return info.Name == name }) {
			return nil, fmt.Errorf("%s is no ordinary verb; did you mean %s:%s?", text, permission.General, text)
		}
		return &access.Query{Verbs: []string{text}}, nil
	}
	if strings.HasSuffix(text, "()") {
		return nil, fmt.Errorf("the parameter of %s is empty, and no role can grant that; kubectl granular explain %s shows what it stands for", text, k)
	}
	verb, err := permission.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not valid: %w", text, err)
	}
	if verb.Permission == "" {
		return &access.Query{Verbs: []string{text}}, nil
	}
	if permission.Reserved(verb.Permission) {
		// These verbs are not about fields, and need no granular.
		switch {
		case verb.Permission == permission.Exclusion && verb.Parameterized:
			return nil, fmt.Errorf("%s:%s takes no parameter", permission.General, verb.Permission)
		case verb.Permission == permission.Exclusion && k.String() != definitions:
			return nil, fmt.Errorf("%s has an effect only on %s", text, definitions)
		case verb.Permission != permission.Exclusion && !verb.Parameterized:
			return nil, fmt.Errorf("%s takes a parameter: %s(KEY), with the whole key", text, text)
		}
		return &access.Query{Verbs: []string{text}}, nil
	}
	out := &access.Query{Granular: true, Included: true}
	var common []string
	found := false
	for place := range tree.NodePaths() {
		candidates, _ := decide.Candidates(place.Node())
		index := slices.IndexFunc(place.Node().Own(), func(p *schema.Permission) bool { return p.Name == verb.Permission })
		if index < 0 {
			continue
		}
		own := place.Node().Own()[index]
		if own.Parameter != nil && !verb.Parameterized {
			return nil, fmt.Errorf("%s takes a parameter: %s", text, kinds.VerbOf(own))
		}
		if own.Parameter == nil && verb.Parameterized {
			return nil, fmt.Errorf("%s takes no parameter", kinds.VerbOf(own))
		}
		out.Included = out.Included && !own.Excluded
		var above []string
		for _, p := range candidates {
			if p == own {
				break
			}
			switch {
			case p.Parameter == nil:
				above = append(above, permission.Verb{Permission: p.Name}.String())
			case p.Shares(own):
				above = append(above, permission.Verb{Permission: p.Name, Parameter: verb.Parameter, Parameterized: true}.String())
			}
		}
		if wider, ok := own.Wider(verb); ok {
			above = append(above, wider.String())
		}
		if !found {
			common = above
		} else {
			common = slices.DeleteFunc(common, func(v string) bool { return !slices.Contains(above, v) })
		}
		found = true
	}
	if !found {
		return nil, errors.New(unknownVerbMessage(text, k, tree))
	}
	for _, info := range tree.Permissions() {
		if except := kinds.VerbOf(info.Permission); info.Excluded && slices.Contains(info.Above, verb.Permission) &&
			!slices.Contains(out.Except, except) {
			out.Except = append(out.Except, except)
		}
	}
	out.Verbs = append(common, text)
	slices.Reverse(out.Verbs)
	return out, nil
}

// unknownVerbMessage returns the error message for a verb that no field of a kind has.
func unknownVerbMessage(text string, k *kinds.Kind, tree *schema.Tree) string {
	if strings.HasPrefix(text, permission.General+":condition(") {
		for _, info := range tree.Permissions() {
			if info.Name == "conditions" {
				return fmt.Sprintf("the conditions of %s are no list with the key type (x-kubernetes-list-type: map), so no verb covers one condition; granular:conditions covers all", k)
			}
		}
	}
	near := nearestVerb(text, tree)
	if near != "" {
		near = fmt.Sprintf(" did you mean %s?", near)
	}
	return fmt.Sprintf("no field of %s has the verb %s;%s kubectl granular explain %s shows those there are", k, text, near, k)
}
