// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"fmt"
	"strings"
	"testing"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/overlay"
)

// TestRefusedBuiltin checks which exclusions of built-in kinds are refused: those of fields that the
// server itself writes, and of fields that it sets because of others which another permission opens.
// A name is never refused for that.
func TestRefusedBuiltin(t *testing.T) {
	all, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	const claims = "persistentvolumeclaims"
	kinds := map[string]gvkschema.GroupVersionKind{
		"pods": {Version: "v1", Kind: "Pod"}, "services": {Version: "v1", Kind: "Service"},
		claims:                        {Version: "v1", Kind: "PersistentVolumeClaim"},
		"ingresses.networking.k8s.io": {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	}
	const also = "0 excluded: the server also sets "
	// The schema is looked at only if nothing else is wrong, and there is none of these kinds.
	const accepted = "schema: no definition for kind"
	const protocol = ".spec.ports[*].protocol acme.io/p"
	const data, ref = ".spec.dataSource acme.io/a excluded", ".spec.dataSourceRef acme.io/a excluded"
	const address, addresses = ".spec.clusterIP acme.io/a excluded", ".spec.clusterIPs acme.io/a excluded"
	const kind = ".spec.type acme.io/a excluded"
	const families, policy = ".spec.ipFamilies acme.io/a excluded", ".spec.ipFamilyPolicy acme.io/a excluded"
	for name, tc := range map[string]struct {
		source string
		fields []string
		want   string
	}{
		"the status":                 {"pods", []string{".status.phase acme.io/a excluded"}, "the server itself write the status"},
		"what is not stored":         {"services", []string{".spec.sessionAffinityConfig acme.io/a excluded"}, "does not store .spec.session"},
		"what is filled":             {"services", []string{".spec.externalTrafficPolicy acme.io/a excluded"}, "sets .spec.external"},
		"what a binding sets":        {"pods", []string{".spec.nodeName acme.io/a excluded"}, "a binding sets the node"},
		"inside it":                  {"pods", []string{".spec.tolerations[*] acme.io/a excluded"}, "admission adds tolerations"},
		"around it":                  {"pods", []string{".spec.securityContext acme.io/a excluded"}, "an annotation sets the AppArmor profile"},
		"a group with a dot":         {"ingresses.networking.k8s.io", []string{".spec.ingressClassName acme.io/a excluded"}, "means the same"},
		"a name":                     {"pods", []string{".spec.nodeName acme.io/a", ".status acme.io/b"}, ""},
		"a name in an exclusion":     {"services", []string{".spec acme.io/s excluded", ".spec.sessionAffinityConfig acme.io/p"}, "1 excluded: no exclusion is possible here"},
		"a name in a name":           {"services", []string{".spec acme.io/s", protocol}, accepted},
		"a name beside one":          {"services", []string{".spec.selector acme.io/s excluded", protocol}, accepted},
		"a name and an exclusion":    {"pods", []string{".spec.nodeName acme.io/a", ".spec.nodeName acme.io/b excluded"}, "1 excluded: "},
		"one of two":                 {claims, []string{data}, also + ".spec.dataSource"},
		"the other":                  {claims, []string{ref}, also + ".spec.dataSourceRef"},
		"both":                       {claims, []string{data, ref}, accepted},
		"both, by two permissions":   {claims, []string{data, ".spec.dataSourceRef acme.io/b excluded"}, also},
		"both, and more beside":      {claims, []string{data, ref, ".spec.resources acme.io/b excluded"}, accepted},
		"both, one opened by a part": {claims, []string{data, ref, ".spec.dataSourceRef.name acme.io/b excluded"}, also},
		"the source as a name":       {claims, []string{data, ".spec.dataSourceRef acme.io/b"}, also},
		"the whole specification":    {"services", []string{".spec acme.io/a excluded"}, accepted},
		"ports of nodes":             {"services", []string{".spec.ports[*].nodePort acme.io/a excluded"}, "because of .spec.allocateLoadBalancerNodePorts, which takes none"},
		"all of a group":             {"services", []string{address, addresses, kind, families, policy}, accepted},
		"one is missing":             {"services", []string{address, addresses, kind, families}, "because of .spec.ipFamilyPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			e := entries(t, tc.fields...)
			e.Source = tc.source
			wantProblem(t, overlay.Check(all, kinds[tc.source], e), tc.want)
		})
	}
	e := &overlay.Entries{Source: "pods", Version: "v1", Fields: []overlay.Field{{Permission: "acme.io/a", Excluded: true}}}
	wantProblem(t, overlay.Check(all, kinds["pods"], e), "0 path: empty")
}

