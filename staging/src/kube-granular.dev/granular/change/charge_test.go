// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/permission"
)

func TestCharge(t *testing.T) {
	w := walkerOf(t, "example.com/v1/Widget")
	for _, test := range []struct {
		fields []string
		want   string
	}{
		{[]string{"metadata", "managedFields"}, "metadata .metadata"},
		{[]string{"metadata", "labels"}, "labels .metadata.labels"},
		{[]string{"spec", "size"}, "example.com/widgetSize .spec.size"},
		{[]string{"spec", "triggerSelfDestructOnSecurityBreach"},
			"selfDestructTrigger .spec.triggerSelfDestructOnSecurityBreach"},
		{[]string{"spec", "colour", "deep"}, "specification .spec"},
		{[]string{"spec", "settings", "a.b"}, "setting(a.b) .spec.settings[a.b]"},
		{[]string{"spec", "settings", "a.b", "deep"}, "setting(a.b) .spec.settings[a.b]"},
		{[]string{"metadata", "labels", "a.com/b"}, "label(a.com) .metadata.labels[a.com/b]"},
		{[]string{"mystery", "deep"}, "- .mystery"},
	} {
		if diff := cmp.Diff([]string{test.want}, verbs(Set{w.Charge(test.fields...)})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.fields, diff)
		}
	}
}

// TestCompareRefuses shows that Compare returns an error for objects that it can't compare, and
// never an empty Set.
func TestCompareRefuses(t *testing.T) {
	pods := walkerOf(t, "/v1/Pod")
	for name, pair := range map[string][2]any{
		"another type":      {&corev1.Node{}, &corev1.Node{}},
		"two types":         {&corev1.ConfigMap{}, &corev1.Pod{}},
		"plain and typed":   {map[string]any{}, &corev1.Pod{}},
		"typed and plain":   {&corev1.Pod{}, map[string]any{}},
		"nothing new":       {&corev1.Pod{}, nil},
		"a nil pointer":     {&corev1.Pod{}, (*corev1.Pod)(nil)},
		"not a pointer":     {corev1.Pod{}, corev1.Pod{}},
		"a pointer to text": {new(string), new(string)},
	} {
		if set, err := pods.Compare(All, pair[0], pair[1]); err == nil {
			t.Errorf("%s: %v", name, verbs(set))
		}
	}
}

// TestOfOneChange shows the top-level field of a change, and its most specific verb or the error if
// it has no verb.
func TestOfOneChange(t *testing.T) {
	w := walkerOf(t, deployment)
	for _, test := range []struct {
		fields    []string
		top, verb string
		err       error
	}{
		{[]string{"metadata", "labels", "a"}, "metadata", "granular:label(a)", nil},
		{[]string{"metadata", "labels", strings.Repeat("k", 300)}, "metadata", "", permission.ErrTooLong},
		{[]string{"spec", "replicas"}, "spec", "granular:replicas", nil},
		{nil, "", "", nil},
	} {
		c := w.Charge(test.fields...)
		if c.Top() != test.top {
			t.Errorf("%s lies under %q", c.String(), c.Top())
		}
		chain := c.Node.Chain()
		if len(chain) == 0 {
			continue
		}
		verb, err := c.Verb(t.Context(), nil, chain[len(chain)-1])
		if !errors.Is(err, test.err) || err == nil && verb.String() != test.verb {
			t.Errorf("the verb of %s is %s, %v", c.String(), verb, err)
		}
	}
}
