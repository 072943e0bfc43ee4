// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubectl runs the program kubectl for kubectl plugins. If the user of a plugin sets flags
// such as --context, the plugin passes these flags on, so that kubectl sends its requests to the
// same cluster and as the same user.
package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Kubectl runs commands of the program kubectl.
type Kubectl struct {
	// Path is the path of the program kubectl.
	Path string
	// Global are the flags that select the cluster and the user. All methods except Run add them
	// to the commands.
	Global []string
}

// Output runs a command, and returns its standard output.
func (k Kubectl) Output(ctx context.Context, args ...string) (string, error) {
	return k.Input(ctx, nil, args...)
}

// Input is like Output, for a command that reads its standard input.
func (k Kubectl) Input(ctx context.Context, in io.Reader, args ...string) (string, error) {
	stdout, stderr := bytes.Buffer{}, bytes.Buffer{}
	cmd := exec.CommandContext(ctx, k.Path, append(append([]string{}, k.Global...), args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// Run runs a command with the given streams, and without the flags in k.Global. It returns the
// exit code of the command, or 1 and an error if the command did not start.
func (k Kubectl) Run(ctx context.Context, in io.Reader, out, errOut io.Writer, args ...string) (int, error) {
	cmd := exec.CommandContext(ctx, k.Path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errOut
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// User is the caller, as the server authenticates it.
type User struct {
	Username string
	Groups   []string
}

// WhoAmI returns the user and groups as which the server authenticates the caller.
func (k Kubectl) WhoAmI(ctx context.Context) (User, error) {
	out, err := k.Output(ctx, "auth", "whoami", "--output", "json")
	if err != nil {
		return User{}, err
	}
	review := struct {
		Status struct{ UserInfo User }
	}{}
	if err := json.Unmarshal([]byte(out), &review); err != nil {
		return User{}, fmt.Errorf("kubectl auth whoami: %w", err)
	}
	return review.Status.UserInfo, nil
}

// Rule is a rule of the caller in the answer to a SelfSubjectRulesReview.
type Rule struct {
	Verbs, APIGroups, Resources, ResourceNames []string
}

// Covers reports whether the rule allows a verb on the object with this API group, resource and
// name.
func (r Rule) Covers(verb, group, resource, name string) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, word) || slices.Contains(list, "*")
	}
	return has(r.Verbs, verb) && has(r.APIGroups, group) && has(r.Resources, resource) && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
}

// Rules returns the rules of the caller in the whole cluster and in the namespace default, by one
// request. Permissions from authorizers that can't list rules, such as webhooks, are missing from
// the result.
func (k Kubectl) Rules(ctx context.Context) ([]Rule, error) {
	const review = `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}`
	out, err := k.Input(ctx, strings.NewReader(review), "create", "--validate=false", "--filename", "-", "--output", "json")
	if err != nil {
		return nil, err
	}
	answer := struct {
		Status struct{ ResourceRules []Rule }
	}{}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return nil, fmt.Errorf("rules of the caller: %w", err)
	}
	return answer.Status.ResourceRules, nil
}

// Namespace returns the namespace that the current context of the kubeconfig selects, or default
// if the context selects none.
func (k Kubectl) Namespace(ctx context.Context) (string, error) {
	out, err := k.Output(ctx, "config", "view", "--minify", "--output", "jsonpath={..namespace}")
	if err != nil || out == "" {
		return "default", err
	}
	return out, nil
}

// CanI reports whether the caller may use a verb on the named object of a resource.
func (k Kubectl) CanI(ctx context.Context, verb, resource, name string) (bool, error) {
	out, err := k.Output(ctx, "auth", "can-i", verb, resource+"/"+name)
	switch {
	case strings.HasPrefix(out, "yes"):
		return true, nil
	case strings.HasPrefix(out, "no"):
		return false, nil
	case err == nil:
		err = fmt.Errorf("kubectl auth can-i printed %q", out)
	}
	return false, err
}