// nodes returns replacements by which .spec.project is a node, whose field child is one too.
func nodes(replace ...string) []string {
	return append([]string{"project: {type: string, default: default}", "project: {$ref: '#/definitions/io.example.v1.Node'}",
		"io.example.v1.Application:\n", "io.example.v1.Node:\n  type: object\n  properties:\n" +
			"    child: {$ref: '#/definitions/io.example.v1.Node'}\n    leaf: {type: string}\nio.example.v1.Application:\n"}, replace...)
}

// TestAuthorExcludesInside checks that an exclusion of the author is found in lists, maps and definitions
// that contain themselves.
func TestAuthorExcludesInside(t *testing.T) {
	const inside = "0 excluded: the author of the kind excludes a field inside"
	const verb = "x-kubernetes-permission-verb: example.io/inner, x-kubernetes-permission-excluded: true"
	const key = "{type: object, properties: {key: {type: string, " + verb + "}}}"
	plain := []string{"project: {type: string, default: default}", "project: {$ref: '#/definitions/io.example.v1.Plain'}",
		"io.example.v1.Application:\n", "io.example.v1.Plain: {type: object, properties: {inner: {type: string}}}\nio.example.v1.Application:\n"}
	for name, tc := range map[string]struct {
		replace []string
		field   string
		want    string
	}{
		"in a list":            {[]string{"number: {type: integer}", "number: " + key}, ".spec.ports[*].number acme.io/a excluded", inside},
		"in a map":             {[]string{"value: {type: string}", "value: " + key}, ".spec.limits[*].value acme.io/a excluded", inside},
		"beside a map":         {[]string{"value: {", "x: " + key + ", value: {"}, ".spec.limits[*].value acme.io/a excluded", ""},
		"in a definition":      {append(plain, "inner: {type: string}", "inner: "+key), ".spec.project acme.io/a excluded", inside},
		"not in a definition":  {nodes(), ".spec.project acme.io/a excluded", ""},
		"unknown fields below": {[]string{"helm: {type: object, ", "helm: {type: object, " + verb + ", "}, ".spec.helm.values acme.io/a", ""},
	} {
		wantProblem(t, overlay.Check(definitions(t, tc.replace...), application, entries(t, tc.field)), tc.want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestAlsoReachable checks the other paths to the definition of an exclusion that is in force.
func TestAlsoReachable(t *testing.T) {
	node := "{$ref: '#/definitions/io.example.v1.Node'}"
	replace := nodes("number: {type: integer}", "number: "+node, "value: {type: string}", "value: "+node,
		"phase: {type: string}", "phase: "+node, "server: {type: string}", "server: "+node)
	const direct = ".spec.project.leaf acme.io/a excluded"
	others := []string{
		".spec.destination.server.leaf", ".spec.destination.server.child.leaf", ".spec.limits[*].value.leaf", ".spec.limits[*].value.child.leaf",
		".spec.ports[*].number.leaf", ".spec.ports[*].number.child.leaf", ".spec.project.child.leaf",
	}
	for name, tc := range map[string]struct {
		fields   []string
		enforced bool
		want     []string
	}{
		"an exclusion":         {[]string{direct}, true, others},
		"in mode Audit":        {[]string{direct}, false, nil},
		"a name":               {[]string{".spec.project.leaf acme.io/a"}, true, nil},
		"one that is degraded": {[]string{".spec.project.leaf.x acme.io/a excluded"}, true, nil},
		"no definition":        {[]string{".spec.replicas acme.io/a excluded"}, true, nil},
		"one more, the same":   {[]string{direct, ".spec.project.child.leaf acme.io/a excluded"}, true, others[:6]},
		"one more, another":    {[]string{direct, ".spec.project.child.leaf acme.io/b excluded"}, true, others},
	} {
		_, outcomes := applied(t, definitions(t, replace...), entries(t, tc.fields...), tc.enforced)
		got := map[string]bool{}
		for _, path := range outcomes[0].AlsoReachable {
			got[path] = true
		}
		wrong := len(got) != len(outcomes[0].AlsoReachable)
		for _, path := range tc.want {
			wrong = wrong || !got[path]
		}
		// The field itself has an entry with the permission.
		if wrong || len(got) != len(tc.want) {
			t.Errorf("%s: %s", name, strings.Join(outcomes[0].AlsoReachable, " "))
		}
	}
}

// TestTwins checks that a field of containers is also reachable in ephemeral containers, and one of a pod in its containers, if
// these have it.
//
// Attack: the user of a pod is closed, and its container has another one, which counts first
// Was: nobody was told
// Answer: the status and the plan list the field of containers
func TestTwins(t *testing.T) {
	for _, pair := range [][2]string{
		{"Container", "EphemeralContainer"}, {"PodSecurityContext", "SecurityContext"}, {"SecurityContext", "PodSecurityContext"},
	} {
		closed, twin := "io.k8s.api.core.v1."+pair[0], "io.k8s.api.core.v1."+pair[1]
		replace := []string{
			"project: {type: string, default: default}", "project: {$ref: '#/definitions/" + closed + "'}",
			"server: {type: string}", "server: {$ref: '#/definitions/" + twin + "'}",
			"io.example.v1.Application:\n", closed + ": {type: object, properties: {image: {type: string}, probe: {type: string}}}\n" +
				twin + ": {type: object, properties: {image: {type: string}}}\nio.example.v1.Application:\n",
		}
		for field, want := range map[string]string{"image": ".spec.destination.server.image", "probe": ""} {
			_, outcomes := applied(t, definitions(t, replace...), entries(t, ".spec.project."+field+" acme.io/a excluded"), true)
			if got := strings.Join(outcomes[0].AlsoReachable, " "); got != want {
				t.Errorf("%s of %s: %q, want %q", field, pair[0], got, want)
			}
		}
	}
}

// TestReachableBounds checks that the paths are limited: none has more steps than a path may have before the
// field, and the search goes no deeper once it has found 32.
func TestReachableBounds(t *testing.T) {
	const node = "{$ref: '#/definitions/io.example.v1.Node'}"
	deep, wide := node, "{type: object, properties: {"
	for i := range 20 {
		deep = "{type: object, properties: {n: " + node + ", z: " + deep + "}}"
		wide += fmt.Sprintf("f%d: %s, ", i+10, node)
	}
	for name, tc := range map[string]struct {
		field string
		want  int
	}{
		"deep": {deep, 1 + 14 + 13},
		"wide": {wide + "}}", 1 + 2*15 + 5},
	} {
		replace := nodes("replicas: {type: integer, x-kubernetes-permission-verb: replicas}", "replicas: "+tc.field)
		_, outcomes := applied(t, definitions(t, replace...), entries(t, ".spec.project.leaf acme.io/a excluded"), true)
		if got := len(outcomes[0].AlsoReachable); got != tc.want {
			t.Errorf("%s: %d paths, want %d: %v", name, got, tc.want, outcomes[0].AlsoReachable)
		}
	}
}

// TestInsideExclusions checks that each entry inside an exclusion is one, in whatever order they are
// written, and that no other entry becomes one.
func TestInsideExclusions(t *testing.T) {
	for name, tc := range map[string]struct {
		fields []string
		want   string
	}{
		"the inner one first":   {[]string{".spec.destination.server acme.io/a", ".spec.destination acme.io/b excluded"}, "ee"},
		"one that is idle":      {[]string{".spec.project acme.io/a excluded", ".spec.project.x acme.io/b"}, "e-"},
		"inside a name":         {[]string{".spec.syncPolicy acme.io/a", ".spec.syncPolicy.automated acme.io/b"}, "--"},
		"elsewhere":             {[]string{".spec.destination acme.io/a excluded", ".spec.syncPolicy.automated acme.io/b"}, "e-"},
		"two of the same field": {[]string{".spec.project acme.io/a excluded", ".spec.project acme.io/b"}, "e-"},
		"inside two": {[]string{".spec.syncPolicy.automated.prune acme.io/c", ".spec.syncPolicy.automated acme.io/b",
			".spec.syncPolicy acme.io/a excluded"}, "eee"},
	} {
		_, outcomes, err := overlay.Apply(definitions(t), application, entries(t, tc.fields...), true)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, o := range outcomes {
			got += map[bool]string{true: "e", false: "-"}[o.Excluded]
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
