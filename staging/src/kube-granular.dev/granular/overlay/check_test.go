// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"fmt"
	"strings"
	"testing"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/overlay"
)

func deepDefinition() []string {
	return []string{"project: {type: string, default: default}",
		"project: {type: object, properties: {a: {type: object, properties: {b: {type: object, properties: {c: {type: string}}}}}}}"}
}

// TestCheck has an attack on paper, or a mistake, for each row. want is a part of the only problem,
// "" if there is none.
func TestCheck(t *testing.T) {
	many := make([]string, overlay.MaxFields+1)
	for i := range many {
		many[i] = fmt.Sprintf(".spec.helm.f%d acme.io/f%d", i, i)
	}
	for name, tc := range map[string]struct {
		replace []string
		fields  []string
		want    string
	}{
		"what works":              {fields: everything},
		"as many as may be":       {fields: many[:overlay.MaxFields]},
		"one more":                {fields: many, want: "-1 : more than 64 entries"},
		"a name of the registry":  {fields: []string{".spec.project labels"}, want: "0 permission: must have a domain"},
		"the draft's finalizer":   {fields: []string{".metadata.finalizers finalizer excluded"}, want: "0 permission: must have a domain"},
		"the draft's hostNetwork": {fields: []string{".spec.project hostNetwork excluded"}, want: "0 permission: must have a domain"},
		"a reserved name":         {fields: []string{".spec.project protectedLabel"}, want: "0 permission: must have a domain"},
		"a malformed name":        {fields: []string{".spec.project acme.io/A"}, want: "0 permission: the name must begin with a lower-case letter"},
		"a verb":                  {fields: []string{".spec.project granular:acme.io/a"}, want: "0 permission: the name must not begin with"},
		"a name of the kind":      {fields: []string{".spec.project example.io/key"}, want: "0 permission: the kind has a permission example.io/key"},
		"a name that a scope makes one of the kind": {replace: []string{"x-kubernetes-permission-verb: example.io/key", "x-kubernetes-permission-verb: example.io/templateKey"}, fields: []string{".spec.template.image example.io/key"}, want: "0 permission: the kind has a permission example.io/templateKey"},
		"a name that a scope makes another":         {fields: []string{".spec.project example.io/templateX", ".spec.template.image example.io/x"}, want: "1 permission: inside a scope"},
		"the name of a scope":                       {fields: []string{".spec.project example.io/template"}, want: "0 permission: the kind has"},
		"one name for two fields":                   {fields: []string{".spec.project acme.io/a excluded", ".spec.destination acme.io/a excluded"}},
		"one name, excluded and not":                {fields: []string{".spec.project acme.io/a", ".spec.destination acme.io/a excluded"}, want: "1 excluded: another entry has the same permission"},
		"one path twice":                            {fields: []string{".spec.project acme.io/a", ".spec.project acme.io/b"}, want: "1 path: another entry has the same path"},
		"a field that the author excludes":          {fields: []string{".spec.guard acme.io/guard excluded"}, want: "0 path: the author of the kind excludes"},
		"a name for it":                             {fields: []string{".spec.guard acme.io/guard"}, want: "0 path: the author of the kind excludes"},
		"inside it":                                 {fields: []string{".spec.guard.mode acme.io/mode"}},
		"around it, excluded":                       {fields: []string{".spec.vault acme.io/vault excluded"}, want: "0 excluded: the author of the kind excludes a field inside"},
		"around it":                                 {fields: []string{".spec.vault acme.io/vault"}},
		"a name inside an exclusion":                {fields: []string{".spec.destination acme.io/a excluded", ".spec.destination.server acme.io/b"}},
		"no such field":                             {fields: []string{".spec.destination.host acme.io/a"}, want: "0 path: version v1 has no such field; it has .spec.destination"},
		"no such field at the root":                 {fields: []string{".data acme.io/a"}, want: "it has the root"},
		"a scalar":                                  {fields: []string{".spec.project.x acme.io/a"}, want: "can't go on after .spec.project in version v1"},
		"no list":                                   {fields: []string{".spec.destination[*] acme.io/a"}, want: "can't go on after .spec.destination"},
		"no object":                                 {fields: []string{".spec.sources.path acme.io/a"}, want: "can't go on after .spec.sources"},
		"a key of a map":                            {fields: []string{".spec.limits.cpu acme.io/a"}, want: "can't go on after .spec.limits"},
		"elements that no schema knows":             {fields: []string{".spec.helm.values[*] acme.io/a excluded"}, want: "can't go on after .spec.helm.values"},
		"elements without identity":                 {fields: []string{".spec.sources[*].path acme.io/a excluded"}, want: "0 excluded: elements of the list .spec.sources have no identity"},
		"a name for them":                           {fields: []string{".spec.sources[*].path acme.io/a"}},
		"elements with identity":                    {fields: []string{".spec.ports[*].number acme.io/a excluded", ".spec.ports[*] acme.io/b excluded"}},
		"labels":                                    {fields: []string{".metadata.labels acme.io/a"}, want: "0 path: use a ClusterProtectedAttribute"},
		"annotations":                               {fields: []string{".metadata.annotations[*] acme.io/a"}, want: "0 path: use a ClusterProtectedAttribute"},
		"a label":                                   {fields: []string{".metadata.labels.x acme.io/a"}, want: "0 path: use a ClusterProtectedAttribute"},
		"metadata":                                  {fields: []string{".metadata acme.io/a"}, want: "0 path: name finalizers or ownerReferences"},
		"the name":                                  {fields: []string{".metadata.name acme.io/a"}, want: "0 path: of metadata only"},
		"the namespace":                             {fields: []string{".metadata.namespace acme.io/a"}, want: "0 path: of metadata only"},
		"managed fields":                            {fields: []string{".metadata.managedFields acme.io/a"}, want: "0 path: of metadata only"},
		"a system field":                            {fields: []string{".metadata.uid acme.io/a"}, want: "0 path: of metadata only"},
		"a value of metadata":                       {fields: []string{".metadata[*] acme.io/a"}, want: "0 path: of metadata only"},
		"one finalizer":                             {fields: []string{".metadata.finalizers[*] acme.io/a"}, want: "0 path: the field can have an entry only as a whole"},
		"owners":                                    {fields: []string{".metadata.ownerReferences acme.io/a excluded"}},
		"the kind":                                  {fields: []string{".kind acme.io/a"}, want: "0 path: names the kind"},
		"the version":                               {fields: []string{".apiVersion acme.io/a"}, want: "0 path: names the kind"},
		"three on a path":                           {replace: deepDefinition(), fields: []string{".spec.project acme.io/a", ".spec.project.a acme.io/b", ".spec.project.a.b acme.io/c"}},
		"four on a path":                            {replace: deepDefinition(), fields: []string{".spec.project acme.io/a", ".spec.project.a acme.io/b", ".spec.project.a.b acme.io/c", ".spec.project.a.b.c acme.io/d"}, want: "3 path: inside more than 2 other entries"},
		"too long a name inside a scope":            {fields: []string{".spec.template.image acme.io/a" + strings.Repeat("b", 60)}, want: "-1 : the entries can't be enforced"},
		"a kind that can't be compiled":             {replace: []string{"x-kubernetes-permission-verb: replicas", "x-kubernetes-permission-verb: B"}, fields: []string{".spec.project acme.io/a"}, want: "-1 : the permissions of the kind can't be compiled"},
	} {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, overlay.Check(definitions(t, tc.replace...), application, entries(t, tc.fields...)), tc.want)
		})
	}
}

