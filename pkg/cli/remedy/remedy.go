// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package remedy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
)

// Remedy describes how an administrator can allow a refused request.
type Remedy struct {
	Denial *denial.Denial `json:"denial"`
	// Verb is the narrowest verb that would allow the request.
	Verb string `json:"verb,omitempty"`
	// Together are the verbs that are needed instead of Verb alone.
	Together []string `json:"together,omitempty"`
	// Role is the role that the caller must be bound to, if no verb would allow the request.
	Role *denial.Role `json:"role,omitempty"`
	// Objects are the role and the binding that grant Verb, or the binding to Role.
	Objects []any `json:"objects,omitempty"`
	// Commands are kubectl commands that create the same role and binding as Objects.
	Commands []string `json:"commands,omitempty"`
	// Fields are the paths of all fields that Verb or Together covers. They are not known if the server
	// of the context publishes no permissions.
	Fields []string `json:"fields,omitempty"`
	// Advice is a text on what to do instead, if no role with a single verb would help. Then the
	// other fields except Denial are empty.
	Advice printing.Escaped `json:"advice,omitempty"`

	// Name is that of the role and the binding, and Grant and Subject are what they consist of. Grant has no
	// rules if the remedy is only a binding.
	Name    string         `json:"-"`
	Grant   roles.Grant    `json:"-"`
	Subject rbacv1.Subject `json:"-"`
}

// Kinds are the kinds of the server of the request.
type Kinds interface {
	Lookup(name, version string) (*kinds.Kind, error)
	TreeOf(k *kinds.Kind, subresource string) (*schema.Tree, error)
}

// For returns how to allow a refused request: the smallest role or binding, or advice. known may be nil; then
// Fields are not known.
func For(refused *denial.Denial, known Kinds) (*Remedy, error) {
	out := &Remedy{Denial: refused}
	if out.Advice = refused.Advice(Quoted); out.Advice != "" {
		return out, nil
	}
	subject, err := roles.ParseSubject("user:" + refused.User)
	if err != nil {
		return nil, err
	}
	if len(refused.Roles) > 0 {
		return out, out.bind(refused, subject)
	}
	out.Verb = refused.Ordinary
	if refused.Field != "" || len(refused.Verbs) > 0 {
		out.Verb, out.Together = refused.Verbs[0], refused.Together
		if refused.Protected == "" && known != nil {
			if err := out.cover(known); err != nil && !errors.Is(err, kinds.ErrNoPermissions) {
				return nil, err
			}
		}
	}
	groupResource := kubeschema.ParseGroupResource(refused.Resource)
	resource := groupResource.Resource
	if slices.ContainsFunc(out.verbs(), func(verb string) bool { return roles.IsPattern(verb, groupResource.Group, resource) }) {
		advice := printing.Sprintf("%s asked for %s of %s, which no server has. No role is suggested: in a rule, * stands for everything.",
			refused.User, strings.Join(out.verbs(), " and "), refused.Resource)
		return &Remedy{Denial: refused, Advice: advice}, nil
	}
	if refused.Subresource != "" {
		resource += "/" + refused.Subresource
	}
	grant := roles.Grant{Namespace: refused.Namespace,
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{groupResource.Group}, Resources: []string{resource}, Verbs: out.verbs()}}}
	if refused.Name != "" {
		grant.Rules[0].ResourceNames = []string{refused.Name}
	}
	subjects := []rbacv1.Subject{subject}
	name := roles.NameFor(roles.NameOf(groupResource.Resource, refused.Name), subjects, grant)
	out.Name, out.Grant, out.Subject = name, grant, subject
	out.Commands = commandsOf(&grant, name, refused, subject)
	out.Objects, err = roles.Contents(grant.Objects(name, subjects))
	return out, err
}

// verbs returns the verbs that would allow the request.
func (r *Remedy) verbs() []string {
	if len(r.Together) > 0 {
		return r.Together
	}
	return []string{r.Verb}
}

// cover sets the fields that the verb of a remedy covers. It also sets the subresource of the
// refusal if the text does not name it.
func (r *Remedy) cover(c Kinds) error {
	k, err := c.Lookup(r.Denial.Resource, "")
	if err != nil {
		return err
	}
	if _, status := k.Subresource("status"); r.Denial.Subresource == "" && status && strings.HasPrefix(r.Denial.Field, ".status") {
		r.Denial.Subresource = "status"
	}
	tree, err := c.TreeOf(k, r.Denial.Subresource)
	if err != nil {
		return err
	}
	for _, text := range r.verbs() {
		verb, err := permission.Parse(text)
		if err != nil {
			return fmt.Errorf("%q is not valid: %w", text, err)
		}
		for _, info := range tree.Permissions() {
			if info.Name == verb.Permission {
				r.Fields = append(r.Fields, kinds.Covered(info, verb.Parameter))
			}
		}
	}
	return nil
}

