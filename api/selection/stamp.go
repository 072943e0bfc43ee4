// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StampSuffix is the end of the domain in the key of a stamp: an annotation that names the
// delegation which a policy issued for the last change of an object. The domain begins with the
// resource of the object: the key on a Deployment is
// deployments.apps.authority.kube-granular.dev/NAME-OF-POLICY. Only the server can write a stamp
// for the object's own resource. A stamp for another resource is an ordinary annotation without
// a meaning.
const StampSuffix = ".authority.kube-granular.dev"

// Stamped returns the selection with which a controller acts on behalf of the last author of an
// object: the delegation that the annotation of a policy names. resource must be the resource
// from which the controller read the object. Stamped returns an error if the annotation is
// missing, or does not name an AuthorityDelegation with its UID. Then the author delegated no
// authority to the controller.
func Stamped(annotations map[string]string, resource schema.GroupResource, policy string) (*SelectedAuthority, error) {
	key := resource.String() + StampSuffix + "/" + policy
	text, ok := annotations[key]
	if !ok {
		return nil, fmt.Errorf("the annotation %s is missing: no authority was delegated", key)
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", key, err)
	}
	if r := s.AuthorityReference; r.Kind != AuthorityDelegationKind || r.UID == "" {
		return nil, fmt.Errorf("annotation %s does not name an AuthorityDelegation with its uid", key)
	}
	return s, nil
}
