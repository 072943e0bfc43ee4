// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubectl/pkg/util/term"

	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/ui/answer"
	"kube-granular.dev/pkg/cli/ui/collect"
	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/cli/ui/serve"
	"kube-granular.dev/pkg/cli/ui/snapshot"
	"kube-granular.dev/pkg/cli/ui/web"
)

// uiFlags are the flags of ui.
type uiFlags struct {
	format     output.Flag
	files      []string
	auditLog   string
	everywhere bool
	port       uint16
}

func newUI(s *options) *cobra.Command {
	var o uiFlags
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show who may change what, as a page in the browser",
		Long: `Show who may change what, as a page in the browser.

The page has these views. Fields: the kinds and their fields, the verbs that cover them, and who may
change each. People: what a subject may change, and by which binding, role and rule. Denials: which
requests of an audit log were refused, and the smallest role that lifts each. Tenants, if the cluster has
any: their people, who pays, requests for sudo, and what is left over. "Grant this to" makes the smallest
role for picked fields and people. The page changes nothing in the cluster: it shows roles,
and you apply them.

The command serves the page on this machine alone, and prints an address that works once, for one
browser. It ends with Ctrl-C. With -o html, it writes the page with all data into one file, which
needs no server and no network. Such a file shows your rights to whoever reads it.

The page reads with your own rights. What you may not read is shown as unknown, never as "no". It does
not ask webhooks and other authorizers; for one change, it can ask the server.

With --filename, nothing is read from a cluster: the files have roles, bindings, definitions of custom
resources, protected attributes, delegations and tenants. The kinds of Kubernetes are those of this version.`,
		Example: indentExamples(`
			# Show the page of the cluster, until Ctrl-C
			kubectl granular ui

			# With the refused requests of an audit log, until Ctrl-C
			kubectl granular ui --audit-log audit.log

			# The page as a file, for all namespaces
			kubectl granular ui -A -o html > rights.html

			# A page of files, without a cluster
			kubectl get clusterroles,roles,clusterrolebindings,rolebindings --all-namespaces -o yaml | kubectl granular ui -f - -o html > rights.html`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.format.Validate(); err != nil {
				return err
			}
			return s.ui(cmd.Context(), &o)
		},
	}
	o.format.AddOnly(cmd, "page", "html", "json")
	cmd.Flags().StringSliceVarP(&o.files, "filename", "f", nil, "show what these files have, instead of a cluster; - is standard input")
	cmd.Flags().StringVar(&o.auditLog, "audit-log", "",
		"show the refused requests of this audit log; the page follows the file while it grows")
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "show all namespaces first, instead of that of the context")
	cmd.Flags().Uint16Var(&o.port, "port", 0, "the port on this machine; the default is a free one")
	return cmd
}

// ui collects, and then serves or writes the page.
func (s *options) ui(ctx context.Context, o *uiFlags) error {
	steps := output.NewSteps(s.terminal())
	answers, done, err := s.answers(o, steps)
	if err != nil {
		return err
	}
	found, err := answers.Refresh(ctx)
	steps.Clear()
	if err != nil {
		return err
	}
	done()
	for i := range found.Unknown {
		u := &found.Unknown[i]
		printing.Fprintf(s.streams.ErrOut, "unknown: %s: %s\n", strings.TrimSpace(u.What+" "+u.Of), u.Why)
	}
	switch {
	case o.format.Is("json"):
		return printing.JSON(s.streams.Out, found)
	case o.format.Is("html"):
		return s.writePage(answers, found)
	}
	document, policy, err := web.Page(titleOf(found), nil)
	if err != nil {
		return err
	}
	server, err := serve.Listen(ctx, fmt.Sprint(o.port), document, policy, answers)
	if err != nil {
		return err
	}
	printing.Fprintf(s.streams.Out, "%s\n", server.Address())
	printing.Fprintf(s.streams.ErrOut, "Open this address. It works once, for one browser on this machine. Ctrl-C ends the page.\n")
	return server.Serve(ctx)
}

// writePage writes the page with its data.
func (s *options) writePage(answers *answer.Answers, found *model.Snapshot) error {
	text, err := answers.Snapshot()
	if err != nil {
		return err
	}
	document, _, err := web.Page(titleOf(found), text)
	if err != nil {
		return err
	}
	// The page escapes what others chose when it is drawn, and the data can't end its element.
	return printing.Fprintf(s.streams.Out, "%s", printing.Escaped(document))
}

// titleOf returns the title of the page.
func titleOf(found *model.Snapshot) string {
	return "kube-granular: " + printing.Escape(cmp.Or(found.About.Context, found.About.Cluster))
}

// terminal returns the stream for progress, or nil if nobody sees it.
func (s *options) terminal() io.Writer {
	if (term.TTY{Out: s.streams.ErrOut}).IsTerminalOut() {
		return s.streams.ErrOut
	}
	return nil
}

// answers returns the answers of a page about a cluster or files. done must be called when the first snapshot is
// made: later ones show no progress.
func (s *options) answers(o *uiFlags, steps *output.Steps) (out *answer.Answers, done func(), err error) {
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, nil, err
	}
	out = &answer.Answers{}
	if o.auditLog != "" {
		out.Log = &answer.Log{Name: o.auditLog}
	}
	if len(o.files) > 0 {
		out.Collect, err = s.collectFiles(o.files, namespace)
		return out, func() {}, err
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	authority, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	known, err := s.cluster()
	if err != nil {
		return nil, nil, err
	}
	raw, err := s.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, nil, err
	}
	shared := &sharedKinds{cluster: known}
	source := &collect.Cluster{
		Core: core, Authority: authority, Objects: objects, Kinds: shared.all, Address: config.Host, Context: raw.CurrentContext,
		Namespace: namespace, Everywhere: o.everywhere, Step: steps.Step, Now: time.Now,
	}
	if *s.flags.Context != "" {
		source.Context = *s.flags.Context
	}
	out.Collect, out.Kinds, out.Judge = source.Collect, shared, &judge{options: s, kinds: shared}
	return out, func() { source.Step = nil }, nil
}

// collectFiles reads files, once.
func (s *options) collectFiles(names []string, namespace string) (func(context.Context) (*snapshot.Input, error), error) {
	files := &collect.Files{Namespace: namespace, Now: time.Now()}
	if err := s.eachFile(names, files.Add); err != nil {
		return nil, err
	}
	for _, kind := range slices.Sorted(maps.Keys(files.Ignored)) {
		printing.Fprintf(s.streams.ErrOut, "warning: the page shows no objects of kind %s\n", kind)
	}
	return func(context.Context) (*snapshot.Input, error) { return files.Input(), nil }, nil
}
