// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"context"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// goTypes has the kinds of the test models for which k8s.io/api has a Go type.
var goTypes = map[string]func() any{
	"apps/v1/Deployment":  func() any { return &appsv1.Deployment{} },
	"/v1/Pod":             func() any { return &corev1.Pod{} },
	"/v1/ConfigMap":       func() any { return &corev1.ConfigMap{} },
	"apps/v1/StatefulSet": func() any { return &appsv1.StatefulSet{} },
	"batch/v1/CronJob":    func() any { return &batchv1.CronJob{} },
}

func walkerOf(t testing.TB, kind string) *Walker {
	t.Helper()
	part := strings.Split(kind, "/")
	tree, err := testmodels.Tree(part[0], part[1], part[2])
	if err != nil {
		t.Fatal(err)
	}
	return NewWalker(tree)
}

// plainOf reads YAML as the API server reads a custom resource. For an empty text it returns nil.
func plainOf(t testing.TB, text string) map[string]any {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// typedOf reads YAML into the Go type of a kind. For an empty text it returns nil.
func typedOf(t testing.TB, kind, text string) any {
	t.Helper()
	make := goTypes[kind]
	if make == nil {
		t.Fatalf("no Go type for %s", kind)
	}
	out := make()
	if strings.TrimSpace(text) == "" {
		return reflect.Zero(reflect.TypeOf(out)).Interface()
	}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// verbs returns a text for each change of a set: its most specific verb, without the prefix
// "granular:", and its path.
func verbs(s Set) []string {
	var out []string
	for i := range s {
		c := &s[i]
		verb := "-"
		for _, p := range c.Node.Chain() {
			if takes := p.Parameter; takes != nil && takes.FromValue {
				continue // the images of these tests have no registry
			}
			v, err := c.Verb(context.Background(), schema.NewCostBudget(1000), p)
			if verb = strings.TrimPrefix(v.String(), "granular:"); err != nil {
				verb = err.Error()
			}
		}
		out = append(out, verb+" "+c.String())
	}
	return out
}

func compareOrFail(t testing.TB, w *Walker, mode Mode, old, new any) Set {
	t.Helper()
	s, err := w.Compare(mode, old, new)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
