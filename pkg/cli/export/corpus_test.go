// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"slices"
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

// limits are the scenarios in which a policy decides otherwise, with the printed limit.
var limits = map[string]string{
	"a node":                                    "the server keeps the status of a new node, so it is the caller's",
	"a cordoned node by who may cordon":         "the server keeps the status of a new node, so it is the caller's",
	"finalizers in another order":               "the order of a list that the role does not open",
	"a new order of an object's own finalizers": "the order of a list that the role does not open",
	"conditions of a node in another order":     "the order of a list that the role does not open",
	"seventy labels of seventy domains":         "no limit of verbs",
}

// TestCorpusAsPolicies checks that each scenario that a policy can express has the same decision as with the library. If a
// scenario is allowed, no policy allows it without one of the verbs that it used.
func TestCorpusAsPolicies(t *testing.T) {
	scenarios, err := corpus.Load("../../../test/corpus")
	if err != nil {
		t.Fatal(err)
	}
	judged, without := 0, 0
	for i := range scenarios {
		s := &scenarios[i]
		object, unknown := scheme.Scheme.New(s.GVK())
		if unknown != nil || s.Unmarked || s.Final != nil {
			continue
		}
		tree := treeOf(t, object.(interface{ OpenAPIModelName() string }).OpenAPIModelName())
		target := &Target{Resource: kubeschema.GroupVersionResource{Group: s.GVK().Group, Version: s.GVK().Version, Resource: strings.ToLower(s.GVK().Kind) + "s"},
			Tree: tree, HasStatus: tree.Root.Child("status") != nil}
		w := &write{old: stored(t, s.GVK(), s.Old), new: stored(t, s.GVK(), s.New), user: jane, target: target}
		judge := func(t *testing.T, verbs []string) (allowed bool, text string) {
			made, err := policyFor("test", target, grantsOf(verbs...))
			if err != nil {
				t.Fatal(err)
			}
			allowed, _, why := compile(t, made.policy).allows(w)
			policy, _ := yaml.Marshal(made.policy.Spec)
			return allowed, why + "\n" + string(policy)
		}
		t.Run(s.File+"/"+s.Name, func(t *testing.T) {
			want := (s.Decision == corpus.Allow) != (limits[s.Name] != "")
			judged++
			allowed, text := judge(t, s.Grants)
			if allowed != want {
				t.Errorf("allowed %v, wanted %v: %s", allowed, want, text)
			}
			for _, used := range s.Grants {
				if !allowed || !slices.Contains(s.Asked, used) {
					continue
				}
				without++
				if still, text := judge(t, slices.DeleteFunc(slices.Clone(s.Grants), func(v string) bool { return v == used })); still {
					t.Errorf("allowed without %s: %s", used, text)
				}
			}
		})
	}
	t.Logf("%d scenarios of %d, %d of them without a verb that they used", judged, len(scenarios), without)
	if judged < 250 || without < 100 {
		t.Error("that is no test")
	}
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