// bind sets the remedy for a protected label or annotation that requires a role: the binding.
func (r *Remedy) bind(refused *denial.Denial, subject rbacv1.Subject) error {
	r.Role = &refused.Roles[0]
	subjects := []rbacv1.Subject{subject}
	grant := roles.Grant{Namespace: refused.ProtectedIn}
	name := roles.NameFor(r.Role.Name, subjects, grant)
	r.Name, r.Grant, r.Subject = name, grant, subject
	kind, where, bound := "clusterrole", "", "ClusterRole"
	if grant.Namespace != "" {
		kind, where, bound = "role", " -n "+Quoted(grant.Namespace), r.Role.Kind
	}
	r.Commands = []string{fmt.Sprintf("kubectl create %sbinding %s%s --%s=%s %s", kind, Quoted(name), where,
		strings.ToLower(r.Role.Kind), Quoted(r.Role.Name), whoFlag(subject))}
	binding, err := roles.Content(roles.Binding(name, grant.Namespace, bound, r.Role.Name, subjects))
	r.Objects = []any{binding}
	return err
}

// commandsOf returns commands that create the role and the binding.
func commandsOf(g *roles.Grant, name string, d *denial.Denial, subject rbacv1.Subject) []string {
	rule := g.Rules[0]
	resource := d.Resource
	if d.Subresource != "" {
		resource += "/" + d.Subresource
	}
	kind, where := "clusterrole", ""
	if g.Namespace != "" {
		kind, where = "role", " -n "+Quoted(g.Namespace)
	}
	var verbs []string
	for _, v := range rule.Verbs {
		verbs = append(verbs, "--verb="+Quoted(listed(v)))
	}
	role := fmt.Sprintf("kubectl create %s %s%s %s --resource=%s", kind, Quoted(name), where, strings.Join(verbs, " "),
		Quoted(listed(resource)))
	if len(rule.ResourceNames) > 0 {
		role += " --resource-name=" + Quoted(rule.ResourceNames[0])
	}
	return []string{role, fmt.Sprintf("kubectl create %sbinding %s%s --%s=%s %s", kind, Quoted(name), where, kind, Quoted(name),
		whoFlag(subject))}
}

// listed returns a value of a flag that takes a list with commas, such as --verb, so that the list has this one value.
func listed(value string) string {
	if !strings.ContainsAny(value, ",\"\r\n") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}

// whoFlag returns the flag of kubectl create rolebinding for a subject.
func whoFlag(subject rbacv1.Subject) string {
	if subject.Kind == rbacv1.ServiceAccountKind {
		return "--serviceaccount=" + Quoted(subject.Namespace+":"+subject.Name)
	}
	return "--user=" + Quoted(subject.Name)
}

// Quoted quotes an argument for a shell. Text that is not printable gets the escapes that bash
// and zsh know.
func Quoted(text string) string {
	if escaped := printing.Escape(text); escaped != text {
		return "$'" + strings.ReplaceAll(escaped, "'", `\'`) + "'"
	}
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=+,") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Print prints remedies, with an empty line between two.
func Print(out io.Writer, all []*Remedy) error {
	for i, r := range all {
		if i > 0 {
			printing.Fprintf(out, "\n")
		}
		if err := r.print(out); err != nil {
			return err
		}
	}
	return nil
}

func (r *Remedy) print(out io.Writer) error {
	d := r.Denial
	if r.Advice != "" {
		return printing.Fprintf(out, "%s\n", r.Advice)
	}
	if len(r.Objects) == 0 {
		return errors.New("no rule to add was found that would allow the request")
	}
	object := d.Resource
	if d.Name != "" {
		object += fmt.Sprintf(" %q", d.Name)
	}
	switch {
	case r.Role != nil:
		printing.Fprintf(out, "%s may not change %s of %s, a protected %s. A binding to %s %q is missing.\n", d.User, d.Field, object,
			d.Protected, r.Role.Kind, r.Role.Name)
		if d.ProtectedIn == "" {
			printing.Fprintf(out, "It is protected in the whole cluster, so only a ClusterRoleBinding counts.\n")
		}
	case d.Ordinary != "" && len(d.Verbs) == 0:
		printing.Fprintf(out, "%s may not %s %s. No permission of a field replaces this verb.\n", d.User, d.Ordinary, object)
	case len(r.Together) > 0:
		number := "both"
		if len(r.Together) > 2 {
			number = "all of"
		}
		printing.Fprintf(out, "%s may not change %s of %s. It needs %s %s: one for the old value and one for each new value.\n", d.User,
			cmp.Or(d.Field, "a field"), object, number, strings.Join(r.Together, " and "))
	default:
		printing.Fprintf(out, "%s may not change %s of %s. The verb %s is missing.\n", d.User, cmp.Or(d.Field, "a field"), object, r.Verb)
	}
	if len(d.Verbs) > 1 && d.Protected == "" {
		printing.Fprintf(out, "%s would be sufficient too, but covers more fields.\n", d.Verbs[len(d.Verbs)-1])
	}
	printing.Fprintf(out, "\nAs a command:\n")
	for _, c := range r.Commands {
		printing.Fprintf(out, "    %s\n", c)
	}
	if len(r.Fields) > 0 {
		subject := "The verb covers"
		if len(r.Together) > 0 {
			subject = "The verbs cover"
		}
		printing.Fprintf(out, "\n%s these fields of the object, including everything below them:\n", subject)
		for _, f := range r.Fields {
			printing.Fprintf(out, "    %s\n", f)
		}
	}
	printing.Fprintf(out, "\nAs YAML:\n")
	return printing.YAML(out, r.Objects...)
}