func wantProblem(t *testing.T, problems []overlay.Problem, want string) {
	t.Helper()
	var got []string
	for _, p := range problems {
		if text := fmt.Sprintf("%d %s: %s", p.Index, p.Part, p.Message); len(got) == 0 || got[len(got)-1] != text {
			got = append(got, text)
		}
	}
	if want == "" && got != nil || want != "" && (len(got) == 0 || !strings.Contains(got[0], want)) {
		t.Errorf("%q, wanted %q", got, want)
	}
}

// TestNeverExcluded checks which resources take no exclusions, and that they take names.
func TestNeverExcluded(t *testing.T) {
	for source, want := range map[string]string{
		"leases.coordination.k8s.io": "leader election", "events": "events", "endpoints": "network", "events.events.k8s.io": "events",
		"endpointslices.discovery.k8s.io": "network", "namespaces": "finalizers", "certificatesigningrequests.certificates.k8s.io": "nodes join",
		"fieldpermissions.authority.kube-granular.dev":                 "nobody could change",
		"clusterprotectedattributes.authority.kube-granular.dev":       "nobody could change",
		"roles.rbac.authorization.k8s.io":                              "nobody could grant",
		"validatingwebhookconfigurations.admissionregistration.k8s.io": "admission",
		"customresourcedefinitions.apiextensions.k8s.io":               "definitions",
		"apiservices.apiregistration.k8s.io":                           "registrations",
		"subjectaccessreviews.authorization.k8s.io":                    "not stored",
		"csinodes.storage.k8s.io":                                      "kubelets create", "resourceslices.resource.k8s.io": "nodes publish",
		"podcertificaterequests.certificates.k8s.io": "kubelets create", "leasecandidates.coordination.k8s.io": "leader election",
	} {
		group := gvkschema.ParseGroupResource(source).Group
		kind := gvkschema.GroupVersionKind{Group: group, Version: "v1", Kind: "Application"}
		all := definitions(t, "{group: example.io, version: v1", fmt.Sprintf("{group: %q, version: v1", group))
		e := entries(t, ".spec.project acme.io/a excluded")
		e.Source = source
		wantProblem(t, overlay.Check(all, kind, e), want)
		e.Fields[0].Excluded = false
		wantProblem(t, overlay.Check(all, kind, e), "")
	}
}

