// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"
)

var (
	apiVersions = []string{"", "authorization.k8s.io/v1", "authority.kube-granular.dev/v1alpha1"}
	kinds       = []string{"", "SelectedAuthority"}
	// referred is the API version that a reference to an object of each kind may have.
	referred = map[Kind]string{
		ClusterRoleKind:         "rbac.authorization.k8s.io/v1",
		RoleKind:                "rbac.authorization.k8s.io/v1",
		AuthorityDelegationKind: "authority.kube-granular.dev/v1alpha1",
	}
)

// Parse parses a selection: the value of the header Authority-Selector, or of the extra
// attribute ExtraKey. It is strict: unknown fields, duplicate fields and field names in a
// different case are errors.
func Parse(text string) (*SelectedAuthority, error) {
	switch {
	case len(text) > MaxLength:
		return nil, fmt.Errorf("the value is longer than %d bytes", MaxLength)
	case !utf8.ValidString(text):
		return nil, errors.New("the value is not UTF-8")
	}
	s := &SelectedAuthority{}
	strict, err := kjson.UnmarshalStrict([]byte(text), s)
	if err = errors.Join(err, errors.Join(strict...)); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// Text returns the selection as the value of the header. It omits both apiVersions and the outer
// kind, so that selections of the same authority have equal texts.
func (s *SelectedAuthority) Text() (string, error) {
	if err := s.validate(); err != nil {
		return "", err
	}
	short := &SelectedAuthority{AuthorityReference: s.AuthorityReference}
	short.AuthorityReference.APIVersion = ""
	text, err := json.Marshal(short)
	if err == nil && len(text) > MaxLength {
		err = fmt.Errorf("the value is longer than %d bytes", MaxLength)
	}
	return string(text), err
}

func (s *SelectedAuthority) validate() error {
	ref := &s.AuthorityReference
	version, known := referred[ref.Kind]
	switch {
	case !slices.Contains(apiVersions, s.APIVersion):
		return fmt.Errorf("apiVersion must be empty, %s", strings.Join(apiVersions[1:], " or "))
	case !slices.Contains(kinds, s.Kind):
		return errors.New("kind must be empty or SelectedAuthority")
	case !known:
		return fmt.Errorf("authorityReference.kind must be %s, %s or %s", ClusterRoleKind, RoleKind, AuthorityDelegationKind)
	case ref.APIVersion != "" && ref.APIVersion != version:
		return fmt.Errorf("authorityReference.apiVersion must be empty or %s", version)
	case ref.Kind == RoleKind && len(validation.IsDNS1123Label(ref.Namespace)) > 0:
		return errors.New("authorityReference.namespace must be the namespace of the role")
	case ref.Kind != RoleKind && ref.Namespace != "":
		return errors.New("authorityReference.namespace is set, but it is for the kind Role only")
	case ref.Kind == AuthorityDelegationKind && ref.Name == "" && ref.UID == "":
		return errors.New("authorityReference.name or uid is missing")
	case ref.Kind != AuthorityDelegationKind && ref.UID != "":
		return errors.New("authorityReference.uid is set, but it is for the kind AuthorityDelegation only")
	case ref.Kind != AuthorityDelegationKind && ref.Name == "":
		return errors.New("authorityReference.name is missing")
	case len(path.IsValidPathSegmentName(ref.Name)) > 0 || !printable(ref.Name):
		return errors.New("authorityReference.name is not a valid name of an object")
	case !printable(string(ref.UID)):
		return errors.New("authorityReference.uid is not a valid UID")
	}
	return nil
}

// CheckReason returns an error if text is not a valid value of the header ReasonHeader.
func CheckReason(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("a reason must not be empty")
	case len(text) > MaxReasonLength:
		return fmt.Errorf("a reason must not be longer than %d bytes", MaxReasonLength)
	case !printable(text):
		return errors.New("a reason must be one line of printable characters")
	}
	return nil
}

// printable reports whether a text can be sent in a header and has only printable characters.
func printable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0
}
