// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"

	"kube-granular.dev/api/selection"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/kubectl"
	"kube-granular.dev/tenancy/internal/names"
)

// withPlugin is the kubectl plugin that runs a command with a selected delegation.
const withPlugin = "kubectl-with"

// delegationTo returns the delegation by which a user uses sudo in a tenant, or nil if the status
// of the LNamespace has none for the user. A delegation to the user takes precedence over a
// delegation to a group of the user.
func delegationTo(t *v1alpha1.LNamespace, me kubectl.User) *v1alpha1.SudoDelegation {
	var byGroup *v1alpha1.SudoDelegation
	for i := range t.Status.Delegations {
		d := &t.Status.Delegations[i]
		switch {
		case d.Subject.Kind != v1alpha1.GroupKind && names.Username(d.Subject) == me.Username:
			return d
		case d.Subject.Kind == v1alpha1.GroupKind && byGroup == nil && slices.Contains(me.Groups, d.Subject.Name):
			byGroup = d
		}
	}
	return byGroup
}

// delegation returns the delegation by which the caller uses sudo in a tenant. It returns nil if
// the status of the LNamespace has no delegation for the caller, who can then use sudo only by
// impersonation. It does not check whether the delegation is valid, because the server does.
func delegation(ctx context.Context, k kubectl.Kubectl, me kubectl.User, tenant string) (*v1alpha1.SudoDelegation, error) {
	text, err := k.Output(ctx, "get", "lnamespaces.tenancy.kube-granular.dev", tenant, "--ignore-not-found", "--output", "json")
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, nil
	}
	t := v1alpha1.LNamespace{}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, fmt.Errorf("LNamespace %s: %w", tenant, err)
	}
	return delegationTo(&t, me), nil
}

// withDelegation returns the arguments with which kubectl runs the command a.Command with the
// permissions of the delegation d.
func withDelegation(d *v1alpha1.SudoDelegation, a Arguments) ([]string, error) {
	if _, err := exec.LookPath(withPlugin); err != nil {
		return nil, fmt.Errorf("sudo by delegation runs the plugin %s, which is not on the path: %w", withPlugin, err)
	}
	s := selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{
		Kind: selection.AuthorityDelegationKind, Name: d.Delegation, UID: d.UID,
	}}
	text, err := s.Text()
	if err != nil {
		return nil, fmt.Errorf("delegation %q: %w", d.Delegation, err)
	}
	args := []string{"with"}
	if a.Reason != "" {
		args = append(args, "--reason="+a.Reason)
	}
	args = append(args, text)
	return append(append(args, a.Global...), a.Command...), nil
}
