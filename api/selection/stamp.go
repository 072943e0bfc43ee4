// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StampSuffix ends the prefix of annotations that name the delegation that a policy made of the
// last change of an object. Before it stands the resource of the object: the annotation of a
// Deployment is deployments.apps.authority.kube-granular.dev/NAME-OF-POLICY. The server alone
// writes those of the object's own resource; others are anybody's, and mean nothing.
const StampSuffix = ".authority.kube-granular.dev"

// Stamped returns what a controller selects to act for whoever wrote an object last: what the
// object's annotations name of a policy. resource must be that of the object, and known from
// where the object was read. It fails where the object names nothing, or no AuthorityDelegation
// with its UID: then nobody delegated anything, and the controller has nothing to act by.
func Stamped(annotations map[string]string, resource schema.GroupResource, policy string) (*SelectedAuthority, error) {
	key := resource.String() + StampSuffix + "/" + policy
	text, ok := annotations[key]
	if !ok {
		return nil, fmt.Errorf("there is no annotation %s: nothing was delegated", key)
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", key, err)
	}
	if r := s.AuthorityReference; r.Kind != AuthorityDelegationKind || r.UID == "" {
		return nil, fmt.Errorf("annotation %s names no AuthorityDelegation with its uid", key)
	}
	return s, nil
}
