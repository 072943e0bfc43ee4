// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/kubectl"
)

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// attempts is how often a change is tried if others change the LNamespace at the same time.
const attempts = 10

// changer has the flags of a command that changes an LNamespace.
type changer struct {
	*options
	dry string
}

func (c *changer) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.dry, "dry-run", "none", `"none", or "server": the server checks the change, and does not store it`)
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server"}, cobra.ShellCompDirectiveNoFileComp))
	c.addOutput(cmd, false)
}

// run changes the LNamespace of a name by the operations that edit returns, and prints what happened.
func (c *changer) run(cmd *cobra.Command, name string, edit func(*unstructured.Unstructured) ([]operation, error)) error {
	if c.dry != "none" && c.dry != "server" {
		return kubectl.UsageError(cmd, fmt.Errorf("--dry-run %s: want none or server", c.dry))
	}
	api, err := c.tenants()
	if err != nil {
		return err
	}
	object, changed, err := change(cmd.Context(), api, name, c.dry == "server", edit)
	if err != nil {
		return explained(err)
	}
	if done, err := c.document(cmd, object.UnstructuredContent()); done || err != nil {
		return err
	}
	result := "patched"
	if !changed {
		result = "patched (no change)"
	}
	if c.dry == "server" {
		result += " (server dry run)"
	}
	return printing.Fprintf(cmd.OutOrStdout(), "lnamespace.%s/%s %s\n", resource.Group, name, printing.Escaped(result))
}

// change reads an LNamespace and sends the JSON patch that edit returns for it. If somebody else changed
// the spec meanwhile, it does both again. A change of the status does not matter. changed is false if
// there was nothing to change.
func change(ctx context.Context, api dynamic.ResourceInterface, name string, dry bool,
	edit func(*unstructured.Unstructured) ([]operation, error)) (object *unstructured.Unstructured, changed bool, err error) {
	options := metav1.PatchOptions{FieldManager: "kubectl-lns"}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	for range attempts {
		before, err := api.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, false, err
		}
		operations, err := edit(before)
		if err != nil || len(operations) == 0 {
			return before, false, err
		}
		patch, err := json.Marshal(append([]operation{
			{Op: "test", Path: "/metadata/uid", Value: before.GetUID()},
			{Op: "test", Path: "/metadata/generation", Value: before.GetGeneration()},
		}, operations...))
		if err != nil {
			return nil, false, err
		}
		after, err := api.Patch(ctx, name, types.JSONPatchType, patch, options)
		if err == nil {
			return after, true, nil
		}
		// The server answers 422 if a test fails, and also if the result is not valid.
		if !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return nil, false, err
		}
		now, failed := api.Get(ctx, name, metav1.GetOptions{})
		if failed != nil {
			return nil, false, failed
		}
		if now.GetUID() != before.GetUID() || now.GetGeneration() == before.GetGeneration() {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf(
		"LNamespace %q: spec was changed by others %d times while this command ran; nothing was changed, try again", name, attempts)
}

// setField returns the operation that sets a field, and makes the objects above it that are missing.
func setField(object *unstructured.Unstructured, value any, path ...string) []operation {
	pointer := ""
	for i, name := range path {
		pointer += "/" + name
		if _, found, err := unstructured.NestedFieldNoCopy(object.Object, path[:i+1]...); i < len(path)-1 && (!found || err != nil) {
			for j := len(path) - 1; j > i; j-- {
				value = map[string]any{path[j]: value}
			}
			break
		}
	}
	return []operation{{Op: "add", Path: pointer, Value: value}}
}
