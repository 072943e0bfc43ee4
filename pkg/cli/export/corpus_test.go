// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/corpus"
)

const jane = "jane"

// grantsOf returns the grants of jane: the verbs, and granular.
func grantsOf(verbs ...string) grants {
	return grants{{subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: jane}}, verbs: append([]string{"granular"}, verbs...)}}
}

// TestCorpus checks each scenario that a policy can express: the same decision as the library's.
func TestCorpus(t *testing.T) {
	scenarios, err := corpus.Load("../../../test/corpus")
	if err != nil {
		t.Fatal(err)
	}
	judged, refused := 0, 0
	for i := range scenarios {
		s := &scenarios[i]
		object, unknown := scheme.Scheme.New(s.GVK())
		if unknown != nil || s.Unmarked || s.Final != nil {
			continue
		}
		tree := treeOf(t, object.(interface{ OpenAPIModelName() string }).OpenAPIModelName())
		target := &Target{Resource: kubeschema.GroupVersionResource{Group: s.GVK().Group, Version: s.GVK().Version, Resource: strings.ToLower(s.GVK().Kind) + "s"},
			Tree: tree, HasStatus: tree.Root.Child("status") != nil}
		t.Run(s.File+"/"+s.Name, func(t *testing.T) {
			made, err := policyFor("test", target, grantsOf(s.Grants...))
			if err != nil {
				refused++
				t.Logf("refused: %v", err)
				return
			}
			w := &write{old: stored(t, s.GVK(), s.Old), new: stored(t, s.GVK(), s.New), user: jane, target: target}
			want := s.Decision == corpus.Allow
			allowed, broken, why := compile(t, made.policy).allows(w)
			judged++
			if allowed != want || broken {
				text, _ := yaml.Marshal(made.policy.Spec)
				t.Errorf("%s: allowed %v (%s), wanted %v", s.Name, allowed, why, want)
				t.Logf("%s", text)
			}
		})
	}
	t.Logf("%d scenarios judged, %d roles can't be exported, of %d", judged, refused, len(scenarios))
}

// stored returns an object as admission shows it: decoded into its Go type.
func stored(t *testing.T, kind kubeschema.GroupVersionKind, o map[string]any) runtime.Object {
	t.Helper()
	if o == nil {
		return nil
	}
	out, err := scheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(o)
	if err == nil {
		err = yaml.UnmarshalStrict(data, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
