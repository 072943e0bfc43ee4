// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/kubectl"
)

// requestResource is the resource of requests for sudo.
const requestResource = "sudorequests.tenancy.kube-granular.dev"

// impersonation are the names of further flags of kubectl that the commands for requests pass on.
var impersonation = []string{"as", "as-group", "as-uid"}

// isAboutRequests reports whether the first word of the arguments is a command for requests for sudo. No
// command of kubectl has one of these names.
func isAboutRequests(args []string) bool {
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			return slices.Contains([]string{"request", "requests", "approve", "deny"}, name)
		case !joined && (name == "--reason" || slices.Contains(impersonation, strings.TrimPrefix(name, "--")) || takesValue(name)):
			i++
		}
	}
	return false
}

// requester runs the commands for requests for sudo.
type requester struct {
	kubectl.Kubectl
	Streams
	namespace, reason, output, length string
	all                               bool
}

// requestsCommand returns the command kubectl sudo with the commands for requests.
func requestsCommand(path string, args []string, s Streams) *cobra.Command {
	r := &requester{Kubectl: kubectl.Kubectl{Path: path}, Streams: s}
	root := &cobra.Command{Use: "kubectl-sudo", Annotations: display, SilenceUsage: true, SilenceErrors: true}
	root.SetArgs(args)
	root.SetOut(s.Out)
	root.SetErr(s.ErrOut)
	flags := root.PersistentFlags()
	flags.StringVarP(&r.namespace, "namespace", "n", "", "the tenant; the default is the namespace of the context")
	flags.StringVar(&r.reason, "reason", "", "why; others read it, and it is in the audit log")
	global := map[string]*string{}
	passed := slices.Concat(connection, impersonation)
	for _, name := range passed {
		global[name] = new(string)
		flags.StringVarP(global[name], name, map[string]string{"server": "s"}[name], "", "same as the flag of kubectl")
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		for _, name := range passed {
			if cmd.Flags().Changed(name) {
				r.Global = append(r.Global, "--"+name+"="+*global[name])
			}
		}
		if r.namespace == "" && !r.all {
			r.namespace, err = r.Namespace(cmd.Context())
		}
		return err
	}
	request := &cobra.Command{
		Use: "request", Short: "Request sudo for a time, and wait until the request is seen",
		Example: `  # Sudo for an hour in the tenant crew
  kubectl sudo request -n crew --for 1h --reason "restore the database, TICKET-1"`,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return r.request(cmd.Context(), cmd) },
	}
	request.Flags().StringVar(&r.length, "for", "", "how long, such as 1h or 30m")
	list := &cobra.Command{
		Use: "requests", Short: "List requests for sudo",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return r.list(cmd.Context(), cmd) },
	}
	list.Flags().BoolVarP(&r.all, "all-namespaces", "A", false, "of all tenants")
	list.Flags().StringVarP(&r.output, "output", "o", "", "wide, json or yaml")
	root.AddCommand(request, list)
	for name, verdict := range map[string]v1alpha1.Verdict{"approve": v1alpha1.Approved, "deny": v1alpha1.Denied} {
		short := "Approve somebody else's request for sudo"
		if verdict == v1alpha1.Denied {
			short = "Deny a request for sudo, or withdraw it; this also ends sudo that was granted"
		}
		root.AddCommand(&cobra.Command{Use: name + " NAME", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return r.decide(cmd.Context(), args[0], verdict) }})
	}
	kubectl.ExplainUsage(root)
	return root
}

// request creates a request for sudo, and prints what the controller says about it.
func (r *requester) request(ctx context.Context, cmd *cobra.Command) error {
	length, err := lengthOf(r.length)
	if err == nil && r.reason == "" {
		err = errors.New("--reason: say why, for those who approve and for the audit log")
	}
	if err != nil {
		return kubectl.UsageError(cmd, err)
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "SudoRequest",
		"metadata": map[string]any{"generateName": "sudo-", "namespace": r.namespace},
		"spec":     map[string]any{"duration": length, "reason": r.reason},
	})
	if err != nil {
		return err
	}
	// Without validation: the server adds who requests, which is required.
	out, err := r.Input(ctx, strings.NewReader(string(text)), "create", "--validate=false", "--filename", "-", "--output", "json")
	if err != nil {
		return err
	}
	made := v1alpha1.SudoRequest{}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		return err
	}
	return r.outcome(ctx, made.Name, func(q v1alpha1.SudoRequest) bool { return q.Status.State == "" })
}

