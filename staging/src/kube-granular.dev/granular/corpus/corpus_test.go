// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/internal/testmodels"
)

const dir = "../../../../../test/corpus"

type grants []string

func (g grants) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	return slices.IndexFunc(verbs, func(v string) bool { return slices.Contains(g, v) }), nil
}

type outcome struct {
	Decision     Decision
	Asked        []string
	Field, Needs string
}

func run(t *testing.T, s *Scenario, typed bool) outcome {
	t.Helper()
	gvk := s.GVK()
	tree, err := testmodels.Tree(gvk.Group, gvk.Version, gvk.Kind)
	if err != nil {
		t.Fatal(err)
	}
	w := change.NewWalker(tree)
	mode := change.Full
	if s.Unmarked {
		mode = change.Sparse
	}
	object := func(o Object) any {
		if typed {
			return toTyped(t, gvk.Kind, o)
		}
		if o == nil {
			return nil
		}
		return map[string]any(o)
	}
	compare := func(new any) change.Set {
		set, err := w.Compare(mode, object(s.Old), new)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	final := s.Final
	if final == nil {
		final = s.New
	}
	d := decide.New(grants(s.Grants), 0)
	changes := change.Intersect(compare(object(s.New)), compare(object(final)))
	refusal, err := d.Decide(context.Background(), changes, !s.Unmarked)
	if err != nil {
		t.Fatal(err)
	}
	got := outcome{Decision: Allow, Asked: d.Asked()}
	if refusal != nil {
		got.Decision = Forbidden
		got.Field = w.Locate(refusal.Change, object(s.Old), object(final))
		got.Needs = refusal.Needs()
	}
	return got
}

func toTyped(t *testing.T, kind string, o Object) any {
	t.Helper()
	var out any
	switch kind {
	case "Deployment":
		out = (*appsv1.Deployment)(nil)
		if o != nil {
			out = &appsv1.Deployment{}
		}
	case "Pod":
		out = (*corev1.Pod)(nil)
		if o != nil {
			out = &corev1.Pod{}
		}
	case "ConfigMap":
		out = (*corev1.ConfigMap)(nil)
		if o != nil {
			out = &corev1.ConfigMap{}
		}
	default:
		t.Fatalf("no Go type for %s", kind)
	}
	if o == nil {
		return out
	}
	data, err := yaml.Marshal(o)
	if err == nil {
		err = yaml.UnmarshalStrict(data, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCorpus(t *testing.T) {
	scenarios, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	builtin := []string{"Deployment", "Pod", "ConfigMap"}
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(filepath.Base(s.File)+"/"+s.Name, func(t *testing.T) {
			got := run(t, s, false)
			want := outcome{Decision: s.Decision, Asked: s.Asked, Field: s.Field, Needs: s.Needs}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("unstructured; if this is meant, run with -update and read what changed in %s (-want +got):\n%s", s.File, diff)
			}
			if !slices.Contains(builtin, s.GVK().Kind) {
				return
			}
			if diff := cmp.Diff(want, run(t, s, true)); diff != "" {
				t.Errorf("Go type (-want +got):\n%s", diff)
			}
		})
	}
}

// Whoever is allowed holds no more than what it used: without any one of the
// grants that were found allowed it is refused, and the refusal is about that.
func TestEveryUsedGrantIsNeeded(t *testing.T) {
	scenarios, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range scenarios {
		s := scenarios[i]
		if s.Decision != Allow {
			continue
		}
		for _, grant := range s.Grants {
			if !slices.Contains(s.Asked, grant) {
				continue
			}
			without := s
			without.Grants = slices.DeleteFunc(slices.Clone(s.Grants), func(g string) bool { return g == grant })
			got := run(t, &without, false)
			if got.Decision != Forbidden {
				t.Errorf("%s: allowed without %s", s.Name, grant)
			}
		}
	}
}