// TestBuiltinKinds checks that built-in kinds take names, and exclusions only in the versions of the
// table. Package test/exclusions tests what the table is for.
func TestBuiltinKinds(t *testing.T) {
	all, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for source, kind := range map[string]gvkschema.GroupVersionKind{
		"pods":             {Version: "v1", Kind: "Pod"},
		"deployments.apps": {Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		e := entries(t, ".metadata.finalizers acme.io/a", ".spec acme.io/b")
		e.Source = source
		wantProblem(t, overlay.Check(all, kind, e), "")
		e.Fields[0].Excluded = true
		wantProblem(t, overlay.Check(all, kind, e), "")
		kind.Version, e.Version = "v9", "v9"
		wantProblem(t, overlay.Check(all, kind, e), "0 excluded: no exclusion is possible here: exclusions of "+source+" are not enforced in version v9")
	}
}

// FuzzApply applies any entries to any definitions. Where an exclusion is reported as in force, the
// tree has it; the definitions stay the same; and no exclusion of the definitions is lost.
func FuzzApply(f *testing.F) {
	data := asJSON(f, definitions(f))
	for _, line := range everything {
		words := strings.Fields(line)
		f.Add(data, words[0], ".spec.destination", true)
	}
	f.Add(data, ".spec.ports", ".spec.ports[*].number", true)
	f.Add(data, ".spec.sources[*].path", ".spec.project.a", true)
	f.Fuzz(func(t *testing.T, text, first, second string, enforced bool) {
		all := map[string]*spec.Schema{}
		if unmarshal(text, &all) != nil {
			return
		}
		e := &overlay.Entries{Source: "applications.example.io", Version: "v1"}
		for i, path := range []string{first, second} {
			parsed, err := overlay.ParsePath(path)
			if err != nil {
				return
			}
			e.Fields = append(e.Fields, overlay.Field{Path: parsed, Permission: fmt.Sprintf("acme.io/f%d", i), Excluded: i == 0 || enforced})
		}
		checkApplied(t, all, e, enforced)
	})
}
