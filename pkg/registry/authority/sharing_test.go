// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// wide is a delegation with as many rules as those of sudo have, which are equal for all tenants but the last one.
func wide(i int) *authority.AuthorityDelegation {
	d := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("d-%d", i)}}
	for r := range 20 {
		rule := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}}
		for n := range 20 {
			rule.Resources = append(rule.Resources, fmt.Sprintf("resources-%d-%d", r, n))
		}
		rule.APIGroups = []string{fmt.Sprintf("group-%d.example.com", r)}
		d.Spec.Rules = append(d.Spec.Rules, rule)
	}
	own := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{d.Name}}
	d.Spec.Rules = append(d.Spec.Rules, own)
	d.Status.Rules = d.DeepCopyObject().(*authority.AuthorityDelegation).Spec.Rules
	return d
}

func storageCodec(t *testing.T) sharing {
	t.Helper()
	return sharing{legacyscheme.Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)}
}

func decoded(t *testing.T, codec kruntime.Codec, text []byte) *authority.AuthorityDelegation {
	t.Helper()
	object, err := kruntime.Decode(codec, text)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*authority.AuthorityDelegation)
}

// TestDelegationsShareTexts checks that a decoded delegation is the same with sharing, and that nobody who changes one
// delegation, or a copy of it, changes another.
//
// Attack: a request changes the rules of a delegation in memory, and so those of all that have equal rules
// Answer: delegations share texts, which nobody can change, and never a list
func TestDelegationsShareTexts(t *testing.T) {
	codec := storageCodec(t)
	text, err := kruntime.Encode(codec, wide(1))
	if err != nil {
		t.Fatal(err)
	}
	a, b, plain := decoded(t, codec, text), decoded(t, codec, text), decoded(t, codec.Codec, text)
	if diff := cmp.Diff(plain, a); diff != "" {
		t.Fatal(diff)
	}
	want, err := kruntime.Encode(codec, plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := kruntime.Encode(codec, a); err != nil || string(got) != string(want) {
		t.Errorf("encoded again: %v: %s", err, got)
	}
	if &a.Spec.Rules[0] != &a.Status.Rules[0] {
		t.Error("the status has its own rules, which are equal")
	}
	if _ = append(a.Spec.Rules, rbacv1.PolicyRule{Verbs: []string{"*"}}); cap(a.Status.Rules) != len(a.Status.Rules) {
		t.Error("what is appended to the rules of the spec may be in the status")
	}
	c := a.DeepCopyObject().(*authority.AuthorityDelegation)
	c.Spec.Rules[0].Verbs[0], c.Spec.Rules[1] = "*", rbacv1.PolicyRule{}
	if diff := cmp.Diff(plain, a); diff != "" || c.Status.Rules[0].Verbs[0] != "get" {
		t.Errorf("a change of a copy: %s", diff)
	}
	a.Spec.Rules[0].Verbs[0], a.Spec.Rules[1] = "*", rbacv1.PolicyRule{}
	if diff := cmp.Diff(plain, b); diff != "" {
		t.Errorf("a change of another delegation: %s", diff)
	}
	// Rules of the status that are others, as those of a role are, stay.
	other := wide(2)
	other.Spec.Rules = other.Spec.Rules[:3]
	if text, err = kruntime.Encode(codec, other); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other.Status, decoded(t, codec, text).Status); diff != "" {
		t.Error(diff)
	}
}

// TestUndecodable checks that what is stored and is no delegation is an error, and no delegation without rules.
func TestUndecodable(t *testing.T) {
	text, err := kruntime.Encode(storageCodec(t), wide(1))
	if err != nil {
		t.Fatal(err)
	}
	object, _, err := storageCodec(t).Decode(text[:len(text)/2], nil, nil)
	if err == nil {
		t.Errorf("half a delegation became %v", object)
	}
}

// TestMemoryOfDelegations measures what many delegations take that a server has decoded, with sharing and without.
func TestMemoryOfDelegations(t *testing.T) {
	const count = 200
	codec := storageCodec(t)
	var texts [][]byte
	for i := range count {
		text, err := kruntime.Encode(codec, wide(i))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	collect := func() (stats runtime.MemStats) {
		for range 3 { // pools keep what they have for two collections
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		return stats
	}
	measure := func(codec kruntime.Codec) uint64 {
		decoded(t, codec, texts[0]) // so that what all share is there
		var all []*authority.AuthorityDelegation
		before := collect()
		for _, text := range texts {
			all = append(all, decoded(t, codec, text))
		}
		after := collect()
		runtime.KeepAlive(all)
		runtime.KeepAlive(texts)
		return (after.HeapAlloc - before.HeapAlloc) / count
	}
	plain, shared := measure(codec.Codec), measure(codec)
	t.Logf("a delegation takes %d bytes, and %d with sharing", plain, shared)
	if shared*2 > plain {
		t.Errorf("sharing saves less than a half: %d of %d bytes", shared, plain)
	}
}
