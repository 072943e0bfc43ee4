// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/selection"
)

// Prefix returns the prefix by which annotations on objects of a resource are recognized as stamps.
// A stamp refers to the delegation that a policy issued for the object.
func Prefix(r schema.GroupResource) string {
	return r.String() + selection.StampSuffix + "/"
}

// Stamp returns the value of a stamp for the delegation with a name and a UID. The UID is empty in
// a dry run, which creates no delegation.
func Stamp(name string, uid types.UID) string {
	s := selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind,
		Name: name, UID: uid}}
	text, err := s.Text()
	if err != nil {
		return "" // impossible for a name that the server chose
	}
	return text
}

// Stamps are the values of the stamps of one object. The keys are the names of the policies.
type Stamps map[string]string

// StampsOf returns the stamps of an object, whose resource is r. It returns nil if the object
// has none.
func StampsOf(obj runtime.Object, r schema.GroupResource) Stamps {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return stampsOf(accessor, Prefix(r))
}

func stampsOf(obj metav1.Object, prefix string) (out Stamps) {
	for key, value := range obj.GetAnnotations() {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			if out == nil {
				out = Stamps{}
			}
			out[name] = value
		}
	}
	return out
}

// ApplyTo replaces all stamps of an object, whose resource is r, by s. It returns an error if the
// annotations are then larger than an object may have: the object was validated without the stamps,
// and no later write of it would be valid.
func (s Stamps) ApplyTo(obj runtime.Object, r schema.GroupResource) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	prefix := Prefix(r)
	if maps.Equal(stampsOf(accessor, prefix), s) {
		return nil
	}
	// Other objects may share the map, so it is not modified.
	all := maps.Clone(accessor.GetAnnotations())
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasPrefix(key, prefix) })
	if all == nil {
		all = map[string]string{}
	}
	for name, value := range s {
		all[prefix+name] = value
	}
	if len(s) > 0 {
		if err := apimachineryvalidation.ValidateAnnotationsSize(all); err != nil {
			return apierrors.NewRequestEntityTooLargeError(
				fmt.Sprintf("with the annotations that name delegations, the annotations of the object are too large: %v", err))
		}
	}
	if len(all) == 0 {
		all = nil
	}
	accessor.SetAnnotations(all)
	return nil
}

// UIDs returns the UIDs of the delegations that the stamps name.
func (s Stamps) UIDs() (out []types.UID) {
	for _, value := range s {
		if selected, err := selection.Parse(value); err == nil {
			out = append(out, selected.AuthorityReference.UID)
		}
	}
	return out
}
