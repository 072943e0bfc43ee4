// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/pkg/crd"
	"kube-granular.dev/pkg/expression"
	"kube-granular.dev/pkg/fieldpermission"
	. "kube-granular.dev/pkg/fieldpermission/fieldpermissiontest"
)

// TestDefinitionWarnings holds that a change of a definition that puts an entry out of force is accepted with a
// warning that names the entry, and that no other change warns.
//
// Attack: the upgrade of a chart removes or retypes a closed field, and nobody sees that it is open
// Answer: a warning names the FieldPermission, and the field around a retyped one is closed
func TestDefinitionWarnings(t *testing.T) {
	index := fieldpermission.NewIndex()
	p := object(argo, "v1alpha1", "Enforce", field(".spec.destination.server", "argoproj.io/server", true),
		field(".spec.syncPolicy", "argoproj.io/syncPolicy", false))
	p.ResourceVersion = "1"
	index.Observe(p, false)
	definitions := func(x *fieldpermission.Index) fieldpermission.Definitions {
		return fieldpermission.Definitions{
			Extensions: crd.New(func() bool { return true }, expression.Accepted()), Index: func() *fieldpermission.Index { return x },
		}
	}
	type properties = map[string]apiextensionsv1.JSONSchemaProps
	for name, tc := range map[string]struct {
		change func(spec properties, crd *apiextensionsv1.CustomResourceDefinition)
		want   []string
	}{
		"nothing":       {func(properties, *apiextensionsv1.CustomResourceDefinition) {}, nil},
		"another field": {func(spec properties, _ *apiextensionsv1.CustomResourceDefinition) { delete(spec, "project") }, nil},
		"removed": {func(spec properties, _ *apiextensionsv1.CustomResourceDefinition) { delete(spec, "syncPolicy") },
			[]string{"FieldPermission applications.argoproj.io gives .spec.syncPolicy the permission argoproj.io/syncPolicy, which has no effect for this definition: FieldAbsent"}},
		"retyped": {func(spec properties, _ *apiextensionsv1.CustomResourceDefinition) {
			spec["destination"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}, []string{".spec.destination.server the permission argoproj.io/server, which applies to the whole of .spec.destination"}},
		"a default": {func(spec properties, _ *apiextensionsv1.CustomResourceDefinition) {
			spec["destination"].Properties["server"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"x"`)}}
		}, []string{"closes .spec.destination.server, and a default of version v1alpha1 sets it"}},
		"a default around it": {func(spec properties, _ *apiextensionsv1.CustomResourceDefinition) {
			destination := spec["destination"]
			destination.Default = &apiextensionsv1.JSON{Raw: []byte(`{"server":"x"}`)}
			spec["destination"] = destination
		}, []string{"closes .spec.destination.server, and a default of version v1alpha1 sets it"}},
		"a default around it, without it": {func(spec properties, _ *apiextensionsv1.CustomResourceDefinition) {
			destination := spec["destination"]
			destination.Default = &apiextensionsv1.JSON{Raw: []byte(`{"name":"x"}`)}
			spec["destination"] = destination
		}, nil},
		"a default of a field that is not closed": {func(spec properties, _ *apiextensionsv1.CustomResourceDefinition) {
			spec["project"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"x"`)}}
		}, nil},
		"a webhook that converts": {func(_ properties, crd *apiextensionsv1.CustomResourceDefinition) {
			url := "https://example.com"
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url}, ConversionReviewVersions: []string{"v1"}}}
		}, []string{"the webhook that converts the objects can change each of them"}},
		"a version that is gone": {func(_ properties, crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false },
			[]string{"is written for version v1alpha1, which is not served"}},
	} {
		before, after := Definition(t, Applications), Definition(t, Applications)
		spec := after.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		tc.change(spec.Properties, after)
		from, to := &apiextensions.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
		for v1, internal := range map[*apiextensionsv1.CustomResourceDefinition]*apiextensions.CustomResourceDefinition{before: from, after: to} {
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, internal, nil); err != nil {
				t.Fatal(err)
			}
		}
		own := definitions(nil).Warnings(to, from)
		got := slices.DeleteFunc(definitions(index).Warnings(to, from), func(text string) bool { return slices.Contains(own, text) })
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tc.want[i]) {
				t.Errorf("%s: %q, want %q", name, got[i], tc.want[i])
			}
		}
		if again := definitions(index).Warnings(to, to); slices.ContainsFunc(again, func(text string) bool { return strings.Contains(text, "FieldPermission") }) {
			t.Errorf("%s: warned again: %q", name, again)
		}
	}
	if got := definitions(fieldpermission.NewIndex()).Warnings(&apiextensions.CustomResourceDefinition{}, nil); len(got) > 0 {
		t.Errorf("without FieldPermissions: %q", got)
	}
}
