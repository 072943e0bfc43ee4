// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/protected"
)

// protectedAttributes returns the protected attributes of the cluster and of a namespace, or of all
// namespaces if namespace is "". It returns none if the server does not serve their API.
func (s *options) protectedAttributes(ctx context.Context, namespace string) ([]protected.Attribute, error) {
	client, err := connect(s.ownConfig, versioned.NewForConfig)
	if err != nil {
		return nil, err
	}
	core, err := connect(s.ownConfig, kubernetes.NewForConfig)
	if err != nil {
		return nil, err
	}
	out, err := protected.Attributes(ctx, client, core, namespace)
	if errors.Is(err, protected.ErrNotServed) {
		return nil, nil
	}
	return out, err
}

// protectedVerbs returns the verbs that protected labels and annotations require.
func (s *options) protectedVerbs(ctx context.Context) ([]verbEntry, error) {
	all, err := s.protectedAttributes(ctx, "")
	var out []verbEntry
	for _, a := range all {
		out = append(out, protectedVerb(&a)...)
	}
	return out, err
}

// protectedVerb returns the verb that a protected attribute requires. It returns none if the
// attribute requires a role instead of a verb.
func protectedVerb(a *protected.Attribute) []verbEntry {
	if a.Spec.RoleRef != nil {
		return nil
	}
	verb := a.Verb(a.Spec.AttributeName)
	e := verbEntry{Verb: verb.String(), Excluded: true, Protects: a.String()}
	if domain, ok := strings.CutSuffix(a.Spec.AttributeName, "/*"); ok {
		e.Verb = permission.Verb{Permission: verb.Permission}.String() + "(<key of " + domain + ">)"
	}
	for _, r := range a.Spec.Resources {
		e.Resources = append(e.Resources, kinds.Qualified(r.Group, r.Resource))
	}
	if len(e.Resources) == 0 {
		e.Resources = []string{"*"}
	}
	return []verbEntry{e}
}

// attributePattern matches the path of a label or an annotation, of an object or of a template.
var attributePattern = regexp.MustCompile(`^\.(.*\.)?metadata\.(labels|annotations)\[(.*)\]$`)

// protectedNotes returns a line for each label and annotation that dry runs change and that a
// protected attribute protects. A role with permissions does not allow such a change.
func (s *options) protectedNotes(ctx context.Context, runs []*changes.DryRun) []string {
	var out []string
	known := map[string][]protected.Attribute{}
	for _, r := range runs {
		for _, c := range r.Changes {
			path := r.Field(c)
			m := attributePattern.FindStringSubmatch(path)
			if m == nil {
				continue
			}
			all, read := known[r.Namespace]
			if !read {
				var err error
				if all, err = s.protectedAttributes(ctx, r.Namespace); err != nil {
					printing.Fprintf(s.streams.ErrOut, "warning: whether a label or annotation is protected is not known: %v\n", err)
				}
				known[r.Namespace] = all
			}
			for _, a := range all {
				resource := v1alpha1.GroupResource{Group: r.Kind.Resource.Group, Resource: r.Kind.Resource.Resource}
				if m[1] != "" {
					resource = v1alpha1.GroupResource{} // a template, whose labels end up in other resources
				}
				if note := protectedNote(&a, m[2], strings.Trim(m[3], `"`), resource); note != "" {
					out = append(out, path+note)
				}
			}
		}
	}
	return out
}

// protectedNote returns the end of a line about a label or annotation that the attribute protects, or "".
// An empty resource matches all resources.
func protectedNote(a *protected.Attribute, field, key string, resource v1alpha1.GroupResource) string {
	attribute := a.Spec
	if part, _ := a.Field(); part != field || !protected.Includes(attribute.AttributeName, key) ||
		resource.Resource != "" && !a.Selects(resource) {
		return ""
	}
	needs := "the verb " + a.Verb(key).String()
	if attribute.RoleRef != nil {
		needs = fmt.Sprintf("to be bound to %s %q", attribute.RoleRef.Kind, attribute.RoleRef.Name)
	}
	what := " is protected by "
	if len(attribute.ProtectedValues) > 0 {
		what = " has values that are protected by "
	}
	return what + a.String() + ": the role is not sufficient, the subject also needs " + needs
}

// markProtected marks the field that the server refuses because it is protected. The permissions of
// fields do not show that.
func markProtected(j *access.Evaluation) {
	refused := j.Server.Denial
	if refused == nil || refused.Protected == "" {
		return
	}
	var needs []string
	for _, r := range refused.Roles {
		needs = append(needs, fmt.Sprintf("%s %q", r.Kind, r.Name))
	}
	needs = append(needs, refused.Verbs...)
	why := "a protected " + refused.Protected + ": " + refused.Why
	if len(needs) > 0 {
		why = "a protected " + refused.Protected + ": also needs " + strings.Join(needs, " or ")
	}
	index := slices.IndexFunc(j.Fields, func(f access.Field) bool { return f.Path == refused.Field })
	if index < 0 {
		j.Fields = append(j.Fields, access.Field{Path: refused.Field, Verbs: []string{}, Why: why})
		return
	}
	f := &j.Fields[index]
	f.Allowed, f.Verb, f.By, f.Why = false, "", "", why
}
