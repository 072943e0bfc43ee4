// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/roles"
)

// remedy describes how an administrator can allow a refused request.
type remedy struct {
	Denial *denial.Denial `json:"denial"`
	// Verb is the narrowest verb that would allow the request.
	Verb string `json:"verb,omitempty"`
	// Objects are the role and the binding that grant Verb.
	Objects []any `json:"objects,omitempty"`
	// Commands are kubectl commands that create the same role and binding as Objects.
	Commands []string `json:"commands,omitempty"`
	// Fields are the paths of all fields that Verb covers.
	Fields []string `json:"fields,omitempty"`
	// Advice is a text on what to do instead, if the refusal names no verb. Then the other fields
	// except Denial are empty.
	Advice string `json:"advice,omitempty"`
}

// maxDenialText is the maximum length in bytes of the text that is searched for a refusal.
const maxDenialText = 1 << 20

func newExplainDenial(s *options) *cobra.Command {
	var format output.Flag
	var id, subresource string
	cmd := &cobra.Command{
		Use:   "explain-denial [FILE]",
		Short: "Find the smallest rule that lifts a refusal",
		Long: `Find the smallest rule that allows a refused request.

The command reads the message that kubectl or a client printed, from standard input or a file.
With --audit-id, the file is an audit log, and the ID names the refused request.

The rule has the one verb that was missing. It is printed as a role and as a command, followed
by what else it allows.`,
		Example: indentExamples(`
			# Why was that refused?
			kubectl --as=system:serviceaccount:default:supersafe scale deployment web --replicas=9 2>&1 | kubectl granular explain-denial

			# A refusal in a file
			kubectl granular explain-denial refusal.txt

			# From the audit log
			kubectl granular explain-denial audit.log --audit-id 3f7c1f4b-7a3f-4a39-9a5c-0d7f5f6a1a11`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			refused, err := s.denial(args, id)
			if err != nil {
				return err
			}
			if subresource != "" {
				refused.Subresource = subresource
			}
			found, err := s.remedy(refused)
			if err != nil {
				return err
			}
			return format.Print(s.streams.Out, found, func(out io.Writer) error { return found.print(out) })
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringVar(&id, "audit-id", "", "the ID of the refused request; then FILE is an audit log")
	cmd.Flags().StringVar(&subresource, "subresource", "", "the subresource of the write, such as status or scale, if the text does not name it")
	return cmd
}

func (s *options) denial(args []string, id string) (*denial.Denial, error) {
	in := s.streams.In
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	if id != "" {
		return denial.FromAudit(in, id)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxDenialText))
	if err != nil {
		return nil, err
	}
	return denial.Parse(string(text))
}

// remedy returns how to allow a refused request: the smallest role, or advice if the refusal names
// no verb.
func (s *options) remedy(refused *denial.Denial) (*remedy, error) {
	out := &remedy{Denial: refused}
	if len(refused.Verbs) == 0 {
		out.Advice = advice(refused)
		return out, nil
	}
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	k, err := c.Lookup(refused.Resource, "")
	if err != nil {
		return nil, err
	}
	out.Verb = refused.Verbs[0]
	verb, err := permission.Parse(out.Verb)
	if err != nil {
		return nil, fmt.Errorf("%q is not valid: %w", out.Verb, err)
	}
	if _, status := k.Subresource("status"); refused.Subresource == "" && status && strings.HasPrefix(refused.Field, ".status") {
		refused.Subresource = "status"
	}
	resource := k.Resource.Resource
	if refused.Subresource != "" {
		resource += "/" + refused.Subresource
	}
	tree, err := c.TreeOf(k, refused.Subresource)
	if err != nil {
		return nil, err
	}
	for _, info := range tree.Permissions() {
		if info.Name == verb.Permission {
			out.Fields = append(out.Fields, info.Pattern)
		}
	}
	subject, err := roles.ParseSubject("user:" + refused.User)
	if err != nil {
		return nil, err
	}
	grant := roles.Grant{Namespace: refused.Namespace, Rules: []rbacv1.PolicyRule{{APIGroups: []string{k.Resource.Group}, Resources: []string{resource}, Verbs: []string{out.Verb}}}}
	if refused.Name != "" {
		grant.Rules[0].ResourceNames = []string{refused.Name}
	}
	name := roles.NameOf(k.Resource.Resource, refused.Name)
	for _, o := range grant.Objects(name, []rbacv1.Subject{subject}) {
		object, err := toUnstructured(o)
		if err != nil {
			return nil, err
		}
		out.Objects = append(out.Objects, object)
	}
	out.Commands = commandsOf(&grant, name, k, refused, subject)
	return out, nil
}

// advice returns what to do about a refusal that names no verb.
func advice(d *denial.Denial) string {
	if d.Ordinary != "" {
		return fmt.Sprintf("%s holds neither %s nor granular on the resource, so no field was authorized. The needed verbs depend on the change:\nkubectl granular role --subject %s -- kubectl ...", d.User, d.Ordinary, shellQuoted("user:"+d.User))
	}
	return d.Why + ". No permission verb allows this change; it needs the verb update or patch."
}

// commandsOf returns commands that create the role and the binding.
func commandsOf(g *roles.Grant, name string, k *kinds.Kind, d *denial.Denial, subject rbacv1.Subject) []string {
	rule := g.Rules[0]
	resource := k.String()
	if d.Subresource != "" {
		resource += "/" + d.Subresource
	}
	kind, where := "clusterrole", ""
	if g.Namespace != "" {
		kind, where = "role", " -n "+shellQuoted(g.Namespace)
	}
	role := fmt.Sprintf("kubectl create %s %s%s --verb=%s --resource=%s", kind, shellQuoted(name), where, shellQuoted(rule.Verbs[0]), shellQuoted(resource))
	if d.Name != "" {
		role += " --resource-name=" + shellQuoted(d.Name)
	}
	who := "--user=" + shellQuoted(subject.Name)
	if subject.Kind == rbacv1.ServiceAccountKind {
		who = "--serviceaccount=" + shellQuoted(subject.Namespace+":"+subject.Name)
	}
	return []string{role, fmt.Sprintf("kubectl create %sbinding %s%s --%s=%s %s", kind, shellQuoted(name), where, kind, shellQuoted(name), who)}
}

// shellQuoted quotes an argument for a shell.
func shellQuoted(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=+,") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func (r *remedy) print(out io.Writer) error {
	d := r.Denial
	if r.Advice != "" {
		_, err := fmt.Fprintln(out, r.Advice)
		return err
	}
	if len(r.Objects) == 0 {
		return errors.New("no rule to add was found that would allow the request")
	}
	field := d.Field
	if field == "" {
		field = "a field"
	}
	fmt.Fprintf(out, "%s may not change %s of %s %q. The verb %s is missing.\n", d.User, field, d.Resource, d.Name, r.Verb)
	if len(d.Verbs) > 1 {
		fmt.Fprintf(out, "%s would be sufficient too, but covers more fields.\n", d.Verbs[len(d.Verbs)-1])
	}
	fmt.Fprintln(out, "\nAs a command:")
	for _, c := range r.Commands {
		fmt.Fprintln(out, "    "+c)
	}
	fmt.Fprintln(out, "\nThe verb covers these fields of the object, including everything below them:")
	for _, f := range r.Fields {
		fmt.Fprintln(out, "    "+f)
	}
	fmt.Fprintln(out, "\nAs YAML:")
	return printYAML(out, r.Objects)
}
