// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// FieldPermission validates a FieldPermission. What depends on the syntax of paths and permissions,
// and on the schema of the resource, is not checked here, because only the server can check it.
func FieldPermission(p *authority.FieldPermission) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(&p.ObjectMeta, false, resourceName, field.NewPath("metadata"))
	return append(errs, fieldSpec(&p.Spec, field.NewPath("spec"))...)
}

// FieldPermissionUpdate validates an update of a FieldPermission. A specification that does not change
// is not validated again.
func FieldPermissionUpdate(p, old *authority.FieldPermission) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	if equality.Semantic.DeepEqual(p.Spec, old.Spec) {
		return errs
	}
	return append(errs, fieldSpec(&p.Spec, field.NewPath("spec"))...)
}

// ResourceOf returns the resource to which the FieldPermission with a name applies.
func ResourceOf(name string) authority.GroupResource {
	resource, group, _ := strings.Cut(name, ".")
	return authority.GroupResource{Group: group, Resource: resource}
}

// resourceName validates a name of the form RESOURCE.GROUP. prefix is true for a prefix of a generated
// name, which can't name a resource.
func resourceName(name string, prefix bool) (wrong []string) {
	if prefix {
		return []string{"must not be used: the name is that of the resource, RESOURCE.GROUP"}
	}
	resource, group, grouped := strings.Cut(name, ".")
	for _, text := range utilvalidation.IsDNS1035Label(resource) {
		wrong = append(wrong, "must be RESOURCE.GROUP, such as applications.argoproj.io, or for the core group RESOURCE: "+text)
	}
	if grouped {
		wrong = append(wrong, utilvalidation.IsDNS1123Subdomain(group)...)
	}
	return wrong
}

func fieldSpec(spec *authority.FieldPermissionSpec, path *field.Path) (errs field.ErrorList) {
	if spec.Version != "" {
		for _, text := range utilvalidation.IsDNS1035Label(spec.Version) {
			errs = append(errs, field.Invalid(path.Child("version"), spec.Version, text))
		}
	}
	if spec.Mode != authority.ModeEnforce && spec.Mode != authority.ModeAudit {
		errs = append(errs, field.NotSupported(path.Child("mode"), spec.Mode, []authority.Mode{authority.ModeAudit, authority.ModeEnforce}))
	}
	fields := path.Child("fields")
	switch n := len(spec.Fields); {
	case n == 0:
		return append(errs, field.Required(fields, "must have at least one entry"))
	case n > authority.MaxFields:
		return append(errs, field.TooMany(fields, n, authority.MaxFields))
	}
	paths, excluded := map[string]bool{}, map[string]bool{}
	for i, entry := range spec.Fields {
		place := fields.Index(i)
		switch {
		case entry.Path == "":
			errs = append(errs, field.Required(place.Child("path"), "must be the path of a field, such as .spec.syncPolicy"))
		case len(entry.Path) > authority.MaxFieldPathLength:
			errs = append(errs, field.TooLong(place.Child("path"), "", authority.MaxFieldPathLength))
		case paths[entry.Path]:
			errs = append(errs, field.Duplicate(place.Child("path"), entry.Path))
		}
		paths[entry.Path] = true
		if entry.Permission == "" {
			errs = append(errs, field.Required(place.Child("permission"), "must be a new name with a domain, such as argoproj.io/syncPolicy"))
			continue
		}
		if before, found := excluded[entry.Permission]; found && before != entry.Excluded {
			errs = append(errs, field.Invalid(place.Child("excluded"), entry.Excluded,
				"must be the same for all entries with this permission"))
		}
		excluded[entry.Permission] = entry.Excluded
	}
	return errs
}

// FieldPermissionStatusUpdate validates an update of the status of a FieldPermission.
func FieldPermissionStatusUpdate(p, old *authority.FieldPermission) field.ErrorList {
	path, status := field.NewPath("status"), &p.Status
	errs := apimachineryvalidation.ValidateObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
	bounded := func(path *field.Path, length, limit int) {
		if length > limit {
			errs = append(errs, field.TooMany(path, length, limit))
		}
	}
	positive := func(path *field.Path, count int64) {
		errs = append(errs, apimachineryvalidation.ValidateNonnegativeField(count, path)...)
	}
	bounded(path.Child("fields"), len(status.Fields), authority.MaxFields)
	bounded(path.Child("notHeld"), len(status.NotHeld), authority.MaxNotHeld)
	bounded(path.Child("auditUsers"), len(status.AuditUsers), authority.MaxAuditUsers)
	positive(path.Child("observedGeneration"), status.ObservedGeneration)
	positive(path.Child("notHeldCount"), status.NotHeldCount)
	positive(path.Child("auditViolations"), status.AuditViolations)
	for i, f := range status.Fields {
		place := path.Child("fields").Index(i)
		switch f.State {
		case authority.EntryActive, authority.EntryIdle, authority.EntryDegraded:
		default:
			errs = append(errs, field.NotSupported(place.Child("state"), f.State,
				[]authority.EntryState{authority.EntryActive, authority.EntryDegraded, authority.EntryIdle}))
		}
		bounded(place.Child("alsoReachable"), len(f.AlsoReachable), authority.MaxAlsoReachable)
		bounded(place.Child("holders"), len(f.Holders), authority.MaxEntryHolders)
		positive(place.Child("holderCount"), f.HolderCount)
	}
	return errs
}
