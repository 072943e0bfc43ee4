// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/included"
)

func newCanI(s *options) *cobra.Command {
	var format output.Flag
	var source changeFlags
	var list, all, quiet bool
	cmd := &cobra.Command{
		Use:   "can-i (-f FILE | RESOURCE/NAME --patch PATCH | -- kubectl ARGS... | RESOURCE/NAME --list | readmetadata RESOURCE[/NAME])",
		Short: "Show whether a change is allowed, field by field",
		Long: `Show for each field of a change whether it is allowed.

The command tries the change as a dry run, so it writes nothing. For each changed field, it
lists the verbs that cover the field, whether one of them is held, and by which binding.
The last line is the answer of the server itself.

With --as, the question is about another user. The command finds out the effect of the change
with your own rights, and asks as the other user what is allowed.

With readmetadata, the question is what a caller reads that asks for metadata, as kubectl get does:
whole objects, the metadata alone, or nothing.

The exit code is 0 only if the whole change, or the read, is allowed.`,
		Example: indentExamples(`
			# May I apply this file?
			kubectl granular can-i -f web.yaml

			# May supersafe change a label, and the number of replicas? (no)
			kubectl granular can-i deployments/web --as system:serviceaccount:default:supersafe -p '{"metadata":{"labels":{"super.safe.com/level":"low"}},"spec":{"replicas":7}}'

			# May supersafe run this command?
			kubectl granular can-i --as system:serviceaccount:default:supersafe -- kubectl label deployment web super.safe.com/level=low

			# What may supersafe change in this deployment at all?
			kubectl granular can-i deployments/web --list --as system:serviceaccount:default:supersafe

			# May supersafe list Secrets without their data? (no)
			kubectl granular can-i readmetadata secrets --as system:serviceaccount:default:supersafe

			# And what not, with the verb that each field needs?
			kubectl granular can-i deployments/web --list --all --as system:serviceaccount:default:supersafe`),
		ValidArgsFunction: s.completeObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			if list && quiet {
				return errors.New("--quiet and --list can't be combined")
			}
			if all && !list {
				return errors.New("--all needs --list")
			}
			if len(args) == 2 && args[0] == included.MetadataVerb && cmd.ArgsLenAtDash() < 0 {
				if list || source.patch != "" || source.subresource != "" || len(source.files.Filenames) > 0 {
					return fmt.Errorf("%s can't be combined with --list or a change", included.MetadataVerb)
				}
				return s.canIReadMetadata(cmd.Context(), args[1], quiet, &format)
			}
			if list {
				return s.canIList(cmd.Context(), args, source.subresource, all, &format)
			}
			judgements, err := s.evaluate(cmd, &source, args)
			if err != nil {
				return err
			}
			if !quiet {
				if err := format.Print(s.streams.Out, judgements,
					func(page *printing.Page) error { return evaluationsTable(page, judgements) }); err != nil {
					return err
				}
			}
			for _, j := range judgements {
				if !j.Allowed || j.Server != nil && !j.Server.Allowed {
					return ErrNo
				}
			}
			return nil
		},
	}
	source.addTo(cmd)
	format.AddTo(cmd)
	cmd.Flags().BoolVar(&list, "list", false, "list the fields of RESOURCE/NAME that may be changed, and by which binding")
	cmd.Flags().BoolVar(&all, "all", false, "with --list: list also the fields that may not be changed, with the verb that each needs")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing, and answer only by the exit code")
	return cmd
}

