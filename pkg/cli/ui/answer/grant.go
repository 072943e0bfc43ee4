// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/pkg/cli/roletest/draft"
	"kube-granular.dev/pkg/cli/ui/model"
)

// Wish is what a page wants to grant: fields, to subjects.
type Wish struct {
	// Subjects are written as for --subject: user:jane.
	Subjects []string `json:"subjects"`
	// Namespace is "" for the whole cluster.
	Namespace string `json:"namespace"`
	Picks     []Pick `json:"picks"`
	// Names are the names of the objects. If it is empty, all objects are meant.
	Names []string `json:"names"`
}

// Pick is a field of a kind.
type Pick struct {
	// Kind is an index of the kinds of the snapshot.
	Kind int    `json:"kind"`
	Path string `json:"path"`
	// Parameter is the parameter of the verb, if it takes one.
	Parameter string `json:"parameter"`
}

// maxPicks is the maximum number of fields of a wish.
const maxPicks = 200

// Grant returns the least role that grants a wish.
func (a *Answers) Grant(wish *Wish) (*model.Remedy, error) {
	s, err := a.current()
	if err != nil {
		return nil, err
	}
	if len(wish.Subjects) == 0 {
		return nil, errors.New("subjects: nobody is chosen")
	}
	if len(wish.Picks) == 0 || len(wish.Picks) > maxPicks {
		return nil, fmt.Errorf("picks: choose between 1 and %d fields", maxPicks)
	}
	subjects, err := roles.ParseSubjects("subjects", wish.Subjects)
	if err != nil {
		return nil, err
	}
	least := &least{snapshot: s.snapshot, grant: roles.Grant{Namespace: wish.Namespace}}
	for _, pick := range wish.Picks {
		if err := least.add(&pick, wish); err != nil {
			return nil, err
		}
	}
	return least.remedy(subjects, wish)
}

// least is the role of a wish while it is made.
type least struct {
	snapshot *model.Snapshot
	grant    roles.Grant
	// allows are the paths of what the verbs cover, and beyond those that nobody asked for.
	allows, beyond []string
	wished         []string
	first          string
}

func (l *least) add(pick *Pick, wish *Wish) error {
	if pick.Kind < 0 || pick.Kind >= len(l.snapshot.Kinds) {
		return fmt.Errorf("picks: the kind %d is not in the snapshot; collect anew", pick.Kind)
	}
	k := &l.snapshot.Kinds[pick.Kind]
	if !k.Namespaced && wish.Namespace != "" {
		return fmt.Errorf("picks: %s has no namespace: choose all namespaces", k.Resource)
	}
	f, covered := find(l.snapshot, k, pick.Path)
	switch {
	case f == nil:
		return fmt.Errorf("picks: %s has no field %s", k.Resource, pick.Path)
	case f.System:
		return fmt.Errorf("picks: %s of %s: only the server writes it", pick.Path, k.Resource)
	case len(f.Cover) == 0:
		return fmt.Errorf("picks: %s of %s: no permission covers it; it needs update or patch", pick.Path, k.Resource)
	}
	index, verb, err := chosen(l.snapshot, f, pick.Parameter)
	if err != nil {
		return fmt.Errorf("picks: %s of %s: %w", pick.Path, k.Resource, err)
	}
	part := 0
	if through := k.Through[firstOf(pick.Path)]; len(through) > 0 {
		part = through[0]
	}
	l.rule(k, k.Parts[part].Name, verb, wish.Names)
	l.first = cmp.Or(l.first, k.Resource)
	prefix := k.Kind + " "
	l.wished = append(l.wished, prefix+withParameter(covered, pick.Parameter))
	for _, path := range pathsOf(l.snapshot, k, index) {
		l.allows = append(l.allows, prefix+withParameter(path, pick.Parameter))
	}
	return nil
}

// chosen returns the least verb of a field that the parameter is for.
func chosen(s *model.Snapshot, f *model.Field, parameter string) (index int, verb string, err error) {
	for _, index := range slices.Backward(f.Cover) {
		v := &s.Verbs[index]
		switch {
		case v.Parameter == "" && parameter == "":
			return index, v.Verb, nil
		case v.Parameter != "" && parameter != "":
			name := strings.TrimPrefix(v.Stem, permission.General+":")
			text := permission.Verb{Permission: name, Parameter: parameter, Parameterized: true}.String()
			if _, err := permission.Parse(text); err != nil {
				return 0, "", fmt.Errorf("parameter: %w", err)
			}
			return index, text, nil
		}
	}
	if parameter != "" {
		return 0, "", errors.New("no verb of the field takes a parameter")
	}
	return 0, "", errors.New("each verb of the field takes a parameter: give one")
}

// rule adds a verb to the rule for a resource.
func (l *least) rule(k *model.Kind, part, verb string, names []string) {
	resource := k.Resource
	if part != "" {
		resource += "/" + part
	}
	i := slices.IndexFunc(l.grant.Rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == k.Group && r.Resources[0] == resource })
	if i < 0 {
		i = len(l.grant.Rules)
		l.grant.Rules = append(l.grant.Rules, rbacv1.PolicyRule{
			APIGroups: []string{k.Group}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{permission.General},
		})
	}
	if r := &l.grant.Rules[i]; !slices.Contains(r.Verbs, verb) {
		r.Verbs = append(r.Verbs, verb)
	}
}

// remedy returns the role as text, with what it allows.
func (l *least) remedy(subjects []rbacv1.Subject, wish *Wish) (*model.Remedy, error) {
	object := ""
	if len(wish.Names) == 1 {
		object = wish.Names[0]
	}
	name := roles.NameFor(roles.NameOf(l.first, object), subjects, l.grant)
	objects, err := roles.Contents(l.grant.Objects(name, subjects))
	if err != nil {
		return nil, err
	}
	text, err := yamlOf(objects)
	if err != nil {
		return nil, err
	}
	out := &model.Remedy{Name: name, YAML: text, Commands: []string{"kubectl apply -f - <<'EOF'\n" + text + "EOF"}, Allows: unique(l.allows)}
	for _, path := range out.Allows {
		if !slices.ContainsFunc(l.wished, func(wished string) bool { return within(path, wished) }) {
			out.Beyond = append(out.Beyond, path)
		}
	}
	if len(wish.Names) == 0 {
		where := "in namespace " + wish.Namespace
		if wish.Namespace == "" {
			where = "in all namespaces"
		}
		out.Beyond = append(out.Beyond, "the same fields of every other object "+where)
	}
	out.Test, err = draft.OfGrant(l.grant, name, subjects[0], l.allows)
	return out, err
}

// within reports whether a path is another one, or below it.
func within(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func unique(texts []string) []string {
	out := slices.Clone(texts)
	slices.Sort(out)
	return slices.Compact(out)
}
