// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

const (
	// BindingAnnotation is the key of the annotation that binds a service account to a delegation:
	// every request of the account then has the authority of that delegation, and no other. The value
	// is the Text of a Binding. The server lets nobody remove the annotation by leaving it out. To
	// release the account, a caller writes the empty value.
	BindingAnnotation = "authority.kube-granular.dev/acts-under"
	// LentLabel is the label of the delegations and accounts that kubectl granular lend makes. Its value
	// is "true". The server removes such a delegation a day after its end.
	LentLabel = "authority.kube-granular.dev/lent"
	// LendersAnnotation is the key of the annotation of an account that kubectl granular lend made, with the
	// users who lent to it before the delegation under which it acts. It has no effect.
	LendersAnnotation = "authority.kube-granular.dev/lenders"
	// ReasonAnnotation is the annotation of a delegation that says why it was made. It has no effect.
	ReasonAnnotation = "authority.kube-granular.dev/reason"
)

// Binding names the delegation under which a service account acts.
type Binding struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// ParseBinding parses the value of BindingAnnotation. It is as strict as Parse.
func ParseBinding(text string) (Binding, error) {
	if len(text) > MaxLength {
		return Binding{}, fmt.Errorf("the value is longer than %d bytes", MaxLength)
	}
	var b Binding
	strict, err := kjson.UnmarshalStrict([]byte(text), &b)
	if err = errors.Join(err, errors.Join(strict...)); err != nil {
		return Binding{}, err
	}
	if b.Name == "" || b.UID == "" {
		return Binding{}, errors.New("name or uid is missing")
	}
	s := b.Selected()
	return b, s.validate()
}

// Text returns the value of BindingAnnotation.
func (b Binding) Text() (string, error) {
	text, err := json.Marshal(b)
	return string(text), err
}

// Selected returns the selection of the delegation.
func (b Binding) Selected() *SelectedAuthority {
	return &SelectedAuthority{AuthorityReference: AuthorityReference{Kind: AuthorityDelegationKind, Name: b.Name, UID: b.UID}}
}
