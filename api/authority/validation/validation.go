// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// Scope is where a protected attribute applies.
type Scope bool

const (
	// Namespaced is the scope of a ProtectedAttribute, which applies in its namespace.
	Namespaced Scope = false
	// Cluster is the scope of a ClusterProtectedAttribute, which applies in the whole cluster.
	Cluster Scope = true
)

// Attribute validates the metadata and specification of a new protected attribute.
func Attribute(meta *metav1.ObjectMeta, spec *authority.ProtectedAttributeSpec, scope Scope) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(meta, scope == Namespaced, apimachineryvalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	return append(errs, Spec(spec, scope, field.NewPath("spec"))...)
}

// AttributeUpdate validates an update of a protected attribute. A specification that does not
// change is not validated again, so that metadata, such as finalizers, can be changed even if an
// earlier version of the server accepted a specification that this version would refuse.
func AttributeUpdate(meta, oldMeta *metav1.ObjectMeta, spec, oldSpec *authority.ProtectedAttributeSpec, scope Scope) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMetaUpdate(meta, oldMeta, field.NewPath("metadata"))
	if equality.Semantic.DeepEqual(spec, oldSpec) {
		return errs
	}
	return append(errs, Spec(spec, scope, field.NewPath("spec"))...)
}

// Spec validates the specification of a protected attribute. An attribute that Spec accepts can be
// converted to a valid protect.Entry, the form in which the server enforces it. So the code that
// converts attributes need not check them again.
func Spec(spec *authority.ProtectedAttributeSpec, scope Scope, path *field.Path) field.ErrorList {
	errs := kind(spec.AttributeKind, path.Child("attributeKind"))
	errs = append(errs, name(spec, path.Child("attributeName"))...)
	if spec.RoleRef != nil {
		errs = append(errs, role(spec.RoleRef, scope, path.Child("roleRef"))...)
	}
	if len(spec.ProtectedValues) > 0 && len(spec.AllowedValues) > 0 {
		errs = append(errs, field.Forbidden(path.Child("allowedValues"), "at most one of protectedValues and allowedValues may be set"))
	}
	errs = append(errs, values(spec.AttributeKind, spec.ProtectedValues, path.Child("protectedValues"))...)
	errs = append(errs, values(spec.AttributeKind, spec.AllowedValues, path.Child("allowedValues"))...)
	if spec.Mode != authority.ModeEnforce && spec.Mode != authority.ModeAudit {
		errs = append(errs, field.NotSupported(path.Child("mode"), spec.Mode, []authority.Mode{authority.ModeAudit, authority.ModeEnforce}))
	}
	errs = append(errs, resources(spec.Resources, nil, scope, path.Child("resources"))...)
	return append(errs, resources(spec.ExcludeResources, spec.Resources, scope, path.Child("excludeResources"))...)
}

func kind(k authority.AttributeKind, path *field.Path) field.ErrorList {
	switch k {
	case authority.AttributeLabel, authority.AttributeAnnotation:
		return nil
	case "":
		return field.ErrorList{field.Required(path, "must be Label or Annotation")}
	}
	return field.ErrorList{field.NotSupported(path, k, []authority.AttributeKind{authority.AttributeAnnotation, authority.AttributeLabel})}
}

func role(r *authority.RoleReference, scope Scope, place *field.Path) (errs field.ErrorList) {
	if r.APIGroup != authority.RoleGroup {
		errs = append(errs, field.NotSupported(place.Child("apiGroup"), r.APIGroup, []string{authority.RoleGroup}))
	}
	switch {
	case r.Kind == authority.ClusterRoleKind, r.Kind == authority.RoleKind && scope == Namespaced:
	case r.Kind == authority.RoleKind:
		errs = append(errs, field.Invalid(place.Child("kind"), r.Kind,
			"a ClusterProtectedAttribute acts in all namespaces, so its role must be a ClusterRole"))
	case r.Kind == "":
		errs = append(errs, field.Required(place.Child("kind"), "must be Role or ClusterRole"))
	default:
		errs = append(errs, field.NotSupported(place.Child("kind"), r.Kind, []string{authority.ClusterRoleKind, authority.RoleKind}))
	}
	if r.Name == "" {
		return append(errs, field.Required(place.Child("name"), "must name a role; to require a verb instead of a role, leave out roleRef"))
	}
	for _, wrong := range path.IsValidPathSegmentName(r.Name) {
		errs = append(errs, field.Invalid(place.Child("name"), r.Name, wrong))
	}
	return errs
}

