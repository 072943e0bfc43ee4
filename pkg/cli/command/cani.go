// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/output"
)

func newCanI(s *options) *cobra.Command {
	var format output.Flag
	var from changeFlags
	var list, quiet bool
	cmd := &cobra.Command{
		Use:   "can-i (-f FILE | RESOURCE/NAME --patch PATCH | -- kubectl ARGS... | RESOURCE/NAME --list)",
		Short: "Show whether a change is allowed, field by field",
		Long: `Show for each field of a change whether it is allowed.

The command tries the change as a dry run, so it writes nothing. For each changed field, it
lists the verbs that cover the field, whether one of them is held, and by which binding.
The last line is the answer of the server itself.

With --as, the question is about another user. The command finds out the effect of the change
with your own rights, and asks as the other user what is allowed.

The exit code is 0 only if the whole change is allowed.`,
		Example: indentExamples(`
			# May I apply this file?
			kubectl granular can-i -f web.yaml

			# May supersafe change a label, and the number of replicas? (no)
			kubectl granular can-i deployments/web --as system:serviceaccount:default:supersafe -p '{"metadata":{"labels":{"super.safe.com/level":"low"}},"spec":{"replicas":7}}'

			# May supersafe run this command?
			kubectl granular can-i --as system:serviceaccount:default:supersafe -- kubectl label deployment web super.safe.com/level=low

			# What may supersafe change in this deployment at all?
			kubectl granular can-i deployments/web --list --as system:serviceaccount:default:supersafe`),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.objects(cmd, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			if list && quiet {
				return errors.New("--quiet and --list can't be combined")
			}
			if list {
				return s.canIList(cmd.Context(), args, from.subresource, &format)
			}
			judgements, err := s.evaluate(cmd, &from, args)
			if err != nil {
				return err
			}
			if !quiet {
				if err := format.Print(s.streams.Out, judgements, func(out io.Writer) error { return evaluationsTable(out, judgements, format.Wide()) }); err != nil {
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
	from.addTo(cmd)
	format.AddTo(cmd)
	cmd.Flags().BoolVar(&list, "list", false, "list every permission of RESOURCE/NAME, and whether it is held")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing, and answer only by the exit code")
	return cmd
}

// evaluate evaluates each request that the flags and arguments describe.
func (s *options) evaluate(cmd *cobra.Command, from *changeFlags, args []string) ([]*access.Evaluation, error) {
	changed, err := from.requests(cmd, s, args)
	if err != nil {
		return nil, err
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
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
	for _, request := range changed.requests {
		rehearsed, err := changed.rehearser.Run(cmd.Context(), request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", request.String(), err)
		}
		judgement, err := reviews.Evaluate(cmd.Context(), rehearsed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", request.String(), err)
		}
		if judgement.Server, err = askServer(cmd.Context(), client, request); err != nil {
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
		return &access.ServerAnswer{Message: err.Error()}, nil
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

func evaluationsTable(out io.Writer, all []*access.Evaluation, wide bool) error {
	for i, j := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s %s", j.Verb, j.Object)
		switch {
		case j.Ordinary:
			fmt.Fprintf(out, ": %s is held%s\n", j.Verb, heldBySuffix(j.By))
		case j.Missing != "":
			fmt.Fprintf(out, ": neither %s nor granular is held; without granular no field is authorized\n", j.Verb)
		default:
			fmt.Fprintf(out, ": field by field; granular is held%s\n", heldBySuffix(j.By))
		}
		header := []string{"FIELD", "ALLOWED", "BY", "NEEDS ONE OF"}
		var rows [][]string
		for _, f := range j.Fields {
			row := []string{f.Path, yesNo(f.Allowed), orNone(f.Verb), strings.Join(f.Verbs, " ")}
			if f.Why != "" {
				row[3] = strings.TrimSpace(row[3] + " (" + f.Why + ")")
			}
			if wide {
				row = append(row, strings.TrimPrefix(f.By, "RBAC: "))
			}
			rows = append(rows, row)
		}
		if wide {
			header = append(header, "BINDING")
		}
		if len(rows) == 0 {
			fmt.Fprintln(out, "The request changes nothing.")
		} else if err := output.Table(out, header, rows); err != nil {
			return err
		}
		if !j.Sure {
			fmt.Fprintln(out, "No dry run was possible, because you lack the permissions. These are the fields that the request itself names.")
		}
		switch {
		case j.Server == nil:
		case j.Server.Allowed:
			fmt.Fprintln(out, "The server allows it.")
		default:
			fmt.Fprintln(out, "The server refuses it:", j.Server.Message)
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

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

// canIList prints which fields of an object the caller may change.
func (s *options) canIList(ctx context.Context, args []string, subresource string, format *output.Flag) error {
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
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return err
	}
	client, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return err
	}
	listed, err := access.List(ctx, client, k, namespace, name, subresource)
	if err != nil {
		return err
	}
	return format.Print(s.streams.Out, listed, func(out io.Writer) error { return listTable(out, listed, format.Wide()) })
}

func listTable(out io.Writer, listed *access.FieldList, wide bool) error {
	header := []string{"RESOURCE", "FIELD", "VERB", "ALLOWED", "BY"}
	if wide {
		header = append(header, "BINDING")
	}
	var rows [][]string
	for _, i := range listed.Items {
		row := []string{i.Resource, i.Field, i.Verb, i.Allowed, orNone(i.By)}
		if wide {
			row = append(row, strings.TrimPrefix(i.Reason, "RBAC: "))
		}
		rows = append(rows, row)
	}
	if err := output.Table(out, header, rows); err != nil {
		return err
	}
	if listed.Incomplete != "" {
		fmt.Fprintln(out, "\nNot all parameters are known:", listed.Incomplete)
	}
	return nil
}
