// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"kube-granular.dev/granular/schema"
)

func TestProblems(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, test := range []struct {
		name  string
		entry Entry
		// want has the field and the fault of each problem.
		want []string
	}{
		{"a key", env("p"), nil},
		{"a domain", env("p", key("example.com/*")), nil},
		{"a key in a domain", env("p", key("example.com/a.b_c-D")), nil},
		{"a domain of one word", env("p", key("team/*")), nil},
		{"a verb", env("p", byVerb), nil},
		{"a role in a namespace", env("p", in("n"), byRole), nil},
		{"values", env("p", only("", "a", "A.b-c_9")), nil},
		{"annotation values", env("p", annotation, allowed("{\"a\": 1}", "ä", " ")), nil},
		{"resources", env("p", forResources("pods", "deployments.apps"), notResources("jobs.batch")), nil},
		{"modes", env("p", audit), nil},
		{"an annotation whose domain has capitals", env("p", annotation, key("Example.com/a")), nil},

		{"no kind", env("p", func(e *Entry) { e.Kind = 0 }), []string{"attributeKind NotSupported"}},
		{"two kinds", env("p", func(e *Entry) { e.Kind = schema.Label | schema.Annotation }),
			[]string{"attributeKind NotSupported"}},
		{"no key", env("p", key("")), []string{"attributeName Required"}},
		{"every key", env("p", key("*")), []string{"attributeName Invalid"}},
		{"every domain", env("p", key("*/*")), []string{"attributeName Invalid"}},
		{"a domain and an asterisk", env("p", key("*.example.com/*")), []string{"attributeName Invalid"}},
		{"part of a domain", env("p", key("example.com/a*")), []string{"attributeName Invalid"}},
		{"part of a key", env("p", key("env*")), []string{"attributeName Invalid"}},
		{"an empty domain", env("p", key("/*")), []string{"attributeName Invalid"}},
		{"an empty name", env("p", key("example.com/")), []string{"attributeName Invalid"}},
		{"two slashes", env("p", key("example.com/a/b")), []string{"attributeName Invalid"}},
		{"a long name", env("p", key(long)), []string{"attributeName Invalid"}},
		{"a space", env("p", key("a b")), []string{"attributeName Invalid"}},
		{"a label whose domain has capitals", env("p", key("Example.com/a")), []string{"attributeName Invalid"}},
		{"a domain of annotations with capitals", env("p", annotation, key("Example.com/*")), []string{"attributeName Invalid"}},
		{"the server's own", env("p", key("kubernetes.io/metadata.name")), []string{"attributeName Forbidden"}},
		{"a controller's hash", env("p", key("pod-template-hash")), []string{"attributeName Forbidden"}},
		{"a stamp", env("p", annotation, key("pods.authority.kube-granular.dev/pods")), []string{"attributeName Forbidden"}},
		{"all stamps of a resource", env("p", annotation, key("deployments.apps.authority.kube-granular.dev/*")), []string{"attributeName Forbidden"}},
		{"the same as a label", env("p", key("deployments.apps.authority.kube-granular.dev/*")), nil},
		{"the group alone", env("p", annotation, key("authority.kube-granular.dev/*")), nil},
		{"the same as an annotation", env("p", annotation, key("pod-template-hash")), nil},
		{"a controller's annotation", env("p", annotation, key("deployment.kubernetes.io/revision")),
			[]string{"attributeName Forbidden"}},

		{"a role of no kind", env("p", func(e *Entry) { e.Role.Kind = "" }), []string{"roleRef.kind NotSupported"}},
		{"another kind", env("p", func(e *Entry) { e.Role.Kind = Verb }), []string{"roleRef.kind NotSupported"}},
		{"a key too long for a verb", env("p", byVerb, key(longKey)), []string{"roleRef Required"}},
		{"such a key and a role", env("p", key(longKey)), nil},
		{"a role for the cluster", env("p", byRole), []string{"roleRef.kind NotSupported"}},
		{"a role of no name", env("p", func(e *Entry) { e.Role.Name = "" }), []string{"roleRef.name Required"}},
		{"a role that no path can hold", env("p", func(e *Entry) { e.Role.Name = "a/b" }),
			[]string{"roleRef.name Invalid"}},
		{"a role that a path leaves out", env("p", func(e *Entry) { e.Role.Name = "." }),
			[]string{"roleRef.name Invalid"}},
		{"a role that a path goes up by", env("p", func(e *Entry) { e.Role.Name = ".." }),
			[]string{"roleRef.name Invalid"}},

		{"both lists", env("p", only("a"), allowed("b")), []string{"allowedValues Forbidden"}},
		{"a value twice", env("p", only("a", "b", "a")), []string{"protectedValues[2] Duplicate"}},
		{"an allowed value twice", env("p", allowed("", "")), []string{"allowedValues[1] Duplicate"}},
		{"no value of a label", env("p", allowed("a", "a b", long, "-a")),
			[]string{"allowedValues[1] Invalid", "allowedValues[2] Invalid", "allowedValues[3] Invalid"}},
		{"a long annotation", env("p", annotation, only(strings.Repeat("a", MaxAnnotationValue+1))),
			[]string{"protectedValues[0] Invalid"}},
		{"an annotation as long as there may be",
			env("p", annotation, only(strings.Repeat("a", MaxAnnotationValue))), nil},
		{"as many values as there may be", env("p", only(numbered(MaxValues)...)), nil},
		{"many values", env("p", only(make([]string, MaxValues+1)...)), []string{"protectedValues Invalid"}},

		{"a mode", env("p", func(e *Entry) { e.Mode = "enforce" }), []string{"mode NotSupported"}},
		{"a subresource", env("p", forResources("pods/status")), []string{"resources[0].resource Invalid"}},
		{"every resource", env("p", forResources("*")), []string{"resources[0] Invalid"}},
		{"every group", env("p", forResources("pods.*")), []string{"resources[0] Invalid"}},
		{"no resource", env("p", notResources(".apps")), []string{"excludeResources[0].resource Required"}},
		{"a kind", env("p", forResources("Pod")), []string{"resources[0].resource Invalid"}},
		{"a group with its version", env("p", forResources("deployments.apps/v1")),
			[]string{"resources[0].group Invalid"}},
		{"a resource twice", env("p", forResources("pods", "pods")), []string{"resources[1] Duplicate"}},
		{"as many resources as there may be", env("p", forResources(numbered(MaxResources)...)), nil},
		{"many resources", env("p", notResources(numbered(MaxResources+1)...)), []string{"excludeResources Invalid"}},
		{"a resource in and out", env("p", forResources("pods"), notResources("pods")),
			[]string{"excludeResources[0] Invalid"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, p := range test.entry.Problems() {
				got = append(got, p.Field+" "+string(p.Fault))
				if p.Detail == "" || strings.Contains(p.String(), "a b") {
					t.Errorf("a poor message: %s", p)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// numbered returns n different words.
func numbered(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("a%d", i))
	}
	return out
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]schema.Attribute{"Label": schema.Label, "Annotation": schema.Annotation, "label": 0, "": 0, "None": 0} {
		if got := KindOf(name); got != want {
			t.Errorf("%q is %s", name, got)
		}
	}
}

// FuzzSyntax checks that the syntax of keys and values is that of upstream's validation.
func FuzzSyntax(f *testing.F) {
	for _, s := range []string{"", "a", "a/b", "A.b/c", "a..b/c", "-a/b", "a/-b", "a/b/c", "a.b", "a/", "/a", "*", "a/*", strings.Repeat("a", 63), strings.Repeat("a", 64),
		"z", "Z", "0", "9-0.z/a", strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "aa/b", strings.Repeat("a.", 130) + "a/b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if isLabelText(s) != (len(validation.IsValidLabelValue(s)) == 0) {
			t.Errorf("%q as a value: %v", s, isLabelText(s))
		}
		if isDomainName(s) != (len(validation.IsDNS1123Subdomain(s)) == 0) {
			t.Errorf("%q as a domain: %v", s, isDomainName(s))
		}
		if strings.HasSuffix(s, "/*") {
			return
		}
		for _, kind := range []schema.Attribute{schema.Label, schema.Annotation} {
			e := Entry{Kind: kind, Key: s, Role: role("p")}
			upstream := s
			if kind == schema.Annotation {
				upstream = strings.ToLower(s) // as upstream's validation of annotations does
			}
			if ok := len(e.Problems()) == 0; ok != (len(validation.IsQualifiedName(upstream)) == 0 && !Reserved(kind, s)) {
				t.Errorf("%q as the key of a %s: %v, %v", s, kind, e.Problems(), validation.IsQualifiedName(upstream))
			}
		}
	})
}
