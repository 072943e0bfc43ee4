// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/changes"
)

// Options select how much the roles allow.
type Options struct {
	// Width selects among the verbs that cover a change.
	Width Width
	// AnyName grants the verbs for all objects of a resource, without resourceNames.
	AnyName bool
}

// Width selects one of the verbs that cover a change.
type Width int

const (
	// Narrow selects the narrowest permission. Its verb may be for all keys of a domain.
	Narrow Width = iota
	// Exact selects a verb for one key or one element of a list, where there is one.
	Exact
	// Wide selects the most general permission.
	Wide
)

// Grant has the rules for one namespace, or for the whole cluster if Namespace is "".
type Grant struct {
	Namespace string
	Rules     []rbacv1.PolicyRule
	// Notes are lines of text that describe which fields need which verb.
	Notes []string
}

// key identifies the object or resource that one rule is about.
type key struct {
	namespace, group, resource, name string
}

func (k key) compare(l key) int {
	return slices.Compare([]string{k.namespace, k.group, k.resource, k.name}, []string{l.namespace, l.group, l.resource, l.name})
}

// GrantsFor returns the grants that allow the requests of the dry runs, and the reads of the
// recorded command.
func GrantsFor(ctx context.Context, rehearsed []*changes.DryRun, reads []changes.Read, options Options) ([]Grant, error) {
	runs := map[key][]*changes.DryRun{}
	for _, r := range rehearsed {
		if len(r.Changes) == 0 {
			continue
		}
		k := key{r.Namespace, r.Kind.Resource.Group, r.Kind.Resource.Resource, r.Name}
		if r.Subresource != "" {
			k.resource += "/" + r.Subresource
		}
		if options.AnyName || r.Verb == "create" {
			k.name = "" // the authorization attributes of a create by POST have no name
		}
		runs[k] = append(runs[k], r)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("the change changes nothing, so it needs no role")
	}
	verbs, notes := map[key][]string{}, map[string][]string{}
	for k, all := range runs {
		var created, changed []change.Set
		byName := false
		for _, r := range all {
			if r.Verb == "create" {
				created = append(created, r.Changes)
			} else {
				changed = append(changed, r.Changes)
				byName = byName || r.Creates
			}
		}
		// A create by POST needs only the ordinary verb. The permissions of its fields would also allow
		// rewriting objects that exist, because its authorization has no name.
		least, err := leastVerbs(ctx, created, options.Width, false)
		if err == nil && len(changed) > 0 {
			var more []string
			more, err = LeastVerbs(ctx, changed, options.Width)
			least = slices.Compact(slices.Sorted(slices.Values(append(least, more...))))
			verbs[k] = append(verbs[k], permission.General)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", all[0].String(), err)
		}
		if byName {
			// An apply or a PUT of a missing object is authorized for its name, for create as well.
			verbs[k] = append([]string{"create"}, verbs[k]...)
			notes[k.namespace] = append(notes[k.namespace], byNameNote(k, all[0]))
		}
		if len(created) > 0 && !byName {
			verbs[k] = append([]string{"create"}, verbs[k]...)
			notes[k.namespace] = append(notes[k.namespace],
				fmt.Sprintf("create: new %s; it does not allow changing those that exist, as permissions of their fields would", all[0].Kind))
		}
		verbs[k] = append(verbs[k], least...)
		notes[k.namespace] = append(notes[k.namespace], note(ctx, all, least)...)
	}
	for _, r := range reads {
		k := key{r.Namespace, r.Group, r.Resource, r.Name}
		if r.Below != "" {
			k.resource += "/" + r.Below
		}
		if options.AnyName {
			k.name = ""
		}
		if r.Group == "apiextensions.k8s.io" || r.Resource == "" {
			continue // reads of discovery documents and of definitions need no rule
		}
		if r.Group == "" && r.Resource == "secrets" {
			line := r.Verb + ": reveals the content of the Secret; kubectl replace and kubectl apply --server-side work without it"
			if !slices.Contains(notes[k.namespace], line) {
				notes[k.namespace] = append(notes[k.namespace], line)
			}
		}
		if !slices.Contains(verbs[k], r.Verb) {
			verbs[k] = append([]string{r.Verb}, verbs[k]...)
		}
	}
	return grants(verbs, notes), nil
}

