// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StampSuffix is the end of the domain in the key of a stamp. A stamp is an annotation of an object
// with the name and UID of a delegation, which a policy issued on behalf of the last author of the
// object. The domain begins with the resource of the object: the key on a Deployment is
// deployments.apps.authority.kube-granular.dev/NAME-OF-POLICY. Only the server can write a stamp
// for the object's own resource. A stamp for another resource is an ordinary annotation without a
// meaning.
const StampSuffix = ".authority.kube-granular.dev"

// Stamped returns the selection with which a controller acts on behalf of the last author of an
// object: the delegation in the stamp of a policy. annotations are the annotations of the object,
// and policy is the name of the policy. resource must be the resource from which the controller
// read the object, and not taken from the object. Stamped returns an error if the stamp is missing,
// or does not contain the UID of an AuthorityDelegation. Then the author delegated no authority to
// the controller.
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