func values(k authority.AttributeKind, all []string, path *field.Path) (errs field.ErrorList) {
	if len(all) > authority.MaxValues {
		return field.ErrorList{field.TooMany(path, len(all), authority.MaxValues)}
	}
	seen := map[string]bool{}
	for i, value := range all {
		place := path.Index(i)
		if seen[value] {
			errs = append(errs, field.Duplicate(place, value))
			continue
		}
		seen[value] = true
		switch {
		case k == authority.AttributeLabel:
			for _, wrong := range content.IsLabelValue(value) {
				errs = append(errs, field.Invalid(place, value, "is not a valid label value: "+wrong))
			}
		case len(value) > authority.MaxValueLength:
			errs = append(errs, field.TooLong(place, value, authority.MaxValueLength))
		case !utf8.ValidString(value):
			errs = append(errs, field.Invalid(place, "", "must be UTF-8"))
		}
	}
	return errs
}

// resources validates the list all, which is spec.resources or spec.excludeResources. For
// spec.excludeResources, named has the entries of spec.resources: a resource in both lists is an
// error. For spec.resources, named is nil.
func resources(all, named []authority.GroupResource, scope Scope, path *field.Path) (errs field.ErrorList) {
	if len(all) > authority.MaxResources {
		return field.ErrorList{field.TooMany(path, len(all), authority.MaxResources)}
	}
	other := map[authority.GroupResource]bool{}
	for _, r := range named {
		other[canonical(r)] = true
	}
	seen := map[authority.GroupResource]bool{}
	for i, r := range all {
		place := path.Index(i)
		if seen[r] {
			errs = append(errs, field.Duplicate(place, text(r)))
			continue
		}
		seen[r] = true
		if other[canonical(r)] {
			errs = append(errs, field.Invalid(place, text(r), "is in resources as well, but a resource that is excluded is not protected"))
		}
		if r.Group != "" {
			for _, wrong := range utilvalidation.IsDNS1123Subdomain(r.Group) {
				errs = append(errs, field.Invalid(place.Child("group"), r.Group, "is not an API group: "+wrong))
			}
		}
		errs = append(errs, resource(r, scope, place.Child("resource"))...)
	}
	return errs
}

func resource(r authority.GroupResource, scope Scope, path *field.Path) (errs field.ErrorList) {
	switch r.Resource {
	case "":
		return field.ErrorList{field.Required(path, `must be the plural name of a resource, such as "pods"`)}
	case "*":
		return field.ErrorList{field.Invalid(path, r.Resource, "must name one resource; leave out the list for all")}
	}
	for _, wrong := range utilvalidation.IsDNS1035Label(r.Resource) {
		errs = append(errs, field.Invalid(path, r.Resource, "must be the plural name of a resource, without a subresource: "+wrong))
	}
	if scope == Namespaced && clusterScoped[r] {
		errs = append(errs, field.Invalid(path, r.Resource,
			fmt.Sprintf("%s has no namespace, so only a ClusterProtectedAttribute can protect it", text(r))))
	}
	return errs
}

// canonical returns the resource that stands for r. Events are served in two groups; the server
// treats them as one resource.
func canonical(r authority.GroupResource) authority.GroupResource {
	if r == (authority.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		r.Group = ""
	}
	return r
}

func text(r authority.GroupResource) string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}