// byNameNote returns a line about the verbs for an object that an apply or a PUT creates.
func byNameNote(k key, r *changes.DryRun) string {
	if k.name == "" {
		return fmt.Sprintf("create: %s that an apply or a PUT creates; the permissions of fields allow changing all that exist", r.Kind)
	}
	return fmt.Sprintf("create: %s %q, by apply or PUT only; no other name can be created or changed", r.Kind, k.name)
}

// escalationVerbs maps a resource of RBAC to the verb that RBAC itself requires in addition, if
// the caller writes an object of the resource and does not hold all permissions that this object
// grants.
var escalationVerbs = map[schema.GroupResource]string{
	{Group: rbacv1.GroupName, Resource: "roles"}:               "escalate",
	{Group: rbacv1.GroupName, Resource: "clusterroles"}:        "escalate",
	{Group: rbacv1.GroupName, Resource: "rolebindings"}:        "bind",
	{Group: rbacv1.GroupName, Resource: "clusterrolebindings"}: "bind",
}

// note returns lines that describe which of the changed fields each verb allows, and what else the server
// wants.
func note(ctx context.Context, all []*changes.DryRun, verbs []string) []string {
	var out []string
	for _, r := range all {
		more := admissionNotes(r)
		if verb := escalationVerbs[r.Kind.Resource.GroupResource()]; verb != "" {
			more = append(more, fmt.Sprintf("RBAC also needs the verb %s, or all permissions that %s grant.", verb, r.Kind))
		}
		for _, line := range more {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
		for _, c := range r.Changes {
			for _, p := range slices.Backward(c.Node.Chain()) {
				noted := false
				for _, verb := range verbs {
					if !c.Uses(ctx, nil, p, verb) {
						continue
					}
					noted = true
					line := fmt.Sprintf("%s: %s of %s", verb, r.Field(c), r.Kind)
					if !slices.Contains(out, line) {
						out = append(out, line)
					}
				}
				if noted {
					break
				}
			}
		}
	}
	return out
}

// grants groups rules into one grant for each namespace.
func grants(verbs map[key][]string, notes map[string][]string) []Grant {
	var out []Grant
	for _, k := range slices.SortedFunc(maps.Keys(verbs), key.compare) {
		if len(out) == 0 || out[len(out)-1].Namespace != k.namespace {
			out = append(out, Grant{Namespace: k.namespace, Notes: slices.Sorted(slices.Values(notes[k.namespace]))})
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{k.group}, Resources: []string{k.resource}, Verbs: verbs[k]}
		if k.name != "" {
			rule.ResourceNames = []string{k.name}
		}
		g := &out[len(out)-1]
		same := slices.IndexFunc(g.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.Verbs, rule.Verbs) && slices.Equal(r.APIGroups, rule.APIGroups) &&
				slices.Equal(r.ResourceNames, rule.ResourceNames)
		})
		if same >= 0 {
			g.Rules[same].Resources = append(g.Rules[same].Resources, rule.Resources...)
			continue
		}
		g.Rules = append(g.Rules, rule)
	}
	return out
}

// Name returns the beginning of a name for the role that allows the request of a dry run.
func Name(r *changes.DryRun) string {
	if r.Verb == "create" {
		return NameOf(r.Kind.Resource.Resource, "")
	}
	return NameOf(r.Kind.Resource.Resource, r.Name)
}

// NameFor appends to a name a short hash of what a role grants and to whom. So roles for other
// subjects or for other verbs have other names, and do not replace each other. Without grants, it is a hash of the subjects.
func NameFor(name string, subjects []rbacv1.Subject, grants ...Grant) string {
	h := sha256.New()
	for _, s := range subjects {
		fmt.Fprintf(h, "%q %q %q\n", s.Kind, s.Namespace, s.Name)
	}
	for _, g := range grants {
		fmt.Fprintf(h, "%q\n", g.Namespace)
		for _, r := range g.Rules {
			fmt.Fprintf(h, "%q %q %q %q\n", r.APIGroups, r.Resources, r.ResourceNames, r.Verbs)
		}
	}
	return name + "-" + hex.EncodeToString(h.Sum(nil)[:nameHash])
}

// nameHash is the number of bytes of the hash in a name.
const nameHash = 4

// NameOf returns the beginning of a name for a role for one object, or for all objects of a resource if name is "".
func NameOf(resource, name string) string {
	parts := []string{"granular", resource}
	if name != "" {
		parts = append(parts, name)
	}
	return strings.ReplaceAll(strings.Join(parts, "-"), ":", "-")
}