// decide approves or denies a request. It sends the UID of the request that it read, so that it decides
// about no other request.
func (r *requester) decide(ctx context.Context, name string, verdict v1alpha1.Verdict) error {
	q, err := r.get(ctx, name)
	if err != nil {
		return err
	}
	decision := map[string]any{"verdict": verdict, "author": map[string]any{"username": ""}} // the server writes who
	if r.reason != "" {
		decision["reason"] = r.reason
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": q.UID}, {"op": "add", "path": "/spec/decision", "value": decision},
	})
	if err != nil {
		return err
	}
	args := []string{"patch", requestResource, name, "--namespace", r.namespace, "--type", "json", "--patch", string(patch)}
	if _, err := r.Output(ctx, args...); err != nil {
		return err
	}
	before := q.Status.State
	return r.outcome(ctx, name, func(q v1alpha1.SudoRequest) bool { return q.Status.State == before })
}

func (r *requester) get(ctx context.Context, name string) (v1alpha1.SudoRequest, error) {
	q := v1alpha1.SudoRequest{}
	out, err := r.Output(ctx, "get", requestResource, name, "--namespace", r.namespace, "--output", "json")
	if err != nil {
		return q, err
	}
	return q, json.Unmarshal([]byte(out), &q)
}

// patience is how long outcome waits for the controller.
const patience = 10 * time.Second

// outcome prints the state of a request when the controller has seen it. It returns an error if the
// controller refuses the request.
func (r *requester) outcome(ctx context.Context, name string, isUnseen func(v1alpha1.SudoRequest) bool) error {
	var q v1alpha1.SudoRequest
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(context.Context) (seen bool, err error) {
		q, err = r.get(ctx, name)
		return !isUnseen(q), err
	})
	switch {
	case err == nil:
		return r.report(q)
	case wait.Interrupted(err) && ctx.Err() == nil:
		return fmt.Errorf("request %s: the tenancy controller has not seen it yet; look later: kubectl sudo requests -n %s", name, r.namespace)
	}
	return err
}

func (r *requester) report(q v1alpha1.SudoRequest) error {
	who, state := q.Spec.Requester.Username, q.Status.State
	switch state {
	case v1alpha1.RequestGranted:
		return printing.Fprintf(r.Out, "request %s: %s has sudo in %s until %s (%s): %s\n",
			q.Name, who, q.Namespace, ending(q), q.Status.Message, q.Spec.Reason)
	case v1alpha1.RequestPending:
		return printing.Fprintf(r.Out, "request %s: %s; they run: kubectl sudo approve %s -n %s\n",
			q.Name, q.Status.Message, q.Name, q.Namespace)
	case v1alpha1.RequestRefused, v1alpha1.RequestExpired:
		return fmt.Errorf("request %s is %s: %s", q.Name, strings.ToLower(string(state)), q.Status.Message)
	}
	return printing.Fprintf(r.Out, "request %s of %s is %s: %s\n", q.Name, who, strings.ToLower(string(state)), q.Status.Message)
}

func ending(q v1alpha1.SudoRequest) string {
	if q.Status.Until == nil {
		return ""
	}
	return q.Status.Until.UTC().Format(time.RFC3339)
}

// lengthOf returns a duration in the form that the server takes.
func lengthOf(text string) (v1alpha1.Duration, error) {
	length, err := time.ParseDuration(text)
	if err != nil || length < time.Second || length%time.Second != 0 {
		return "", fmt.Errorf("--for %q: want a time of whole seconds, such as 1h or 30m", text)
	}
	out := ""
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := length / unit.length; n > 0 {
			out += fmt.Sprint(int64(n), unit.name)
			length %= unit.length
		}
	}
	return v1alpha1.Duration(out), nil
}

// requestHint returns how to get sudo in a tenant where sudoers have it only by a request, and else an
// empty string.
func requestHint(ctx context.Context, k kubectl.Kubectl, tenant string) string {
	text, err := k.Output(ctx, "get", "lnamespaces.tenancy.kube-granular.dev", tenant, "--ignore-not-found", "--output", "json")
	t := v1alpha1.LNamespace{}
	if err != nil || json.Unmarshal([]byte(text), &t) != nil || !t.Spec.Sudo.IsOnRequest() {
		return ""
	}
	return fmt.Sprintf("; sudoers of %s request it: kubectl sudo request -n %s --for 1h --reason TEXT", tenant, tenant)
}
