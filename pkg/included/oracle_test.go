// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
)

// deed is one possible write: it changes one field of one object with one parameter.
type deed struct {
	verb, group, resource, name string
	kind, field, parameter      string
}

// oracle finds what a role allows by trying every deed. It reads from the registry only the paths
// of permissions, and nothing from the index of this package.
type oracle struct {
	deeds []deed
	// covers has, by kind and path of a field, the permissions that cover the field.
	covers map[[2]string][]*registry.Permission
}

var oracleResources = []string{"configmaps", "deployments.apps", "deployments.apps/scale",
	"deployments.apps/status", "nodes", "robots.example.com"}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	all, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{covers: map[[2]string][]*registry.Permission{}}
	for _, written := range oracleResources {
		k := splitResource(written)
		for _, kind := range all.Kinds {
			if !slices.Contains(kind.Resources, written) {
				continue
			}
			for _, field := range fields(all, kind.Kind) {
				for i := range all.Permissions {
					p := &all.Permissions[i]
					if slices.ContainsFunc(paths(p, kind.Kind), func(path string) bool { return below(field, path) }) {
						o.covers[[2]string{kind.Kind, field}] = append(o.covers[[2]string{kind.Kind, field}], p)
					}
				}
				for _, verb := range []string{"update", "patch", "create"} {
					for _, name := range []string{"a", "b"} {
						for _, parameter := range []string{"x", "y", "x/k"} {
							o.deeds = append(o.deeds, deed{verb, k.group, k.resource, name, kind.Kind, field, parameter})
						}
					}
				}
			}
		}
	}
	return o
}

// fields returns the paths of a kind that have a permission.
func fields(all *registry.Registry, kind string) []string {
	var out []string
	for i := range all.Permissions {
		out = append(out, paths(&all.Permissions[i], kind)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func paths(p *registry.Permission, kind string) []string {
	var out []string
	for _, place := range p.Places {
		if slices.Contains(place.Kinds, kind) || slices.Contains(place.Kinds, registry.All) {
			out = append(out, place.Path)
		}
	}
	return out
}

// below reports whether a field is at a path or below it.
func below(field, path string) bool {
	rest, has := strings.CutPrefix(field, path)
	return has && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// may reports whether rules allow a deed.
func (o *oracle) may(rules []rbacv1.PolicyRule, d deed) bool {
	has := func(verb string) bool {
		rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{d.group},
			Resources: []string{d.resource}, ResourceNames: []string{d.name}}
		covers, _ := validation.Covers(rules, []rbacv1.PolicyRule{rule})
		return covers
	}
	covered := func(field string) bool {
		for _, p := range o.covers[[2]string{d.kind, field}] {
			verb := "granular:" + p.Name
			if p.Parameter == nil {
				if has(verb) {
					return true
				}
				continue
			}
			parameters := []string{d.parameter}
			if p.Parameter.Treatment == string(permission.SlashDelimitedPrefix) {
				domain, _, isKey := strings.Cut(d.parameter, "/")
				if parameters = []string{domain, "/" + domain}; isKey {
					parameters[1] = d.parameter
				}
			}
			for _, parameter := range parameters {
				if has(verb + "(" + parameter + ")") {
					return true
				}
			}
		}
		return false
	}
	if has(d.verb) {
		return true // no permission of Kubernetes is excluded, see TestRegistryExcludesNothing
	}
	// A created object has a name, which is metadata.
	return has(permission.General) && covered(d.field) && (d.verb != "create" || covered(".metadata"))
}

// TestNobodyGrantsMore takes random rules of a granter, random rules that the granter grants to a
// user, and random rules that the user holds already. If included rules count as held by the
// granter, the user must not be able to do more with the granted rules than with the rules of the
// granter in their place.
func TestNobodyGrantsMore(t *testing.T) {
	const cases = 10_000
	o := newOracle(t)
	random := rand.New(rand.NewPCG(25, 7))
	granted, literal := 0, 0
	for n := range cases {
		resource := oracleResources[random.IntN(len(oracleResources))]
		granter, others := someRules(random, resource), someRules(random, resource)
		// A user who holds granular:metadata already lacks only the verb "granular" to create
		// objects, and a granted "granular" would add that. So the test leaves out such rules.
		others = slices.DeleteFunc(others, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Verbs, "granular:metadata") })
		var missing []rbacv1.PolicyRule
		for _, r := range someRules(random, resource) {
			missing = append(missing, validation.BreakdownRule(r)...)
		}
		_, missing = validation.Covers(granter, missing)
		if len(missing) == 0 {
			literal++
			continue
		}
		left := Missing(granter, missing)
		held := slices.DeleteFunc(slices.Clone(missing), func(r rbacv1.PolicyRule) bool {
			return slices.ContainsFunc(left, func(l rbacv1.PolicyRule) bool { return fmt.Sprint(l) == fmt.Sprint(r) })
		})
		if len(held) == 0 {
			continue
		}
		granted++
		with, without := append(slices.Clone(others), held...), append(slices.Clone(others), granter...)
		for _, d := range o.deeds {
			if k := splitResource(resource); d.group == k.group && d.resource == k.resource && o.may(with, d) && !o.may(without, d) {
				t.Fatalf("case %d: %v may be granted by a holder of %v: with %v that allows %+v, which the granter can't do", n, held, granter, others, d)
			}
		}
	}
	if granted < cases/10 {
		t.Errorf("something may be granted in %d of %d cases, which proves little", granted, cases)
	}
	t.Logf("%d cases: %d in which something is included, %d in which all is held literally", cases, granted, literal)
}

var oracleVerbs = []string{
	"update", "patch", "create", "granular", "granular:metadata", "granular:labels", "granular:label(x)", "granular:label(y)", "granular:label(x/k)", "granular:label(/x)", "granular:replicas",
	"granular:specification", "granular:data", "granular:conditions", "granular:condition(x)", "granular:status", "granular:podTemplateImage", "granular:podTemplate",
	"granular:podTemplateContainer(x)", "granular:podTemplateContainerImage(x)", "granular:podTemplateInitContainer(x)",
	"granular:protectedLabel(x)", "granular:label", "*",
}

// someRules returns random rules, mostly for one resource.
func someRules(random *rand.Rand, resource string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for range 1 + random.IntN(3) {
		k := splitResource(resource)
		if random.IntN(8) == 0 {
			k = splitResource(oracleResources[random.IntN(len(oracleResources))])
		}
		r := rbacv1.PolicyRule{APIGroups: []string{k.group}, Resources: []string{k.resource}}
		if random.IntN(10) == 0 {
			r.Resources = []string{"*"}
		}
		for range 1 + random.IntN(4) {
			r.Verbs = append(r.Verbs, oracleVerbs[random.IntN(len(oracleVerbs)-random.IntN(2))])
		}
		if random.IntN(3) == 0 {
			r.Verbs = append(r.Verbs, "update", "patch")
		}
		if random.IntN(4) == 0 {
			r.ResourceNames = []string{[]string{"a", "b"}[random.IntN(2)]}
		}
		out = append(out, r)
	}
	return out
}

// TestRegistryExcludesNothing checks that no permission of Kubernetes is excluded, as the oracle
// assumes.
func TestRegistryExcludesNothing(t *testing.T) {
	all, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Permissions {
		if p.Excluded {
			t.Errorf("%s is excluded, but the oracle assumes that update suffices", p.Name)
		}
	}
}
