// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"strings"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/pkg/cli/ui/model"
)

// addBuiltin adds the kinds of Kubernetes from the registry. It has no types and descriptions.
func (m *maker) addBuiltin() error {
	all, err := registry.Load()
	if err != nil {
		return err
	}
	places := registryPlaces(all)
	for i := range all.Kinds {
		m.addRegistered(&all.Kinds[i], places)
	}
	for i := range all.Kinds {
		m.addRegisteredParts(&all.Kinds[i], places)
	}
	return nil
}

// addRegistered adds one kind of the registry, in its first version.
func (m *maker) addRegistered(k *registry.Kind, places map[string][]place) {
	version, kind, _ := strings.Cut(k.Kind, " ")
	gv, err := kubeschema.ParseGroupVersion(version)
	if err != nil || len(k.Resources) == 0 || onlyCreated[gv.Group] {
		return
	}
	first, sub, _ := strings.Cut(k.Resources[0], "/")
	resource := kubeschema.ParseGroupResource(first)
	if sub != "" || m.kindOf(resource) != model.None || onlyCreated[first] {
		return
	}
	out := model.Kind{Group: resource.Group, Version: gv.Version, Kind: kind, Resource: resource.Resource, Namespaced: !clusterWide(resource)}
	for _, resource := range k.Resources {
		if name, sub, _ := strings.Cut(resource, "/"); name == first {
			out.Parts = append(out.Parts, model.Part{Name: sub})
		}
	}
	t := newTarget()
	out.Root, out.Excluded = m.addPlaces(slices.Concat(places[registry.All], places[k.Kind]), t)
	out.Rank = rankOf(resource, out.Excluded)
	m.addKind(out, t)
}

// addRegisteredParts adds a kind that is only a subresource of others, such as Scale, to these.
func (m *maker) addRegisteredParts(k *registry.Kind, places map[string][]place) {
	_, kind, _ := strings.Cut(k.Kind, " ")
	for _, resource := range k.Resources {
		first, sub, _ := strings.Cut(resource, "/")
		i := m.kindOf(kubeschema.ParseGroupResource(first))
		if i == model.None || m.out.Kinds[i].Kind == kind || sub == "" {
			continue
		}
		part := model.Part{Name: sub, Kind: kind}
		for _, origin := range places[k.Kind] {
			if origin.steps[0] != "spec" {
				continue
			}
			field := model.PartField{Path: "." + strings.Join(origin.steps, "."), Excluded: origin.excluded}
			for _, v := range origin.cover {
				field.Cover = append(field.Cover, m.verb(v, &m.targets[i]))
			}
			part.Fields = append(part.Fields, field)
		}
		if part.Fields = leaves(part.Fields); len(part.Fields) == 0 {
			continue
		}
		scaled := &m.out.Kinds[i]
		scaled.Parts = append(scaled.Parts, part)
		m.targets[i].parts = append(m.targets[i].parts, partOf(scaled, sub))
	}
}

// kindOf returns the index of the kind of a resource, or None.
func (m *maker) kindOf(resource kubeschema.GroupResource) int {
	for i := range m.out.Kinds {
		if groupResource(&m.out.Kinds[i]) == resource {
			return i
		}
	}
	return model.None
}

// onlyCreated are the groups and resources of the registry whose objects are never changed.
var onlyCreated = map[string]bool{"authentication.k8s.io": true, "authorization.k8s.io": true, "bindings": true}

// clusterWide reports whether a resource of Kubernetes has no namespace. Only a server says it of others.
func clusterWide(resource kubeschema.GroupResource) bool {
	switch resource.Group {
	case "":
		return resource.Resource == "nodes" || resource.Resource == "persistentvolumes" || resource.Resource == "namespaces"
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "flowcontrol.apiserver.k8s.io",
		"internal.apiserver.k8s.io", "node.k8s.io", "storagemigration.k8s.io":
		return true
	case "authority.kube-granular.dev":
		return resource.Resource != "protectedattributes"
	case "certificates.k8s.io":
		return resource.Resource != "podcertificaterequests"
	case "networking.k8s.io":
		return resource.Resource == "ingressclasses" || resource.Resource == "ipaddresses" || resource.Resource == "servicecidrs"
	case "rbac.authorization.k8s.io":
		return strings.HasPrefix(resource.Resource, "cluster")
	case "resource.k8s.io":
		return resource.Resource != "resourceclaims" && resource.Resource != "resourceclaimtemplates"
	case "scheduling.k8s.io":
		return resource.Resource == "priorityclasses"
	case "storage.k8s.io":
		return resource.Resource != "csistoragecapacities"
	}
	return false
}

// registryPlaces returns the places of the registry for each kind.
func registryPlaces(all *registry.Registry) map[string][]place {
	verbs := map[string]model.Verb{}
	for i := range all.Permissions {
		verbs[all.Permissions[i].Name] = registeredVerb(&all.Permissions[i])
	}
	out := map[string][]place{}
	for i := range all.Permissions {
		p := &all.Permissions[i]
		for _, origin := range p.Places {
			own := verbs[p.Name]
			one := place{steps: stepsOf(origin.Path), own: []model.Verb{own}, excluded: p.Excluded}
			for _, above := range origin.Above {
				if v := verbs[above]; !p.Excluded || v.Excluded {
					one.cover = append(one.cover, v)
				}
			}
			one.cover = append(one.cover, own)
			for _, kind := range origin.Kinds {
				out[kind] = append(out[kind], one)
			}
		}
	}
	for _, places := range out {
		// The permission with the longest chain is the least of a field, so it comes last.
		slices.SortStableFunc(places, func(a, b place) int { return len(a.cover) - len(b.cover) })
	}
	return out
}

func registeredVerb(p *registry.Permission) model.Verb {
	out := model.Verb{Verb: permission.Verb{Permission: p.Name}.String(), Excluded: p.Excluded}
	if p.Parameter == nil {
		return out
	}
	source := p.Parameter.Source
	if rest, ok := strings.CutPrefix(source, "self"); ok {
		source = "value" + strings.Replace(rest, ".", " of ", 1)
	}
	switch p.Parameter.Treatment {
	case string(permission.SlashDelimitedPrefix):
		source += " prefix"
	case string(permission.ImageRepositoryPrefix):
		source = "registry and repository prefix"
	}
	out.Stem, out.Parameter = out.Verb, source
	out.Verb += "(<" + source + ">)"
	return out
}

// stepsOf splits a path of the registry, such as .metadata.labels[*].
func stepsOf(path string) []string {
	return strings.Split(strings.TrimPrefix(strings.ReplaceAll(path, "[*]", ".[*]"), "."), ".")
}

// split returns the text of a verb before its parenthesis, and the description of its parameter.
func split(verb string) (stem, parameter string) {
	stem, rest, _ := strings.Cut(verb, "(<")
	return stem, strings.TrimSuffix(rest, ">)")
}
