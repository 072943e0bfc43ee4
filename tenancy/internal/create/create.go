// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package create implements the kubectl plugin that creates an LNamespace from flags.
package create

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/build"
	"kube-granular.dev/tenancy/internal/kubectl"
)

// connection are the names of the flags that kubectl create lns passes on to kubectl, to select
// the cluster and the user.
var connection = []string{"kubeconfig", "context", "cluster", "user-name", "server", "token", "as"}

// NewCommand returns the command kubectl create lns, which runs the program kubectl at path. In
// this command, the flag --user adds a member of the tenant. So the flag that kubectl itself calls
// --user, which selects a user entry of the kubeconfig, is called --user-name here.
func NewCommand(path string) *cobra.Command {
	var users, managers, sudoers, allow []string
	var billing, output string
	var dry bool
	global := map[string]*string{}
	cmd := &cobra.Command{
		Use:   "kubectl-create-lns NAME",
		Short: "Create an LNamespace, which is a tenant with a namespace, members and an account that pays",
		Example: `  # A tenant with a user, a group of managers and a service account that may use sudo
  kubectl create lns team --user ada --manager group:leads --sudoer serviceaccount:ci:deployer --billing 4711

  # A tenant for a workshop, in which nobody has rights after eight hours
  kubectl create lns workshop --user group:guests --manager ada --until 8h`,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl create lns"},
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			until, err := Until(cmd.Flags(), time.Now())
			if err == nil && until != "" && len(users)+len(managers)+len(sudoers) == 0 {
				err = errors.New("--until: no flag names anybody")
			}
			if err != nil {
				return kubectl.UsageError(cmd, err)
			}
			lns := v1alpha1.LNamespace{
				TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace"},
				ObjectMeta: metav1.ObjectMeta{Name: args[0]},
				Spec:       v1alpha1.LNamespaceSpec{Billing: v1alpha1.Billing{Account: billing}},
			}
			texts := map[string][]string{"users": users, "managers": managers, "sudoers": sudoers}
			for field, list := range lns.Spec.Lists() {
				for _, text := range texts[field] {
					subject, err := Subject(text)
					if err != nil {
						return kubectl.UsageError(cmd, err)
					}
					subject.Until = until
					*list = append(*list, subject)
				}
			}
			for _, a := range allow {
				lns.Spec.Sudo.Allow = append(lns.Spec.Sudo.Allow, v1alpha1.SudoAllowance(a))
			}
			text, err := manifest(lns)
			if err != nil {
				return err
			}
			if dry {
				return printing.Fprintf(cmd.OutOrStdout(), "%s", printing.Escaped(text))
			}
			var flags []string
			for name, value := range global {
				if *value != "" {
					flags = append(flags, "--"+strings.TrimSuffix(name, "-name")+"="+*value)
				}
			}
			flags = append(flags, "create", "--filename", "-")
			if output != "" {
				flags = append(flags, "--output", output)
			}
			return run(cmd.Context(), path, text, cmd.OutOrStdout(), cmd.ErrOrStderr(), flags)
		},
	}
	build.AddVersion(cmd)
	kubectl.ExplainUsage(cmd)
	AddUntil(cmd, "the people named by the other flags lose what the lists grant")
	fs := cmd.Flags()
	fs.StringArrayVar(&users, "user", nil, "member who may edit resources in the namespace: NAME, group:NAME or serviceaccount:NAMESPACE:NAME; can be repeated")
	fs.StringArrayVar(&managers, "manager", nil, "member who may change the LNamespace, in the same format as --user; can be repeated")
	fs.StringArrayVar(&sudoers, "sudoer", nil, "member who may use sudo, in the same format as --user; can be repeated")
	fs.StringSliceVar(&allow, "allow", nil,
		"changes that sudoers may make with sudo only if they are listed here: Lists, Delete, and by administrators Quotas, Namespace")
	fs.StringVar(&billing, "billing", "", "account that pays")
	fs.StringVarP(&output, "output", "o", "", "output format, as for kubectl create")
	fs.BoolVar(&dry, "dry-run", false, "print the LNamespace and create nothing")
	for _, name := range connection {
		global[name] = fs.String(name, "", "same as the flag of kubectl")
	}
	return cmd
}

// Subject parses a member of a tenant in one of the formats NAME and user:NAME (both for a user),
// group:NAME and serviceaccount:NAMESPACE:NAME.
func Subject(text string) (v1alpha1.Subject, error) {
	kind, rest, ok := strings.Cut(text, ":")
	switch {
	case ok && kind == "group":
		return v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: rest}, nil
	case ok && kind == "user":
		return v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: rest}, nil
	case ok && kind == "serviceaccount":
		namespace, name, ok := strings.Cut(rest, ":")
		if !ok {
			return v1alpha1.Subject{}, fmt.Errorf("%q: want serviceaccount:NAMESPACE:NAME", text)
		}
		return v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: namespace, Name: name}, nil
	}
	return v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: text}, nil
}

// manifest returns the LNamespace as YAML, without its status, which the controller writes.
func manifest(lns v1alpha1.LNamespace) ([]byte, error) {
	text, err := json.Marshal(lns)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	return printing.MarshalYAML(object)
}

func run(ctx context.Context, path string, text []byte, out, errOut io.Writer, args []string) error {
	code, err := kubectl.Kubectl{Path: path}.Run(ctx, bytes.NewReader(text), out, errOut, args...)
	if err == nil && code != 0 {
		err = errors.New("the LNamespace was not created")
	}
	return err
}
