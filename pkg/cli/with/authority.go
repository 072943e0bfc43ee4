// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package with

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/selection"
)

// forms is the part of error messages that lists how to name a role or a delegation.
const forms = "clusterrole/NAME, role/NAMESPACE/NAME, delegation/NAME, delegation/uid:UID, or the JSON of the header " + selection.Header

// uidPrefix begins the UID of a delegation, in place of its name. No name of a delegation begins
// with it, because such names have no colon.
const uidPrefix = "uid:"

// Authority parses the role or delegation to select; see forms.
func Authority(text string) (*selection.SelectedAuthority, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		s, err := selection.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		return s, nil
	}
	s := &selection.SelectedAuthority{}
	ref := &s.AuthorityReference
	kind, name, _ := strings.Cut(text, "/")
	switch strings.ToLower(kind) {
	case "clusterrole", "clusterroles":
		ref.Kind, ref.Name = selection.ClusterRoleKind, name
	case "role", "roles":
		ref.Kind = selection.RoleKind
		ref.Namespace, ref.Name, _ = strings.Cut(name, "/")
	case "delegation", "delegations", "authoritydelegation", "authoritydelegations":
		ref.Kind = selection.AuthorityDelegationKind
		if uid, ok := strings.CutPrefix(name, uidPrefix); ok {
			ref.UID = types.UID(uid)
		} else {
			ref.Name = name
		}
	default:
		return nil, fmt.Errorf("%q is not an authority; use one of %s", text, forms)
	}
	// Text validates the selection as the server does.
	if _, err := s.Text(); err != nil {
		return nil, fmt.Errorf("%q: %w; use one of %s", text, err, forms)
	}
	return s, nil
}