// evaluate evaluates each request that the flags and arguments describe.
func (s *options) evaluate(cmd *cobra.Command, source *changeFlags, args []string) ([]*access.Evaluation, error) {
	changed, err := source.requests(cmd, s, args)
	if err != nil {
		return nil, err
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return changed.evaluate(cmd.Context(), config)
}

// evaluate evaluates the requests for the user of a configuration.
func (r *changeRequests) evaluate(ctx context.Context, config *rest.Config) ([]*access.Evaluation, error) {
	asking, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := changes.NewClient(config)
	if err != nil {
		return nil, err
	}
	reviews := access.NewReviews(asking)
	var out []*access.Evaluation
	for _, request := range r.requests {
		rehearsed, err := r.rehearser.Run(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", request.String(), err)
		}
		judgement, err := reviews.Evaluate(ctx, rehearsed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", request.String(), err)
		}
		if judgement.Server, err = askServer(ctx, client, request); err != nil {
			return nil, fmt.Errorf("%s: %w", request.String(), err)
		}
		applyServerAnswer(judgement)
		out = append(out, judgement)
	}
	return out, nil
}

// askServer sends a request as a dry run with the credentials of client, and returns whether the
// server allows it. Errors other than Forbidden are returned as errors.
func askServer(ctx context.Context, client changes.Sender, request changes.Request) (*access.ServerAnswer, error) {
	_, err := changes.Send(ctx, client, request)
	switch {
	case err == nil:
		return &access.ServerAnswer{Allowed: true}, nil
	case apierrors.IsForbidden(err):
		refused, _ := denial.FromError(err) // nil if unknown
		return &access.ServerAnswer{Message: err.Error(), Denial: refused}, nil
	}
	return nil, err
}

// applyServerAnswer lets the server's answer take precedence over an evaluation. The evaluation may
// be wrong, because the plugin can't always distinguish the changes of webhooks from those of the
// caller, and does not know the parameters that the server computes.
func applyServerAnswer(j *access.Evaluation) {
	if !j.Server.Allowed {
		markProtected(j)
	}
	if j.Server.Allowed == j.Allowed {
		return
	}
	for i := range j.Fields {
		if f := &j.Fields[i]; j.Server.Allowed && !f.Allowed {
			f.Allowed, f.Why = true, "the server allows it: it is not a change of the caller, or the server computes the parameter of the verb"
		}
	}
	j.Allowed = j.Server.Allowed
}

func evaluationsTable(out *printing.Page, all []*access.Evaluation) error {
	for i, j := range all {
		if i > 0 {
			printing.Fprintf(out, "\n")
		}
		printing.Fprintf(out, "%s %s", j.Verb, j.Object)
		switch {
		case j.Ordinary:
			printing.Fprintf(out, ": %s is held%s\n", j.Verb, heldBySuffix(j.By))
		case j.Missing != "":
			printing.Fprintf(out, ": neither %s nor granular is held; without granular no field is authorized\n", j.Verb)
		default:
			printing.Fprintf(out, ": field by field; granular is held%s\n", heldBySuffix(j.By))
		}
		header := []string{"FIELD", "ALLOWED", "BY, OR NEEDS ONE OF"}
		if out.Wide() {
			header = []string{"FIELD", "ALLOWED", "BY", "NEEDS ONE OF", "BINDING"}
		}
		var rows [][]string
		for _, f := range j.Fields {
			// The narrowest verb comes first, as in the message of the server.
			verbs := slices.Clone(f.Verbs)
			slices.Reverse(verbs)
			needs := strings.Join(verbs, " ")
			row := []string{f.Path, yesNo(f.Allowed)}
			switch {
			case out.Wide():
				row = append(row, orNone(f.Verb), needs, strings.TrimPrefix(f.By, "RBAC: "))
			case f.Allowed:
				row = append(row, orNone(f.Verb))
			default:
				row = append(row, orNone(needs))
			}
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			printing.Fprintf(out, "The request changes nothing.\n")
		} else if err := out.Table(header, rows); err != nil {
			return err
		}
		for _, f := range j.Fields {
			if f.Why != "" {
				printing.Fprintf(out, "Note on %s: %s\n", f.Path, f.Why)
			}
		}
		if !j.Sure {
			printing.Fprintf(out, "No dry run was possible, because you lack the permissions. These are the fields that the request itself names.\n")
		}
		switch {
		case j.Server == nil:
		case j.Server.Allowed:
			printing.Fprintf(out, "The server allows it.\n")
		default:
			printing.Fprintf(out, "The server refuses it: %s\n", j.Server.Message)
		}
	}
	return nil
}

func heldBySuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + strings.TrimPrefix(reason, "RBAC: ")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orNone(s string) string { return cmp.Or(s, "<none>") }

// canIList prints which fields of an object the caller may change.
func (s *options) canIList(ctx context.Context, args []string, subresource string, all bool, format *output.Flag) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	k, name, err := findObject(c, args)
	if err != nil {
		return err
	}
	if _, err := c.TreeOf(k, subresource); err != nil {
		return fmt.Errorf("--subresource: %w", err)
	}
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	if !k.Namespaced {
		namespace = ""
	}
	client, err := connect(s.flags.ToRESTConfig, authorizationclient.NewForConfig)
	if err != nil {
		return err
	}
	listed, err := access.List(ctx, client, k, namespace, name, subresource)
	if err != nil {
		return err
	}
	if c.ReadEntries() != nil {
		listed.WithoutEntries()
	}
	return format.Print(s.streams.Out, listed, func(page *printing.Page) error { return listTable(page, listed, all) })
}

// listTable prints the fields that the caller may change, or with all every field.
func listTable(page *printing.Page, listed *access.FieldList, all bool) error {
	header := []string{"RESOURCE", "FIELD", "ALLOWED", "BY", "BINDING"}
	if all {
		header = []string{"RESOURCE", "FIELD", "ALLOWED", "BY", "NEEDS", "BINDING"}
	}
	var rows [][]string
	for _, i := range listed.Items {
		switch row := []string{i.Resource, i.Field, i.Allowed, orNone(i.By)}; {
		case all:
			rows = append(rows, append(row, i.Verb, bindingOf(i.Reason)))
		case i.Allowed != access.No:
			rows = append(rows, append(row, bindingOf(i.Reason)))
		}
	}
	if len(rows) == 0 {
		printing.Fprintf(page, "No field may be changed. --all lists the verb that each field needs.\n")
	} else if err := page.Grouped(1, header, rows); err != nil {
		return err
	}
	if listed.Incomplete != "" {
		printing.Fprintf(page, "\nNot all parameters are known: %s\n", listed.Incomplete)
	}
	return nil
}

// bindingOf returns the binding that RBAC names as its reason, or the reason of another authorizer.
func bindingOf(reason string) string {
	return strings.TrimPrefix(strings.TrimPrefix(reason, "RBAC: "), "allowed by ")
}
