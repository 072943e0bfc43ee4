// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"kube-granular.dev/api/authority/v1alpha1"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRoundTrip holds that random objects are the same after encoding and decoding as JSON, YAML
// and CBOR, and after conversion to the other version and back.
func TestRoundTrip(t *testing.T) {
	defaulted := func(serializer.CodecFactory) []any {
		return []any{func(s *v1alpha1.ProtectedAttributeSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.Mode = v1alpha1.ModeAudit
			if s.RoleRef != nil {
				s.RoleRef.APIGroup = v1alpha1.RoleGroup
			}
		}, func(s *v1alpha1.AuthorityDelegationSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.IfLost = v1alpha1.LossKeep
		}, func(s *v1alpha1.AuthorityDelegationPolicySpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.IfLost, s.IfNotHeld, s.Neutral = v1alpha1.LossKeep, v1alpha1.NotHeldSkip, []string{"replicas"}
		}, func(s *v1alpha1.FieldPermissionSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.Mode = v1alpha1.ModeEnforce
		}}
	}
	s := scheme(t)
	codecs := serializer.NewCodecFactory(s)
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, defaulted), rand.NewSource(1), codecs)
	roundtrip.RoundTripTypesWithoutProtobuf(t, s, codecs, fill, nil)
}

// TestCopies holds that a deep copy equals its original and shares no memory with it.
func TestCopies(t *testing.T) {
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(scheme(t))).NilChance(0).NumElements(1, 2)
	for _, obj := range []runtime.Object{&ProtectedAttribute{}, &ClusterProtectedAttribute{}, &ProtectedAttributeList{}, &ClusterProtectedAttributeList{}, &AuthorityDelegation{}, &AuthorityDelegationList{}, &AuthorityDelegationPolicy{}, &AuthorityDelegationPolicyList{}, &FieldPermission{}, &FieldPermissionList{}} {
		fill.Fill(obj)
		copied, twin := obj.DeepCopyObject(), obj.DeepCopyObject()
		if diff := cmp.Diff(obj, copied); diff != "" {
			t.Errorf("%T: the copy differs (-original +copy):\n%s", obj, diff)
		}
		switch o := copied.(type) {
		case Attribute:
			meta, spec, status := o.Parts()
			meta.Labels["more"], spec.ProtectedValues[0], status.Holders[0].Name = "x", "x", "x"
		case *ProtectedAttributeList:
			o.Items[0].Spec.ProtectedValues[0] = "x"
		case *ClusterProtectedAttributeList:
			o.Items[0].Spec.ProtectedValues[0] = "x"
		case *AuthorityDelegation:
			o.Spec.Rules[0].Verbs[0], o.Status.Rules[0].Verbs[0], o.Status.Delegator.Groups[0], o.Status.History[0].By = "x", "x", "x", "x"
		case *AuthorityDelegationList:
			o.Items[0].Spec.Delegates[0].Name = "x"
		case *AuthorityDelegationPolicy:
			o.Spec.Rules[0].Verbs[0], o.Status.Rules[0].Verbs[0], o.Spec.Neutral[0] = "x", "x", "x"
		case *AuthorityDelegationPolicyList:
			o.Items[0].Spec.Delegates[0].Name = "x"
		case *FieldPermission:
			o.Spec.Fields[0].Path, o.Status.Fields[0].Holders[0].Name, o.Status.NotHeld[0].Name = "x", "x", "x"
		case *FieldPermissionList:
			o.Items[0].Spec.Fields[0].Path = "x"
		}
		if diff := cmp.Diff(obj, twin); diff != "" {
			t.Errorf("%T: the copy shares memory with the original:\n%s", obj, diff)
		}
	}
}

// TestSelectable checks by which fields protected attributes can be selected, and that the error
// for another field names these.
func TestSelectable(t *testing.T) {
	s := scheme(t)
	for _, kind := range []string{"ProtectedAttribute", "ClusterProtectedAttribute"} {
		gvk := v1alpha1.SchemeGroupVersion.WithKind(kind)
		for _, label := range []string{"metadata.name", "metadata.namespace", SelectKind, SelectName} {
			if l, v, err := s.ConvertFieldLabel(gvk, label, "x"); l != label || v != "x" || err != nil {
				t.Errorf("%s %s: %q %q %v", kind, label, l, v, err)
			}
		}
		if _, _, err := s.ConvertFieldLabel(gvk, "spec.mode", "x"); err == nil {
			t.Errorf("%s: spec.mode may be selected by", kind)
		}
	}
}

// TestSelectableDelegation checks by which fields delegations can be selected, and that a
// selector for a delegate is converted to one for the field of that delegate.
func TestSelectableDelegation(t *testing.T) {
	s := scheme(t)
	gvk := v1alpha1.SchemeGroupVersion.WithKind("AuthorityDelegation")
	for label, want := range map[string][2]string{
		"metadata.name":     {"metadata.name", "x"},
		SelectDelegator:     {SelectDelegator, "x"},
		SelectPolicy:        {SelectPolicy, "x"},
		SelectDelegate:      {ListElementField(SelectDelegate, "x"), "true"},
		SelectDelegateGroup: {ListElementField(SelectDelegateGroup, "x"), "true"},
	} {
		if l, v, err := s.ConvertFieldLabel(gvk, label, "x"); l != want[0] || v != want[1] || err != nil {
			t.Errorf("%s: %q %q %v", label, l, v, err)
		}
	}
	for _, label := range []string{"metadata.namespace", "spec.ifLost", "spec.delegates", ListElementField(SelectDelegate, "x")} {
		if _, _, err := s.ConvertFieldLabel(gvk, label, "x"); err == nil {
			t.Errorf("%s may be selected by", label)
		}
	}
}

// TestPublishedVersions holds that no internal type has the OpenAPI name of a served type.
func TestPublishedVersions(t *testing.T) {
	s := scheme(t)
	for gvk := range s.KnownTypes(Internal) {
		internal, err := s.ToOpenAPIDefinitionName(Internal.WithKind(gvk))
		if err != nil {
			t.Fatal(err)
		}
		if !s.Recognizes(v1alpha1.SchemeGroupVersion.WithKind(gvk)) {
			continue
		}
		served, err := s.ToOpenAPIDefinitionName(v1alpha1.SchemeGroupVersion.WithKind(gvk))
		if err != nil {
			t.Fatal(err)
		}
		if internal == served && gvk != "WatchEvent" {
			t.Errorf("%s has one name in both versions: %s", gvk, served)
		}
	}
}
